import Foundation

/// Reads values from bodies of responses.
///
/// `JSONDecoder`, with whatever key and date strategies, and `PropertyListDecoder` are such; decoders of other formats
/// mostly need no more than `extension MessagePackDecoder: BodyDecoder {}`.
public protocol BodyDecoder: Sendable {
    /// The value that the bytes hold. What it throws becomes ``NetworkError/decodingFailed(_:_:)``.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: BodyDecoder {}
extension PropertyListDecoder: BodyDecoder {}
