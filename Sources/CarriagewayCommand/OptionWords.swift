import Foundation

/// The words of a command line that have yet to be read, and the values that options take from them.
struct OptionWords {
    var rest: ArraySlice<String>

    /// The name of an option, and what is attached to it with "=".
    static func parts(of word: String) -> (name: String, attached: String?) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count == 2 ? String(parts[1]) : nil)
    }

    /// The start of a word that is no option. What comes after its name could be a value that nobody should see.
    static func shown(_ word: String) -> String {
        UsageError.quoted(word.prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
    }

    mutating func value(for name: String, _ attached: String?) throws(UsageError) -> String {
        if let attached { return attached }
        // A value that looks like an option is one that was forgotten; "--option=--value" says that it is meant.
        guard let value = rest.first, !value.hasPrefix("--") else { throw UsageError("\(name) needs a value") }
        rest.removeFirst()
        return value
    }

    mutating func number(
        _ range: ClosedRange<Int>, for name: String, _ attached: String?
    ) throws(UsageError) -> Int {
        let text = try value(for: name, attached)
        guard let number = Int(text), range.contains(number) else {
            let bounds = "\(range.lowerBound) to \(range.upperBound)"
            throw UsageError("\(name) needs a whole number from \(bounds), not \(UsageError.quoted(text))")
        }
        return number
    }

    mutating func seconds(for name: String, _ attached: String?) throws(UsageError) -> Duration {
        let text = try value(for: name, attached)
        guard let seconds = Double(text), seconds.isFinite, seconds > 0 else {
            throw UsageError("\(name) needs a number of seconds above 0, not \(UsageError.quoted(text))")
        }
        // A Duration of more than 64 bits of seconds traps; thirty years are long enough.
        return .seconds(min(seconds, 1e9))
    }

    /// Bytes, with K, M or G for their multiples of 1,024.
    mutating func bytes(for name: String, _ attached: String?) throws(UsageError) -> Int64 {
        let text = try value(for: name, attached)
        let factors: [Character: Int64] = ["k": 1 << 10, "m": 1 << 20, "g": 1 << 30]
        let factor = text.lowercased().last.flatMap { factors[$0] }
        guard let number = Int64(factor == nil ? text[...] : text.dropLast()), number > 0,
            number <= .max / (factor ?? 1)
        else { throw UsageError("\(name) needs a number of bytes such as 500K or 2M, not \(UsageError.quoted(text))") }
        return number * (factor ?? 1)
    }

    mutating func header(for name: String, _ attached: String?) throws(UsageError) -> FetchPlan.Header {
        let text = try value(for: name, attached)
        let malformed = UsageError("\(name) needs 'Name: value'; what was given is not shown")
        guard let colon = text.firstIndex(of: ":") else { throw malformed }
        let field = text[..<colon]
        let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        let isClean = value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
        guard Self.isToken(field), isClean else { throw malformed }
        return FetchPlan.Header(name: String(field), value: value)
    }

    mutating func path(for name: String, _ attached: String?, _ what: String) throws(UsageError) -> String {
        let text = try value(for: name, attached)
        guard !text.isEmpty, !text.utf8.contains(0) else { throw UsageError("\(name) needs \(what)") }
        return text
    }

    /// Whether the text can be the name of a header field or a method (RFC 9110, section 5.6.2).
    static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                let character = Character(Unicode.Scalar(byte))
                guard byte < 0x80 else { return false }
                return character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character)
            }
    }
}
