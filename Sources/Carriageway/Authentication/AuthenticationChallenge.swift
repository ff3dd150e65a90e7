/// One challenge of a `WWW-Authenticate` header (RFC 9110, section 11.6.1).
struct AuthenticationChallenge: Equatable {
    /// The scheme in small letters: "bearer".
    let scheme: String
    /// What stands in place of parameters, as with Negotiate.
    var token: String?
    /// The parameters by name in small letters; the first of equal names.
    var parameters: [String: String] = [:]

    /// The challenges of a header, of which there may be several in one value. What cannot be read is passed over, up to
    /// the next comma.
    static func parse(_ header: String) -> [AuthenticationChallenge] {
        var reader = ChallengeReader(header)
        return reader.read()
    }
}

/// Reads from left to right, each byte once or twice.
private struct ChallengeReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func read() -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        while true {
            skip { $0 == UInt8(ascii: ",") || Self.isBlank($0) }
            guard current != nil else { return challenges }
            guard let word = take(while: Self.isTokenByte) else {
                skipToComma()
                continue
            }
            let name = word.lowercased()
            switch parameterValue() {
            case .none: challenges.append(AuthenticationChallenge(scheme: name, token: token68()))
            case .unreadable: skipToComma()
            case .text(let value):
                // One that belongs to no scheme means nothing.
                guard let last = challenges.indices.last else { continue }
                challenges[last].parameters[name] = challenges[last].parameters[name] ?? value
            }
        }
    }

    private enum Value {
        /// There is no equals sign: the word was no name.
        case none
        case unreadable
        case text(String)
    }

    /// What follows the name of a parameter.
    private mutating func parameterValue() -> Value {
        let start = position
        skip(while: Self.isBlank)
        guard current == UInt8(ascii: "=") else {
            position = start
            return .none
        }
        position += 1
        skip(while: Self.isBlank)
        let value = current == UInt8(ascii: "\"") ? quotedString() : take(while: Self.isTokenByte)
        return value.map(Value.text) ?? .unreadable
    }

    /// The token that follows a scheme, if it is one and not the name of a parameter or the next scheme.
    private mutating func token68() -> String? {
        let start = position
        guard take(while: Self.isBlank) != nil, let text = take(while: Self.isToken68Byte) else {
            position = start
            return nil
        }
        let padding = take { $0 == UInt8(ascii: "=") } ?? ""
        skip(while: Self.isBlank)
        guard current == nil || current == UInt8(ascii: ",") else {
            position = start
            return nil
        }
        return text + padding
    }

    /// The text between quotes, escapes undone; nil if the closing quote is missing.
    private mutating func quotedString() -> String? {
        var text: [UInt8] = []
        position += 1
        while let byte = current {
            position += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
            if byte == UInt8(ascii: "\\"), let escaped = current {
                position += 1
                text.append(escaped)
            } else {
                text.append(byte)
            }
        }
        return nil
    }

    /// Goes to the next comma that is not between quotes.
    private mutating func skipToComma() {
        while let byte = current, byte != UInt8(ascii: ",") {
            if byte == UInt8(ascii: "\"") { _ = quotedString() } else { position += 1 }
        }
    }

    private mutating func skip(while isSkipped: (UInt8) -> Bool) {
        while let byte = current, isSkipped(byte) { position += 1 }
    }

    /// The bytes that satisfy `isTaken`; nil if there are none.
    private mutating func take(while isTaken: (UInt8) -> Bool) -> String? {
        let start = position
        skip(while: isTaken)
        return position == start ? nil : String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "-._~+/".utf8.contains(byte)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
