/// The method of a request (RFC 9110, section 9), in capitals: methods are told apart by case.
public struct HTTPMethod: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The method as it is sent. What is no token of RFC 9110 fails with ``NetworkError/invalidRequest(_:)``.
    public let rawValue: String

    /// A method of any name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A method of any name.
    public init(stringLiteral value: String) { self.init(rawValue: value) }

    /// The method as it is sent.
    public var description: String { rawValue }

    /// Gets what is there.
    public static let get: HTTPMethod = "GET"
    /// Gives something to work on.
    public static let post: HTTPMethod = "POST"
    /// Puts something in a place.
    public static let put: HTTPMethod = "PUT"
    /// Changes a part (RFC 5789).
    public static let patch: HTTPMethod = "PATCH"
    /// Removes what is there.
    public static let delete: HTTPMethod = "DELETE"
    /// Gets the headers only.
    public static let head: HTTPMethod = "HEAD"
    /// Asks what can be done.
    public static let options: HTTPMethod = "OPTIONS"
    /// Gets the request back as it arrived.
    public static let trace: HTTPMethod = "TRACE"
    /// Asks a proxy for a tunnel.
    public static let connect: HTTPMethod = "CONNECT"
    /// Gets what the body asks for: safe and idempotent (draft-ietf-httpbis-safe-method-w-body).
    public static let query: HTTPMethod = "QUERY"
}
