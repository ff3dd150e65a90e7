import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Which methods may be sent again (RFC 9110, section 9.2; RFC 9110bis for QUERY).
enum MethodRule {
    static func isIdempotent(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY": true
        default: false
        }
    }

    /// Methods that change nothing on the server.
    static func isSafe(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "QUERY": true
        default: false
        }
    }

    /// Whether sending the request twice does what sending it once does, by its method or by its `Idempotency-Key`.
    static func mayBeSentTwice(_ request: URLRequest) -> Bool {
        isIdempotent(request.httpMethod ?? "GET") || request.value(forHTTPHeaderField: "Idempotency-Key") != nil
    }

    /// Whether `request` may be sent again after `error`.
    ///
    /// - Parameter methodTaken: what a server did before it led on to a GET, whose failure proves nothing then.
    static func allows(
        _ request: URLRequest, after error: NetworkError, policy: RetryPolicy, methodTaken: String? = nil
    ) -> Bool {
        let method = methodTaken ?? request.httpMethod ?? "GET"
        if error.provesUnsent && methodTaken == nil || policy.retriesNonIdempotent { return true }
        if request.value(forHTTPHeaderField: "Idempotency-Key") != nil { return true }
        if case .endpointError(let response, _) = error, response.statusCode == 500 {
            return method == "GET" || method == "HEAD" || method == "OPTIONS"
        }
        return isIdempotent(method)
    }
}
