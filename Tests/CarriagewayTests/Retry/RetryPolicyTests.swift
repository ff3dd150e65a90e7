import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("RetryPolicy")
struct RetryPolicyTests {
    @Test("maxRetries below 0 is 0, given or set", arguments: [-1, .min])
    func negative(maxRetries: Int) {
        var policy = RetryPolicy.fixed(interval: .zero, maxRetries: maxRetries)
        #expect(policy.maxRetries == 0)
        policy.maxRetries = maxRetries
        #expect(policy.maxRetries == 0)
        #expect(RetryPolicy.exponential(maxRetries: maxRetries).maxRetries == 0)
        #expect(RetryPolicy.custom(maxRetries: maxRetries) { _ in .retry }.maxRetries == 0)
    }

    @Test("the default is three retries from half a second, sixty seconds of Retry-After at most")
    func defaults() {
        let policy = RetryPolicy.default
        #expect(policy.maxRetries == 3)
        #expect(policy.backoff == .exponential(base: .milliseconds(500), multiplier: 2, cap: .seconds(20), jitter: 1.0))
        #expect(policy.maxRetryAfter == .seconds(60))
        #expect(!policy.retriesNonIdempotent && !policy.generatesIdempotencyKey)
        #expect(RetryPolicy.never.maxRetries == 0)
    }

    @Test("n retries are n + 1 sends", arguments: [0, 1, 3])
    func sends(maxRetries: Int) {
        let policy = RetryPolicy.fixed(interval: .zero, maxRetries: maxRetries)
        var attempts = 1
        while case .retry = Made.question(Made.status(503), policy: policy, attempts: attempts).verdict() {
            attempts += 1
        }
        #expect(attempts == maxRetries + 1)
    }
}

@Suite("Which failures are retried")
struct RetriedFailureTests {
    private let again = RetryVerdict.retry(after: .zero, cost: 0)

    @Test(
        "URL errors that tell nothing of what arrived are retried by the method rule",
        arguments: [URLError.Code.timedOut, .networkConnectionLost, .badServerResponse, .secureConnectionFailed])
    func byMethodRule(code: URLError.Code) {
        let error = Made.urlError(code)
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"] {
            #expect(Made.question(error, method).verdict() == again)
        }
        // C24 and C25: a lost response and a read timeout of a POST are no licence to send it twice.
        for method in ["POST", "PATCH", "CONNECT", "get", "PURGE", "LOCK"] {
            var question = Made.question(error)
            question.request = Made.request(method)
            guard question.request.httpMethod == method else { continue }
            #expect(question.verdict() == .giveUp(.nonIdempotent))
        }
    }

    @Test(
        "URL errors that prove the request unsent are retried for every method",
        arguments: [
            URLError.Code.cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet,
        ])
    func forEveryMethod(code: URLError.Code) {
        for method in ["GET", "POST", "PATCH", "PURGE", "PUT"] {
            #expect(Made.question(Made.urlError(code), method).verdict() == again)
        }
    }

    @Test(
        "other URL errors are never retried",
        arguments: [
            URLError.Code.cancelled, .badURL, .unsupportedURL, .serverCertificateUntrusted,
            .serverCertificateHasBadDate,
            .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
            .clientCertificateRequired, .httpTooManyRedirects, .redirectToNonExistentLocation, .fileDoesNotExist,
            .fileIsDirectory, .noPermissionsToReadFile, .cannotOpenFile, .cannotWriteToFile, .cannotDecodeContentData,
            .cannotDecodeRawData, .cannotParseResponse, .dataLengthExceedsMaximum, .userAuthenticationRequired,
            .appTransportSecurityRequiresSecureConnection, .unknown,
        ])
    func never(code: URLError.Code) {
        #expect(!Made.urlError(code).shouldRetry)
        #expect(Made.question(Made.urlError(code)).verdict() == .giveUp(.notTransient))
    }

    @Test("transient statuses are retried by the method rule", arguments: [408, 425, 429, 444, 502, 503, 504, 599])
    func statuses(status: Int) {
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"] {
            #expect(Made.question(Made.status(status), method).verdict() == again)
        }
        for method in ["POST", "PATCH", "PURGE"] {
            #expect(Made.question(Made.status(status), method).verdict() == .giveUp(.nonIdempotent))
        }
    }

    @Test("500 is retried for GET, HEAD and OPTIONS only")
    func internalError() {
        for method in ["GET", "HEAD", "OPTIONS"] {
            #expect(Made.question(Made.status(500), method).verdict() == again)
        }
        for method in ["TRACE", "PUT", "DELETE", "QUERY"] {
            #expect(Made.question(Made.status(500), method).verdict() == .giveUp(.notTransient))
        }
        for method in ["POST", "PATCH"] {
            #expect(Made.question(Made.status(500), method).verdict() == .giveUp(.nonIdempotent))
        }
    }

    @Test("413 is retried only with a Retry-After that can be read")
    func contentTooLarge() {
        #expect(Made.question(Made.status(413), "PUT").verdict() == .giveUp(.notTransient))
        #expect(
            Made.question(Made.status(413, ["Retry-After": "soon"]), "PUT").verdict() == .giveUp(.notTransient))
        #expect(
            Made.question(Made.status(413, ["Retry-After": "2"]), "PUT").verdict()
                == .retry(after: .seconds(2), cost: 0))
        #expect(Made.question(Made.status(413, ["Retry-After": "0"]), "PUT").verdict() == again)
    }

    @Test("421 is retried once, also between other failures")
    func misdirected() {
        let error = Made.status(421)
        #expect(Made.question(error).verdict() == again)
        #expect(Made.question(error, attempts: 2).verdict() == .giveUp(.notTransient))
        var question = Made.question(error)
        question.attempts = Made.attempts(2, Made.status(503)) + Made.attempts(1, error)
        #expect(question.verdict() == again)
        question.attempts = Made.attempts(1, error) + Made.attempts(1, Made.status(503)) + Made.attempts(1, error)
        #expect(question.verdict() == .giveUp(.notTransient))
        question.error = Made.status(503)
        question.attempts = Made.attempts(1, error) + Made.attempts(1, question.error)
        #expect(question.verdict() == again)
    }

    @Test(
        "other statuses are never retried",
        arguments: [400, 401, 402, 403, 404, 405, 407, 409, 410, 412, 422, 431, 451, 501, 505, 507, 511])
    func otherStatuses(status: Int) {
        let error = Made.status(status, ["Retry-After": "1"])
        #expect(!error.shouldRetry)
        #expect(Made.question(error).verdict() == .giveUp(.notTransient))
    }

    @Test("failures that are not of the transfer are never retried")
    func otherFailures() {
        let response = NetworkResponse(data: Data(), http: Made.response(200), request: Made.request())
        struct Broken: Error {}
        for error: NetworkError in [
            .generalError(Broken()), .invalidRequest("x"), .invalidResponseType(response.http),
            .noResponseData(response.http), .unacceptableResponse(response.http, Data(), reason: "x"),
            .responseTooLarge(limit: 1), .decodingFailed(Broken(), response), .deadlineExceeded,
            .dependencyFailed(Broken()), .authenticationFailed(Broken()),
            .inaccessible(after: 1, last: Made.status(503)), .sessionInvalidated, .fileError(Broken()),
        ] {
            #expect(!error.shouldRetry)
            #expect(Made.question(error).verdict() == .giveUp(.notTransient))
        }
    }
}

@Suite("Which requests may be sent twice")
struct MethodRuleTests {
    @Test("a POST, PATCH or unknown method with an Idempotency-Key may", arguments: ["POST", "PATCH", "PURGE"])
    func idempotencyKey(method: String) {
        for error in [Made.status(503), Made.urlError(.timedOut)] {
            var question = Made.question(error)
            question.request = Made.request(method, headers: ["idempotency-key": "1"])
            #expect(question.verdict() == .retry(after: .zero, cost: 0))
        }
        #expect(MethodRule.mayBeSentTwice(Made.request(method, headers: ["Idempotency-Key": "1"])))
        #expect(!MethodRule.mayBeSentTwice(Made.request(method)))
    }

    @Test("any may when the caller says so", arguments: ["POST", "PATCH", "PURGE"])
    func retriesNonIdempotent(method: String) {
        var question = Made.question(Made.urlError(.networkConnectionLost), method)
        question.policy.retriesNonIdempotent = true
        #expect(question.verdict() == .retry(after: .zero, cost: 0))
    }

    @Test("C26 the reason for a POST that is not retried is that it is not idempotent")
    func reason() {
        #expect(Made.question(Made.urlError(.networkConnectionLost), "POST").verdict() == .giveUp(.nonIdempotent))
        #expect(NotRetriedReason.nonIdempotent.description == "not idempotent")
    }

    @Test("C31 a body from a stream is not sent again, whatever the method or the error says")
    func streamBody() {
        for (method, error) in [("PUT", Made.status(503)), ("POST", Made.urlError(.cannotConnectToHost))] {
            var question = Made.question(error, method)
            question.request.httpBodyStream = InputStream(data: Data("x".utf8))
            #expect(question.verdict() == .giveUp(.bodyNotReplayable))
            question.request.httpBodyStream = nil
            question.request.httpBody = Data("x".utf8)
            #expect(question.verdict() == .retry(after: .zero, cost: 0))
        }
    }

    @Test("a request without a method is a GET, and methods have a case")
    func methods() {
        #expect(MethodRule.mayBeSentTwice(URLRequest(url: Made.url("http://test.example"))))
        #expect(!MethodRule.isIdempotent("get") && !MethodRule.isIdempotent("") && !MethodRule.isIdempotent("POST"))
        #expect(MethodRule.isIdempotent("PUT") && !MethodRule.isSafe("PUT"))
        #expect(MethodRule.isIdempotent("DELETE") && !MethodRule.isSafe("DELETE"))
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"] {
            #expect(MethodRule.isSafe(method) && MethodRule.isIdempotent(method))
        }
    }
}
