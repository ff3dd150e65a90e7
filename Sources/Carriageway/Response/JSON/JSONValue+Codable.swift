import Foundation

/// By way of any coder. Where that is Foundation's for JSON, numbers are exact up to 64 bits, and up to the 38 digits of
/// `Decimal`; of more digits `JSONDecoder` keeps those. ``JSONValue/init(parsing:maxDepth:)-(Data,_)`` and
/// ``NetworkResponse/json(maxDepth:)`` keep all.
extension JSONValue: Codable {
    /// Decodes a value of any kind.
    public init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Name.self) {
            var object: [String: JSONValue] = [:]
            for key in members.allKeys { object[key.stringValue] = try members.decode(JSONValue.self, forKey: key) }
            self = .object(object)
        } else if var elements = try? decoder.unkeyedContainer() {
            var array: [JSONValue] = []
            while !elements.isAtEnd { array.append(try elements.decode(JSONValue.self)) }
            self = .array(array)
        } else {
            self = try Self.single(decoder.singleValueContainer())
        }
    }

    private static func single(_ container: any SingleValueDecodingContainer) throws -> JSONValue {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(String.self) { return .string(value) }
        return .number(try container.decode(JSONNumber.self))
    }

    /// Encodes a value of any kind.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: Name.self)
            for (name, value) in members { try container.encode(value, forKey: Name(name)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .string(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .number(let number):
            try number.encode(to: encoder)
        }
    }

    /// The name of a member, whatever it is.
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { self.init(String(intValue)) }
    }
}

extension JSONNumber: Codable {
    /// Decodes a number: as an integer of 64 bits if it is one, else as `Decimal`, else as `Double`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Int64.self) {
            self.init(value)
        } else if let value = try? container.decode(UInt64.self) {
            self.init(value)
        } else if let value = try? container.decode(Decimal.self), let number = JSONNumber(value) {
            self = number
        } else if let number = JSONNumber(try container.decode(Double.self)) {
            self = number
        } else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "Not a number of JSON.")
        }
    }

    /// Encodes the number as the first of these that holds it exactly: an integer of 64 bits, `Decimal`; else as the
    /// nearest `Double`.
    ///
    /// - Throws: `EncodingError` for a number that is too large for a `Double`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value = integer(as: Int64.self) {
            try container.encode(value)
        } else if let value = integer(as: UInt64.self) {
            try container.encode(value)
        } else if let value = decimal {
            try container.encode(value)
        } else if let value = double {
            try container.encode(value)
        } else {
            throw EncodingError.invalidValue(
                self, .init(codingPath: encoder.codingPath, debugDescription: "The number is too large."))
        }
    }
}
