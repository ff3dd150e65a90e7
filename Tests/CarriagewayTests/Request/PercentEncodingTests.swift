import Foundation
import Testing

@testable import Carriageway

/// Against Python's `urllib.parse`: `Tests/Fixtures/make-encodings.py` made the sums and the samples.
struct PercentEncodingTests {
    private typealias Field = (name: String, value: String)

    @Test("10,000 random inputs in all of Unicode: queries, forms and segments as urllib.parse and WHATWG have them")
    func python() throws {
        let rows = try Fixture.table("encodings.tsv")
        let sums = rows.filter { $0[0] == "sums" }.map { Array($0.dropFirst()) }
        let samples = rows.filter { $0[0] == "sample" }.map { Array($0.dropFirst()) }
        try #require(sums.count == 100 && samples.count == 40)
        var random = SplitMix(state: 3986)
        for (block, expected) in sums.enumerated() {
            var found = [Sum](repeating: Sum(), count: 4)
            for index in 0..<100 {
                let fields = Self.fields(&random)
                let shown = fields.map { "\($0.name)\u{1}\($0.value)\u{2}" }.joined()
                let outputs = [
                    PercentEncoding.query(fields.map { URLQueryItem(name: $0.name, value: $0.value) }),
                    FormEncoding.encode(fields), PercentEncoding.segment(fields[0].value),
                ]
                for (column, output) in ([shown] + outputs).enumerated() { found[column].add(output) }
                if block == 0, index < samples.count {
                    #expect(outputs == Array(samples[index].dropFirst()), "sample \(index)")
                }
            }
            #expect(found.map(\.text) == expected, "block \(block)")
        }
    }

    @Test("+ & = % and repeated names; an item without value has no equals sign")
    func delimiters() {
        let items = [
            URLQueryItem(name: "a+b", value: "1&2=3%4"), URLQueryItem(name: "x", value: "1"),
            URLQueryItem(name: "x", value: "2 3"), URLQueryItem(name: "flag", value: nil),
            URLQueryItem(name: "empty", value: ""),
        ]
        #expect(PercentEncoding.query(items) == "a%2Bb=1%262%3D3%254&x=1&x=2%203&flag&empty=")
        #expect(PercentEncoding.query([]).isEmpty)
        #expect(PercentEncoding.segment("a/b?c#d e") == "a%2Fb%3Fc%23d%20e")
    }

    /// The generator of the script.
    private struct SplitMix {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }

        mutating func below(_ bound: UInt64) -> UInt64 { next() % bound }
    }

    private struct Sum {
        var total: UInt64 = 0xCBF2_9CE4_8422_2325

        mutating func add(_ text: String) {
            for byte in Array(text.utf8) + [0xFF] { total = (total ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }

        var text: String {
            let hex = String(total, radix: 16)
            return String(repeating: "0", count: 16 - hex.count) + hex
        }
    }

    private static let delimiters = Array("+&=%;?#/:@ '\"<>[]{}|\\^`~*!$,()\t\n\r\0%41%zz".unicodeScalars)

    private static func scalar(_ random: inout SplitMix) -> Unicode.Scalar {
        let kind = random.below(5)
        if kind < 2 { return delimiters[Int(random.below(UInt64(delimiters.count)))] }
        if kind == 2 { return Unicode.Scalar(UInt8(random.below(0x80))) }
        let code = UInt32(random.below(kind == 3 ? 0x800 : 0x110000 - 0x800))
        return Unicode.Scalar(code < 0xD800 ? code : code + 0x800) ?? "?"
    }

    private static func text(_ random: inout SplitMix) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<random.below(9) { text.append(scalar(&random)) }
        return String(text)
    }

    private static func fields(_ random: inout SplitMix) -> [Field] {
        var fields: [Field] = []
        for _ in 0..<1 + random.below(3) {
            let name = text(&random)
            fields.append((name, text(&random)))
        }
        if random.below(4) == 0 { fields.append((fields[0].name, text(&random))) }
        return fields
    }
}
