/// Writes JSON. Its stack is its own, so that no depth of a value overflows that of the thread.
struct JSONWriter {
    private enum Work {
        case value(JSONValue)
        case member(name: String, JSONValue)
        /// A comma, where something was before.
        case separator
        case end(UInt8)
    }

    private(set) var bytes: [UInt8] = []
    private let isPretty: Bool
    private var level = 0

    init(isPretty: Bool) {
        self.isPretty = isPretty
    }

    mutating func write(_ value: JSONValue) {
        var work: [Work] = [.value(value)]
        while let next = work.popLast() {
            switch next {
            case .value(let value): work += begin(value)
            case .member(let name, let value):
                write(text: name)
                bytes += isPretty ? Array(": ".utf8) : [UInt8(ascii: ":")]
                work += begin(value)
            case .separator:
                bytes.append(UInt8(ascii: ","))
                breakLine()
            case .end(let bracket):
                level -= 1
                breakLine()
                bytes.append(bracket)
            }
        }
    }

    /// Writes a value, or the beginning of one; what is left to do comes back, last things first.
    private mutating func begin(_ value: JSONValue) -> [Work] {
        switch value {
        case .null: bytes += Array("null".utf8)
        case .bool(let value): bytes += Array((value ? "true" : "false").utf8)
        case .number(let number): bytes += Array(number.text.utf8)
        case .string(let text): write(text: text)
        case .array(let elements):
            return begin("[]", items: elements.map { .value($0) })
        case .object(let members):
            // By the code points of the names, whatever the language.
            let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            return begin("{}", items: sorted.map { .member(name: $0.key, $0.value) })
        }
        return []
    }

    private mutating func begin(_ brackets: StaticString, items: [Work]) -> [Work] {
        let brackets = Array(brackets.description.utf8)
        guard !items.isEmpty else {
            bytes += brackets
            return []
        }
        bytes.append(brackets[0])
        level += 1
        breakLine()
        var work: [Work] = [.end(brackets[1])]
        for (index, item) in items.reversed().enumerated() {
            if index > 0 { work.append(.separator) }
            work.append(item)
        }
        return work
    }

    private mutating func breakLine() {
        guard isPretty else { return }
        bytes.append(0x0A)
        bytes += repeatElement(UInt8(ascii: " "), count: 2 * level)
    }

    private mutating func write(text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x08: bytes += Array("\\b".utf8)
            case 0x09: bytes += Array("\\t".utf8)
            case 0x0A: bytes += Array("\\n".utf8)
            case 0x0C: bytes += Array("\\f".utf8)
            case 0x0D: bytes += Array("\\r".utf8)
            case 0x00..<0x20:
                let hex = String(byte, radix: 16)
                bytes += Array("\\u00\(byte < 16 ? "0" : "")\(hex)".utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
