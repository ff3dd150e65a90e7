/// The response of an endpoint that has nothing to say, where a `Decodable` is needed: no body, or any, is one.
public struct NoContent: Codable, Sendable, Hashable {
    /// Nothing.
    public init() {}

    /// From whatever is there.
    public init(from decoder: any Decoder) throws {}

    /// As an empty object.
    public func encode(to encoder: any Encoder) throws {
        _ = encoder.container(keyedBy: NoKeys.self)
    }

    private enum NoKeys: CodingKey {}
}

/// A type that has a value for a response without body.
protocol EmptyRepresentable {
    static var empty: Self { get }
}

extension Optional: EmptyRepresentable {
    static var empty: Wrapped? { nil }
}

extension NoContent: EmptyRepresentable {
    static var empty: NoContent { NoContent() }
}
