/// Status line and header fields as they come in, line by line: pure.
///
/// Informational responses are passed over, and so is everything behind the end of the head, as trailers. It takes what
/// servers send: any line end, any blanks around values, folded lines, bytes that are no UTF-8.
struct ResponseHead {
    /// What a line has led to.
    enum Progress: Equatable {
        case incomplete
        /// The blank line after the final head has come.
        case complete
        case tooLarge
    }

    /// The most bytes of all lines together.
    static let limit = 1 << 20

    private enum Place {
        case statusLine, fields, end
    }

    private struct Field {
        let name: Range<Int>
        var value: Range<Int>
        /// What follows from folded lines.
        var continuations: [Range<Int>] = []
    }

    private var place = Place.statusLine
    private var bytes: [UInt8] = []
    private var lines: [Field] = []
    private var size = 0

    private(set) var status = 0
    /// "HTTP/1.1", for example.
    private(set) var version = ""

    var isComplete: Bool { place == .end }

    /// Takes one line or more, with their ends: libcurl hands them out one by one, but all together those that came while
    /// the transfer was paused.
    mutating func add(_ bytes: UnsafeRawBufferPointer) -> Progress {
        var progress = Progress.incomplete
        var start = 0
        while start < bytes.count, progress != .tooLarge {
            let end = (start..<bytes.count).first { bytes[$0] == 0x0A } ?? bytes.count - 1
            progress = add(line: UnsafeRawBufferPointer(rebasing: bytes[start...end]))
            start = end + 1
        }
        return progress
    }

    /// Takes a line, with its end or without.
    mutating func add(line: UnsafeRawBufferPointer) -> Progress {
        guard place != .end else { return .complete }
        size += line.count
        guard size <= Self.limit else { return .tooLarge }
        let line = UnsafeRawBufferPointer(rebasing: line.prefix(Self.length(of: line)))
        if place == .statusLine {
            begin(line)
        } else if line.isEmpty {
            return end()
        } else {
            addField(line)
        }
        return .incomplete
    }

    /// Without its end. A line that begins with a CR is an empty one, as it is to libcurl; one within a line is a blank.
    private static func length(of line: UnsafeRawBufferPointer) -> Int {
        var length = line.count
        if length > 0, line[length - 1] == 0x0A { length -= 1 }
        while length > 0, line[length - 1] == 0x0D { length -= 1 }
        return length > 0 && line[0] == 0x0D ? 0 : length
    }

    private mutating func begin(_ line: UnsafeRawBufferPointer) {
        // Nothing in front of a status line counts, be it a blank line.
        guard Self.isStatusLine(line) else { return }
        place = .fields
        bytes.reserveCapacity(512)
        lines.reserveCapacity(16)
        version = String(decoding: line.prefix { $0 != 0x20 }, as: UTF8.self)
        let digits = line.dropFirst(version.utf8.count).drop { $0 == 0x20 }.prefix(3)
        status = digits.reduce(0) { (0x30...0x39).contains($1) ? $0 * 10 + Int($1 - 0x30) : $0 }
    }

    /// Whether it begins as a status line does, in letters of any case: so libcurl sees it too.
    static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count > 5 && line.prefix(5).elementsEqual("HTTP/".utf8, by: { $0 & 0xDF == $1 & 0xDF })
    }

    private mutating func end() -> Progress {
        guard !(100..<200).contains(status) else {
            let size = size
            self = ResponseHead()
            // Informational responses without end are no way to use up memory or time either.
            self.size = size
            return .incomplete
        }
        place = .end
        return .complete
    }

    private mutating func addField(_ line: UnsafeRawBufferPointer) {
        let start = bytes.count
        bytes.append(contentsOf: line)
        // RFC 9112, section 2.2.
        if line.contains(0x0D) { for index in start..<bytes.count where bytes[index] == 0x0D { bytes[index] = 0x20 } }
        if Self.isBlank(line[0]) {
            guard !lines.isEmpty else { return }
            let more = trimmed(start..<bytes.count)
            if !more.isEmpty { lines[lines.count - 1].continuations.append(more) }
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            let name = trimmed(start..<start + colon)
            if !name.isEmpty { lines.append(Field(name: name, value: trimmed(start + colon + 1..<bytes.count))) }
        }
    }

    private func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, Self.isBlank(bytes[start]) { start += 1 }
        while start < end, Self.isBlank(bytes[end - 1]) { end -= 1 }
        return start..<end
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

extension ResponseHead {
    /// The fields by name, in the spelling that came first; the values of equal names, whatever their case, are joined
    /// by a comma (RFC 9110, section 5.3), as Foundation does it.
    var fields: [String: String] {
        var fields: [String: String] = [:]
        fields.reserveCapacity(lines.count)
        var spellings: [String: String] = [:]
        for line in lines {
            let name = text(line.name)
            let value = value(of: line)
            if fields[name] == nil, let spelling = spellings.updateIfNew(name, for: name.lowercased()) {
                fields[spelling]?.append(", \(value)")
            } else if let present = fields[name] {
                fields[name] = "\(present), \(value)"
            } else {
                fields[name] = value
            }
        }
        return fields
    }

    /// The values of one name, each by itself; the name in small letters, and ASCII.
    func values(of name: StaticString) -> [String] {
        lines.filter { isName($0, name) }.map(value)
    }

    /// The length of the body in bytes; -1 if it is not known, as under a content encoding.
    var bodyLength: Int64 {
        if lines.contains(where: { isName($0, "content-encoding") }), values(of: "content-encoding") != ["identity"] {
            return -1
        }
        guard let first = lines.firstIndex(where: { isName($0, "content-length") }),
            !lines[(first + 1)...].contains(where: { isName($0, "content-length") })
        else { return -1 }
        return Int64(value(of: lines[first])) ?? -1
    }

    private func isName(_ line: Field, _ name: StaticString) -> Bool {
        guard line.name.count == name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { letters in
            zip(bytes[line.name], letters).allSatisfy { byte, letter in
                byte == letter || (0x41...0x5A).contains(byte) && byte | 0x20 == letter
            }
        }
    }

    private func value(of line: Field) -> String {
        line.continuations.reduce(text(line.value)) { "\($0) \(text($1))" }
    }

    /// UTF-8 if it is, else ISO 8859-1, in which any bytes are text.
    private func text(_ range: Range<Int>) -> String {
        let part = bytes[range]
        if let text = String(validating: part, as: UTF8.self) { return text }
        return String(String.UnicodeScalarView(part.map { Unicode.Scalar($0) }))
    }
}

extension [String: String] {
    /// Sets the value for a key that has none; for one that has, gives that.
    fileprivate mutating func updateIfNew(_ value: String, for key: String) -> String? {
        if let present = self[key] { return present }
        self[key] = value
        return nil
    }
}
