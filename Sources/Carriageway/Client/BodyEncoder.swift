import Foundation

/// Writes values as bodies of requests.
///
/// `JSONEncoder`, with whatever key and date strategies, is one; encoders of other formats mostly need no more than
/// `extension MessagePackEncoder: BodyEncoder { var contentType: String { "application/vnd.msgpack" } }`.
public protocol BodyEncoder: Sendable {
    /// The value of `Content-Type`.
    var contentType: String { get }

    /// The value as bytes.
    func encode<Value: Encodable>(_ value: Value) throws -> Data
}

extension JSONEncoder: BodyEncoder {
    /// `application/json`
    public var contentType: String { "application/json" }
}

extension BodyEncoder where Self == FormBodyEncoder {
    /// Writes values as `application/x-www-form-urlencoded`.
    public static var form: FormBodyEncoder { FormBodyEncoder() }

    /// Writes values as `application/x-www-form-urlencoded`, by an encoder of the caller's.
    public static func form(_ encoder: FormEncoder) -> FormBodyEncoder { FormBodyEncoder(encoder) }
}

/// Writes values as `application/x-www-form-urlencoded`; see ``FormEncoder``.
public struct FormBodyEncoder: BodyEncoder {
    private let encoder: FormEncoder

    /// One that writes by the given encoder.
    public init(_ encoder: FormEncoder = FormEncoder()) { self.encoder = encoder }

    /// `application/x-www-form-urlencoded`
    public var contentType: String { FormEncoding.contentType }

    /// The value as form text.
    public func encode<Value: Encodable>(_ value: Value) throws -> Data {
        let text: String = try encoder.encode(value)
        return Data(text.utf8)
    }
}
