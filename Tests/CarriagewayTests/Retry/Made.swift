import Foundation

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Requests, responses, errors and attempts for pure tests; none of them has seen a network.
enum Made {
    static let instant = ContinuousClock.now
    static let moment = Moment(instant)
    /// Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110.
    static let date = Date(timeIntervalSince1970: 784_111_777)

    static func url(_ text: String) -> URL {
        URL(string: text) ?? URL(fileURLWithPath: "/malformed")
    }

    static func request(
        _ method: String = "GET", _ url: String = "http://test.example/", headers: [String: String] = [:]
    ) -> URLRequest {
        var request = URLRequest(url: Self.url(url))
        request.httpMethod = method
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }

    static func response(
        _ status: Int, _ headers: [String: String] = [:], url: String = "http://test.example/"
    ) -> HTTPURLResponse {
        HTTPURLResponse(url: Self.url(url), statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)!
    }

    static func status(_ status: Int, _ headers: [String: String] = [:]) -> NetworkError {
        .endpointError(response(status, headers), Data())
    }

    static func urlError(_ code: URLError.Code) -> NetworkError { .urlError(URLError(code)) }

    static func attempts(_ count: Int, _ error: NetworkError) -> [NetworkAttempt] {
        (0..<max(0, count)).map { index in
            NetworkAttempt(
                number: index + 1, started: date, duration: .milliseconds(10), outcome: .failed(error))
        }
    }

    /// The question after the first failure of a plain GET, without budget and deadline.
    static func question(
        _ error: NetworkError, _ method: String = "GET", policy: RetryPolicy = .fixed(interval: .zero, maxRetries: 3),
        attempts: Int = 1
    ) -> RetryQuestion {
        RetryQuestion(
            policy: policy, error: error, request: request(method), attempts: Self.attempts(attempts, error),
            decision: .automatic, isWanted: error.shouldRetry, hasBegunResponse: true, hasRetriedIdleConnection: false,
            budget: nil, spent: 0, now: moment, date: date, deadline: nil, random: 0)
    }
}
