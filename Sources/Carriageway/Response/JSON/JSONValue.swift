import Foundation

/// A JSON value whose shape is not known beforehand (RFC 8259).
///
/// ```swift
/// let json = try response.json()
/// let city = json["user"]["addresses"][0]["city"].string
///
/// let order: JSONValue = [
///     "id": JSONValue(UInt64.max), "note": nil,
///     "lines": [["sku": "A-1", "count": 2]],
/// ]
/// try await client.send(.post("/orders").sending(order))
/// ```
///
/// Reading never traps: what is not there, or is of another kind, is nil, and so is all that is read from it. Numbers keep
/// every digit; see ``JSONNumber``. Two values are equal if they mean the same: the order of members and the spelling of
/// numbers do not count. Names are Swift strings, so those that are canonically equivalent in Unicode are one name. Where
/// a name comes twice the last counts.
public enum JSONValue: Sendable, Hashable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number, exact.
    case number(JSONNumber)
    /// A text.
    case string(String)
    /// Values in order.
    case array([JSONValue])
    /// Values by name.
    case object([String: JSONValue])
}

// MARK: - Making

extension JSONValue {
    /// An integer, exact.
    public init(_ value: some BinaryInteger) { self = .number(JSONNumber(value)) }

    /// The shortest number that is read as this one again; `null` if it is infinite or no number, which JSON cannot say.
    public init(_ value: Double) { self = JSONNumber(value).map(JSONValue.number) ?? .null }

    /// A decimal number, exact; `null` if it is no number.
    public init(_ value: Decimal) { self = JSONNumber(value).map(JSONValue.number) ?? .null }

    /// A text.
    public init(_ value: some StringProtocol) { self = .string(String(value)) }

    /// A truth value.
    public init(_ value: Bool) { self = .bool(value) }

    /// Any value that can be encoded, by way of its JSON.
    ///
    /// - Throws: what the encoder throws; ``JSONParseError`` if it writes something else than JSON.
    public init(encoding value: some Encodable, using encoder: JSONEncoder = JSONEncoder()) throws {
        self = try JSONValue(parsing: encoder.encode(value))
    }
}

// MARK: - Reading

extension JSONValue {
    /// The text, if it is one.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The truth value, if it is one. Numbers and texts are none.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The number, if it is one, with all its digits.
    public var number: JSONNumber? { if case .number(let value) = self { value } else { nil } }

    /// The number as `Int`, if it is whole and fits; `1.0` and `1e3` are whole.
    public var int: Int? { number?.integer() }

    /// The number as `Int64`, if it is whole and fits.
    public var int64: Int64? { number?.integer() }

    /// The number as `UInt64`, if it is whole and fits.
    public var uint64: UInt64? { number?.integer() }

    /// The nearest `Double`; nil if it is no number, or too large for one.
    public var double: Double? { number?.double }

    /// The number as `Decimal`; nil if it is no number, or `Decimal` cannot hold it exactly (38 digits).
    public var decimal: Decimal? { number?.decimal }

    /// The elements, if it is an array.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The members, if it is an object.
    public var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }

    /// Whether it is `null`.
    public var isNull: Bool { self == .null }

    /// The value as a type of its own.
    ///
    /// - Throws: what the decoder throws: `DecodingError` if it does not fit.
    public func decoded<Value: Decodable>(
        as type: Value.Type = Value.self, using decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: data())
    }
}

// MARK: - Members and elements

extension JSONValue {
    /// The member of this name; nil if there is none, or this is no object.
    ///
    /// Setting adds or replaces the member, nil removes it. `null` becomes an object by it; of no effect on other kinds.
    public subscript(name: String) -> JSONValue? {
        get { object?[name] }
        set {
            switch self {
            case .object(var members):
                // So that the dictionary has one owner and is changed in place.
                self = .null
                members[name] = newValue
                self = .object(members)
            case .null: if let newValue { self = .object([name: newValue]) }
            case .bool, .number, .string, .array: break
            }
        }
    }

    /// The element at this index, counted from 0; nil if there is none, or this is no array.
    ///
    /// Setting replaces the element, nil removes it; of no effect where there is none.
    public subscript(index: Int) -> JSONValue? {
        get {
            guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
            return elements[index]
        }
        set {
            guard case .array(var elements) = self, elements.indices.contains(index) else { return }
            self = .null
            if let newValue { elements[index] = newValue } else { elements.remove(at: index) }
            self = .array(elements)
        }
    }
}

/// What is read from something that may not be there: `json["a"]["b"][0].string` without question marks.
extension Optional where Wrapped == JSONValue {
    /// The member of this name, if all before it is there.
    public subscript(name: String) -> JSONValue? { self?[name] }

    /// The element at this index, if all before it is there.
    public subscript(index: Int) -> JSONValue? { self?[index] }

    /// The text, if there is one.
    public var string: String? { self?.string }

    /// The truth value, if there is one.
    public var bool: Bool? { self?.bool }

    /// The number, if there is one.
    public var number: JSONNumber? { self?.number }

    /// The number as `Int`, if it is there, whole, and fits.
    public var int: Int? { self?.int }

    /// The number as `Int64`, if it is there, whole, and fits.
    public var int64: Int64? { self?.int64 }

    /// The number as `UInt64`, if it is there, whole, and fits.
    public var uint64: UInt64? { self?.uint64 }

    /// The nearest `Double`, if there is a number.
    public var double: Double? { self?.double }

    /// The number as `Decimal`, if it is there and `Decimal` holds it exactly.
    public var decimal: Decimal? { self?.decimal }

    /// The elements, if there is an array.
    public var array: [JSONValue]? { self?.array }

    /// The members, if there is an object.
    public var object: [String: JSONValue]? { self?.object }

    /// Whether it is `null`, or not there.
    public var isNull: Bool { self?.isNull ?? true }
}

// MARK: - Literals

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// `null`
    public init(nilLiteral: ()) { self = .null }

    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// An integer of at most 64 bits with its sign; larger ones from a value: `JSONValue(UInt64.max)`.
    public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }

    /// A number.
    public init(floatLiteral value: Double) { self.init(value) }

    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Values in order.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Values by name; of a name that comes twice the last.
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(Dictionary(members) { _, last in last })
    }
}
