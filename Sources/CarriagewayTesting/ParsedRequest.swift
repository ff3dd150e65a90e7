import Foundation

/// One request as the parser gives it out: what was on the wire, not yet when and where.
struct ParsedRequest: Equatable {
    enum Framing {
        case length(Int)
        case chunked
    }

    var method = ""
    var target = ""
    var minorVersion = 1
    var headers: [(name: String, value: String)] = []
    var body = Data()

    static func == (left: ParsedRequest, right: ParsedRequest) -> Bool {
        left.method == right.method && left.target == right.target && left.minorVersion == right.minorVersion
            && left.body == right.body && left.headers.elementsEqual(right.headers, by: ==)
    }

    /// Whether the client wants to go on with this connection (RFC 9112, section 9.3).
    var keepsAlive: Bool {
        minorVersion == 0 ? hasToken("keep-alive", in: "Connection") : !hasToken("close", in: "Connection")
    }

    var expectsContinue: Bool {
        minorVersion == 1 && hasToken("100-continue", in: "Expect")
    }

    func values(of name: String) -> [String] {
        headers.filter { $0.name.caseInsensitiveEquals(name) }.map(\.value)
    }

    private func hasToken(_ token: String, in name: String) -> Bool {
        values(of: name).contains { $0.hasListToken(token) }
    }

    /// How the body is delimited (RFC 9112, section 6.3). What could be read in two ways is refused.
    func framing() throws(RequestParser.Rejection) -> Framing {
        if minorVersion == 1, values(of: "Host").count != 1 {
            throw .init(status: 400, reason: "HTTP/1.1 needs exactly one Host field")
        }
        let codings = values(of: "Transfer-Encoding")
        let lengths = values(of: "Content-Length")
        if let coding = codings.first {
            guard codings.count == 1, coding.caseInsensitiveEquals("chunked") else {
                throw .init(status: 501, reason: "only the chunked transfer coding is known")
            }
            guard lengths.isEmpty, minorVersion == 1 else {
                throw .init(status: 400, reason: "Transfer-Encoding together with Content-Length or HTTP/1.0")
            }
            return .chunked
        }
        guard let length = lengths.first else { return .length(0) }
        guard lengths.allSatisfy({ $0 == length }), !length.isEmpty,
            length.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else {
            throw .init(status: 400, reason: "malformed Content-Length")
        }
        return .length(Int(length) ?? .max)
    }
}

extension String {
    /// Whether a field value that is a list, such as that of `Connection`, holds the token in any case.
    func hasListToken(_ token: String) -> Bool {
        if caseInsensitiveEquals(token) { return true }
        return split(separator: ",").contains {
            $0.trimmingCharacters(in: .whitespaces).caseInsensitiveEquals(token)
        }
    }
}

/// "GET /path HTTP/1.1", taken apart; nil for anything else.
struct RequestLine {
    let method: String
    let target: String
    let minorVersion: Int

    init?(_ line: Slice<UnsafeRawBufferPointer>) {
        guard let first = line.firstIndex(of: 0x20), let last = line.lastIndex(of: 0x20), first < last else {
            return nil
        }
        let method = line[..<first]
        let target = line[(first + 1)..<last]
        let version = line[(last + 1)...]
        guard !method.isEmpty, method.allSatisfy(\.isTokenByte) else { return nil }
        guard !target.isEmpty, target.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        guard version.count == 8, version.dropLast().elementsEqual("HTTP/1.".utf8) else { return nil }
        switch version[version.endIndex - 1] {
        case UInt8(ascii: "0"): minorVersion = 0
        case UInt8(ascii: "1"): minorVersion = 1
        default: return nil
        }
        self.method = String(decoding: method, as: UTF8.self)
        self.target = String(decoding: target, as: UTF8.self)
    }
}

/// "Name: value", taken apart; nil for anything else, the obsolete folded lines included.
struct FieldLine {
    let name: String
    let value: String

    init?(_ line: Slice<UnsafeRawBufferPointer>) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = line[..<colon]
        guard !name.isEmpty, name.allSatisfy(\.isTokenByte) else { return nil }
        var value = line[(colon + 1)...]
        while let byte = value.first, byte == 0x20 || byte == 0x09 { value.removeFirst() }
        while let byte = value.last, byte == 0x20 || byte == 0x09 { value.removeLast() }
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { return nil }
        self.name = String(decoding: name, as: UTF8.self)
        self.value = String(decoding: value, as: UTF8.self)
    }
}

/// The size of a chunk in hexadecimal, extensions ignored; nil for anything else.
struct ChunkSize {
    let value: Int

    init?(_ line: Slice<UnsafeRawBufferPointer>) {
        var value = 0
        var digits = 0
        for byte in line.prefix(while: { $0 != UInt8(ascii: ";") && $0 != 0x20 && $0 != 0x09 }) {
            guard let digit = Character(UnicodeScalar(byte)).hexDigitValue, digits < 15 else { return nil }
            value = value << 4 | digit
            digits += 1
        }
        guard digits > 0 else { return nil }
        self.value = value
    }
}

extension UInt8 {
    /// Whether the byte may stand in a method or a field name (RFC 9110, section 5.6.2).
    var isTokenByte: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x5E...0x7A, 0x7C, 0x7E: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E: true
        default: false
        }
    }
}
