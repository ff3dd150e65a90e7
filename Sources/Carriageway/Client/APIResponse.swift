import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What an endpoint answered: the value, with status and headers at hand.
public struct APIResponse<Value: Sendable>: Sendable {
    /// The body as a value.
    public let value: Value

    /// The response that it was read from, with its body, attempts and redirects.
    public let response: NetworkResponse

    /// Status and headers.
    public var http: HTTPURLResponse { response.http }

    /// The HTTP status code.
    public var statusCode: Int { response.statusCode }

    /// The value of a header; its name in any case.
    public func header(_ name: String) -> String? { http.value(forHTTPHeaderField: name) }
}
