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
    static func allows(_ request: URLRequest, after error: NetworkError, policy: RetryPolicy) -> Bool {
        let method = request.httpMethod ?? "GET"
        if error.provesUnsent || policy.retriesNonIdempotent { return true }
        if request.value(forHTTPHeaderField: "Idempotency-Key") != nil { return true }
        if case .endpointError(let response, _) = error, response.statusCode == 500 {
            return method == "GET" || method == "HEAD" || method == "OPTIONS"
        }
        return isIdempotent(method)
    }
}
