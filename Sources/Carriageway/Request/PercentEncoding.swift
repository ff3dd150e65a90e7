import Foundation

/// Text as parts of a URL (RFC 3986): letters, digits and `-._~` as they are, the bytes of all else in percent.
///
/// A blank is `%20` and a plus `%2B`, so that servers which take `+` for a blank, as in forms, read the same text.
public enum PercentEncoding {
    /// One segment of a path, whatever it holds: `"/files/\(PercentEncoding.segment(name))"`.
    ///
    /// A slash becomes `%2F`. The segments `.` and `..`, which mean other folders in any spelling, cannot be said so; a
    /// path with them is refused.
    public static func segment(_ text: some StringProtocol) -> String {
        encode(text.utf8, keeping: [])
    }

    /// Names and values as a query, in order, repeated names too: `a=1&b=x%20y`. An item without value has no `=`.
    public static func query(_ items: [URLQueryItem]) -> String {
        items.map { item in
            let name = encode(item.name.utf8, keeping: [])
            return item.value.map { "\(name)=\(encode($0.utf8, keeping: []))" } ?? name
        }.joined(separator: "&")
    }

    /// A whole path: slashes, what else may stand in one, and bytes that are in percent already are kept.
    static func path(_ text: some StringProtocol) -> String {
        encode(text.utf8, keeping: "/%:@!$&'()*+,;=".utf8)
    }

    private static func encode(_ text: some Sequence<UInt8>, keeping kept: some Collection<UInt8>) -> String {
        let kept = Set(kept)
        var bytes: [UInt8] = []
        for byte in text {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            case let byte where kept.contains(byte): bytes.append(byte)
            default: append(byte, to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends a byte in percent.
    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes += [UInt8(ascii: "%"), hexDigit(byte >> 4), hexDigit(byte & 0xF)]
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
