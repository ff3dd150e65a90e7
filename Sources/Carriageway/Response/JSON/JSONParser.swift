import Foundation

/// Reads JSON as RFC 8259 has it, and nothing else.
///
/// A parser of our own, since none of Foundation's can do it: `JSONSerialization` on Linux turns numbers of more than 64
/// bits, and all with a fraction, into `Double`; `JSONDecoder` rounds to the 38 digits of `Decimal`, does not take numbers
/// that are too large for a `Double`, and its depth cannot be limited. This one has a stack of its own, so that the depth
/// costs no stack of the thread.
struct JSONParser {
    /// An array or an object that has begun. Changed where it is: to take it out would copy what it holds.
    private struct Open {
        let isArray: Bool
        var elements: [JSONValue] = []
        var members: [String: JSONValue] = [:]
        /// Of the member whose value is read.
        var name = ""
    }

    private let bytes: [UInt8]
    private let maxDepth: Int
    private var position = 0
    private var stack: [Open] = []

    init(_ bytes: [UInt8], maxDepth: Int) {
        self.bytes = bytes
        self.maxDepth = max(0, maxDepth)
        // A byte order mark may be there, and means nothing (RFC 8259, section 8.1).
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    mutating func parse() throws(JSONParseError) -> JSONValue {
        while true {
            guard var value = try begin() else { continue }
            // What ends with this value ends too.
            while let ended = try end(with: value) { value = ended }
            if stack.isEmpty { return try whole(value) }
        }
    }

    /// Reads a value; nil if it is an array or an object with something in it, which has just begun.
    private mutating func begin() throws(JSONParseError) -> JSONValue? {
        skipBlanks()
        switch try byte("a value is missing") {
        case UInt8(ascii: "["):
            try deepen()
            if take(UInt8(ascii: "]")) { return .array([]) }
            stack.append(Open(isArray: true))
            return nil
        case UInt8(ascii: "{"):
            try deepen()
            if take(UInt8(ascii: "}")) { return .object([:]) }
            stack.append(Open(isArray: false, name: try name()))
            return nil
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        default: throw error("this begins no value")
        }
    }

    /// Puts a value where it belongs. If the array or object ends with it that is the next value; nil if there is more to
    /// read, or the value stands in nothing.
    private mutating func end(with value: JSONValue) throws(JSONParseError) -> JSONValue? {
        let top = stack.count - 1
        guard top >= 0 else { return nil }
        if stack[top].isArray {
            stack[top].elements.append(value)
            if take(UInt8(ascii: "]")) { return stack.popLast().map { .array($0.elements) } }
            guard take(UInt8(ascii: ",")) else { throw error("a comma or ] is missing") }
        } else {
            stack[top].members[stack[top].name] = value
            if take(UInt8(ascii: "}")) { return stack.popLast().map { .object($0.members) } }
            guard take(UInt8(ascii: ",")) else { throw error("a comma or } is missing") }
            stack[top].name = try name()
        }
        return nil
    }

    private mutating func whole(_ value: JSONValue) throws(JSONParseError) -> JSONValue {
        skipBlanks()
        guard position == bytes.count else { throw error("there is more behind the value") }
        return value
    }

    private mutating func deepen() throws(JSONParseError) {
        guard stack.count < maxDepth else { throw error("more than \(maxDepth) arrays and objects in each other") }
        position += 1
    }

    private mutating func name() throws(JSONParseError) -> String {
        skipBlanks()
        guard try byte("a name is missing") == UInt8(ascii: "\"") else { throw error("a name is missing") }
        let name = try string()
        guard take(UInt8(ascii: ":")) else { throw error("a colon is missing") }
        return name
    }
}

// MARK: - Texts

extension JSONParser {
    /// Reads a text, from its first quotation mark to its last.
    private mutating func string() throws(JSONParseError) -> String {
        position += 1
        let start = position
        // Most texts have no escapes, and are taken as they are.
        while position < bytes.count, bytes[position] != UInt8(ascii: "\""), bytes[position] != UInt8(ascii: "\\") {
            guard bytes[position] >= 0x20 else { throw error("a control character in a text") }
            position += 1
        }
        var text = bytes[start..<position]
        while true {
            switch try byte("a text does not end") {
            case UInt8(ascii: "\""):
                position += 1
                return try decoded(text, at: start)
            case UInt8(ascii: "\\"):
                position += 1
                try escape(into: &text)
            case let plain:
                guard plain >= 0x20 else { throw error("a control character in a text") }
                text.append(plain)
                position += 1
            }
        }
    }

    /// Bytes as text; they must be UTF-8.
    private func decoded(_ text: ArraySlice<UInt8>, at start: Int) throws(JSONParseError) -> String {
        let string = String(decoding: text, as: UTF8.self)
        // What is no UTF-8 was replaced, and so is no longer what it was.
        guard string.utf8.elementsEqual(text) else { throw JSONParseError(offset: start, reason: "a text is no UTF-8") }
        return string
    }

    private mutating func escape(into text: inout ArraySlice<UInt8>) throws(JSONParseError) {
        let escaped = try byte("a text does not end")
        position += 1
        switch escaped {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(escaped)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += Array(String(try scalar()).utf8)
        default:
            position -= 1
            throw error("an unknown escape")
        }
    }

    /// The character of `\u`, of two of them where it takes two. Half a pair is no character: U+FFFD stands for it.
    private mutating func scalar() throws(JSONParseError) -> Character {
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return Character(scalar) }
        let isHigh = first < 0xDC00
        guard isHigh, bytes[position...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else {
            return "\u{FFFD}"
        }
        let before = position
        position += 2
        let second = try codeUnit()
        guard 0xDC00...0xDFFF ~= second else {
            // Not the other half: read again as what it is.
            position = before
            return "\u{FFFD}"
        }
        let value = 0x10000 + (UInt32(first) - 0xD800) << 10 + UInt32(second) - 0xDC00
        return Character(Unicode.Scalar(value) ?? "\u{FFFD}")
    }

    private mutating func codeUnit() throws(JSONParseError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            let digit: UInt8
            switch try byte("a text does not end") {
            case let byte where UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte: digit = byte - UInt8(ascii: "0")
            case let byte where UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte: digit = byte - UInt8(ascii: "a") + 10
            case let byte where UInt8(ascii: "A")...UInt8(ascii: "F") ~= byte: digit = byte - UInt8(ascii: "A") + 10
            default: throw error("four hexadecimal digits are missing")
            }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }
}

// MARK: - Numbers, words, blanks

extension JSONParser {
    private mutating func number() throws(JSONParseError) -> JSONNumber {
        let start = position
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        if position < bytes.count, bytes[position] == UInt8(ascii: "0") {
            position += 1
        } else {
            try digits()
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits()
        }
        return JSONNumber(checked: String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func digits() throws(JSONParseError) {
        let start = position
        while position < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[position] { position += 1 }
        guard position > start else { throw error("a digit is missing") }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONParseError) -> JSONValue {
        guard bytes[position...].starts(with: word.description.utf8) else { throw error("this begins no value") }
        position += word.utf8CodeUnitCount
        return value
    }

    private mutating func skipBlanks() {
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: " "), 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    /// Whether the next byte that is no blank is this one; goes past it then.
    private mutating func take(_ wanted: UInt8) -> Bool {
        skipBlanks()
        guard position < bytes.count, bytes[position] == wanted else { return false }
        position += 1
        return true
    }

    private func byte(_ missing: String) throws(JSONParseError) -> UInt8 {
        guard position < bytes.count else { throw error(missing) }
        return bytes[position]
    }

    private func error(_ reason: String) -> JSONParseError { JSONParseError(offset: position, reason: reason) }
}
