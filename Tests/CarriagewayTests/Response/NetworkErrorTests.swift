import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("NetworkError")
struct NetworkErrorTests {
    private struct Broken: Error { let secret = "s3cret" }

    private struct Explained: LocalizedError { var errorDescription: String? { "the disk is full" } }

    private static let response = Made.response(200)

    private static let notTransient: [NetworkError] = [
        .cancelled, .generalError(Broken()), .invalidRequest("x"), .invalidResponseType(response),
        .noResponseData(response), .unacceptableResponse(Made.response(503), Data(), reason: "x"),
        .responseTooLarge(limit: 1), .decodingFailed(Broken(), answer(503)), .deadlineExceeded,
        .dependencyFailed(Made.status(503)), .authenticationFailed(Made.status(503)),
        .inaccessible(after: 4, last: Made.status(503)), .sessionInvalidated, .fileError(Made.urlError(.timedOut)),
    ]

    private static func answer(_ status: Int) -> NetworkResponse {
        NetworkResponse(data: Data(), http: Made.response(status), request: Made.request())
    }

    @Test("what is no failure of the transfer or of the server is not transient")
    func notTransient() {
        #expect(Self.notTransient.allSatisfy { !$0.shouldRetry })
    }

    @Test("of all statuses the transient ones are 408, 421, 425, 429, 444, 500, 502, 503, 504 and 599")
    func transientStatuses() {
        let transient = (100...999).filter { Made.status($0).shouldRetry }
        #expect(transient == [408, 421, 425, 429, 444, 500, 502, 503, 504, 599])
    }

    @Test("413 is transient if Retry-After says when", arguments: ["0", "120", "Sun, 06 Nov 1994 08:49:37 GMT"])
    func contentTooLarge(text: String) {
        #expect(Made.status(413, ["Retry-After": text]).shouldRetry)
        #expect(!Made.status(413, ["Retry-After": "in \(text)"]).shouldRetry)
        #expect(!Made.status(413).shouldRetry)
    }

    @Test("of all URL errors eight are transient, and four of them prove the request unsent")
    func transientCodes() {
        let codes = (-4_000 ... -1).compactMap { URLError.Code(rawValue: $0) }
        let transient = Set(codes.filter { Made.urlError($0).shouldRetry })
        let unsent: Set<URLError.Code> = [
            .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet,
        ]
        #expect(
            transient
                == unsent.union([.timedOut, .networkConnectionLost, .badServerResponse, .secureConnectionFailed]))
        #expect(Set(codes.filter { Made.urlError($0).provesUnsent }) == unsent)
        #expect(codes.filter { Made.urlError($0).isLostConnection } == [.networkConnectionLost])
        #expect(!Made.status(503).provesUnsent && !Made.status(503).isLostConnection)
    }

    @Test("the response that came with a failure is at hand, through every layer")
    func response() {
        let response = Made.response(503)
        let error = NetworkError.endpointError(response, Data())
        #expect(error.response === response)
        #expect(NetworkError.inaccessible(after: 2, last: error).response === response)
        #expect(NetworkError.inaccessible(after: 2, last: .inaccessible(after: 1, last: error)).response === response)
        #expect(NetworkError.noResponseData(response).response === response)
        #expect(NetworkError.unacceptableResponse(response, Data(), reason: "x").response === response)
        let answer = NetworkResponse(data: Data(), http: response, request: Made.request())
        #expect(NetworkError.decodingFailed(Broken(), answer).response === response)
        for error in [NetworkError.cancelled, Made.urlError(.timedOut), .deadlineExceeded, .dependencyFailed(error)] {
            #expect(error.response == nil)
        }
    }

    @Test("what a closure of the caller throws becomes one of ours")
    func thrown() {
        guard case .endpointError = NetworkError(thrown: Made.status(404)) else {
            Issue.record("another error")
            return
        }
        guard case .urlError(let error) = NetworkError(thrown: URLError(.timedOut)) else {

            Issue.record("another error")
            return

        }
        #expect(error.code == .timedOut)
        #expect(NetworkError(thrown: URLError(.cancelled)).isCancelled)
        #expect(NetworkError(thrown: CancellationError()).isCancelled)
        guard case .generalError(let other) = NetworkError(thrown: Broken()) else {
            Issue.record("another error")
            return
        }
        #expect(other is Broken)
    }

    @Test("C22 at the end of a chain the innermost cause is readable")
    func innermostCause() {
        var error = Made.status(404)
        for _ in 0..<1_000 { error = .dependencyFailed(error.innermostCause) }
        guard case .dependencyFailed(let cause) = error, case NetworkError.endpointError(let response, _) = cause else {

            Issue.record("another error")
            return

        }
        #expect(response.statusCode == 404)
    }

    // MARK: Words

    @Test("parity: readable descriptions, a debug description with headers and body: their names and its length")
    func debugDescriptions() {
        let response = Made.response(409, ["X-Token": "s3cret", "Retry-After": "3"])
        let error = NetworkError.endpointError(response, Data("s3cret".utf8))
        let text = error.description + " [headers: Retry-After, X-Token, body: 6 bytes]"
        #expect(error.debugDescription == text && String(reflecting: error) == text)
        #expect(NetworkError.inaccessible(after: 2, last: error).debugDescription.hasSuffix("body: 6 bytes]"))
        #expect(NetworkError.cancelled.debugDescription == NetworkError.cancelled.description)
    }

    @Test("descriptions name the step that failed")
    func descriptions() {
        #expect(NetworkError.cancelled.description == "The request was cancelled.")
        #expect(Made.urlError(.timedOut).description == "The transfer failed: timed out (-1001).")
        #expect(Made.status(404).description == "http://test.example/ answered with status 404 (Not Found).")
        let outer = NetworkError.inaccessible(after: 4, last: Made.urlError(.networkConnectionLost))
        #expect(
            outer.description
                == "No success after 4 attempts. The transfer failed: the connection was lost (-1005).")
        #expect(NetworkError.responseTooLarge(limit: 10).description == "The response is larger than 10 bytes.")
        #expect(
            NetworkError.fileError(Explained()).description == "A file could not be read or written: the disk is full.")
        #expect(NetworkError.generalError(Broken()).description == "The request could not be made: Broken.")
        let all = Self.notTransient + [Made.status(500), Made.urlError(.badURL)]
        #expect(Set(all.map(\.description)).count == all.count)
        for error in all {
            #expect(error.errorDescription == error.description && error.localizedDescription == error.description)
        }
    }

    @Test("decoding errors say what does not fit and where")
    func decoding() {
        struct Item: Decodable { let count: Int }
        struct List: Decodable { let items: [Item] }
        func description(_ text: String) -> String {
            let response = NetworkResponse(data: Data(text.utf8), http: Self.response, request: Made.request())
            switch Result(catching: { () throws(NetworkError) in try response.decoded(as: List.self) }) {
            case .success: return "no error"
            case .failure(let error): return error.description
            }
        }
        #expect(description(#"{"items":[{"count":1},{"count":"s3cret"}]}"#).hasSuffix("not a Int at $.items[1].count."))
        #expect(description(#"{"items":[{}]}"#).hasSuffix("no key \"count\" at $.items[0]."))
        #expect(description(#"{"items":null}"#).contains("at $.items"))
        #expect(description("s3cret").hasSuffix("malformed data at $."))
    }

    @Test("C39 no description holds a user, a password, a query, a fragment, a header value or a body")
    func secrets() throws {
        let url = "https://s3user:s3cret@test.example/path?token=s3cret#s3cret"
        let headers = [
            "Set-Cookie": "id=s3cret", "WWW-Authenticate": "Bearer s3cret", "Location": "/?s3cret", "X-Token": "s3cret",
        ]
        let response = Made.response(401, headers, url: url)
        let body = Data(#"{"value":"s3cret"}"#.utf8)
        var request = Made.request("POST", url, headers: ["Authorization": "Bearer s3cret", "Cookie": "s3cret"])
        request.httpBody = body
        let answer = NetworkResponse(data: body, http: response, request: request)
        let urlError = URLError(
            .timedOut,
            userInfo: [
                "NSErrorFailingURLStringKey": url, NSURLErrorFailingURLErrorKey: Made.url(url),
                NSLocalizedDescriptionKey: "s3cret", NSUnderlyingErrorKey: NSError(domain: "s3cret", code: 1),
            ])
        let foreign = NSError(domain: "Foreign", code: 1, userInfo: [NSLocalizedDescriptionKey: "s3cret"])
        let context = DecodingError.Context(codingPath: [], debugDescription: "s3cret", underlyingError: Broken())
        let simple: [NetworkError] = [
            .urlError(urlError), .generalError(Broken()), .generalError(foreign), .generalError(urlError),
            .invalidResponseType(
                URLResponse(url: Made.url(url), mimeType: nil, expectedContentLength: 0, textEncodingName: nil)),
            .endpointError(response, body), .noResponseData(response),
            .unacceptableResponse(response, body, reason: "status 401"),
            .decodingFailed(DecodingError.dataCorrupted(context), answer),
            .decodingFailed(DecodingError.typeMismatch(Int.self, context), answer), .decodingFailed(Broken(), answer),
            .fileError(foreign), .authenticationFailed(urlError),
        ]
        let nested = simple.flatMap { error -> [NetworkError] in
            [
                .dependencyFailed(error), .authenticationFailed(error), .inaccessible(after: 3, last: error),
                .generalError(error), .fileError(NetworkError.inaccessible(after: 2, last: .dependencyFailed(error))),
            ]
        }
        for error in simple + nested {
            for text in [
                "\(error)", error.description, error.localizedDescription, String(reflecting: error), "\([error])",
                "\(Result<Int, NetworkError>.failure(error))", "\(Optional(error) as Any)", "\(error as NSError)",
                "\(error as any Error)",
            ] {
                #expect(!text.contains("s3"), "\(text)")
            }
        }
        #expect(simple[5].description.hasPrefix("https://test.example/path answered with status 401"))
    }

    @Test("reasons for not retrying are words")
    func reasons() {
        let reasons: [NotRetriedReason] = [
            .cancelled, .notTransient, .declined, .nonIdempotent, .bodyNotReplayable, .noAttemptsLeft, .budget,
            .retryAfterTooLong(.seconds(3_600)), .deadline,
        ]
        #expect(
            reasons.map(\.description) == [
                "cancelled", "not transient", "declined", "not idempotent", "body cannot be read again",
                "no attempts left", "budget", "Retry-After of 3600 s is too long", "deadline",
            ])
    }
}
