/// The value of `Content-Range` (RFC 9110, section 14.4): which bytes of how many a 206 brings.
struct ContentRange: Equatable {
    let start: Int64
    /// The last byte, itself in the range.
    let end: Int64
    /// The length of the whole; nil where the server does not say.
    let total: Int64?

    /// Nil for anything but `bytes START-END/TOTAL` with numbers that fit each other.
    init?(_ text: String?) {
        guard let text, let blank = text.firstIndex(of: " "), text[..<blank].lowercased() == "bytes" else { return nil }
        let parts = text[text.index(after: blank)...].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, let start = Self.number(bounds[0]), let end = Self.number(bounds[1]), start <= end
        else { return nil }
        let total = Self.number(parts[1])
        guard total != nil || parts[1] == "*", total.map({ end < $0 }) ?? true, end < .max else { return nil }
        self.start = start
        self.end = end
        self.total = total
    }

    /// Digits only: `Int64` would take a sign.
    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
}
