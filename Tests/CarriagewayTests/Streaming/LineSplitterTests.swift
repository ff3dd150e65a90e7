import Foundation
import Testing

@testable import Carriageway

struct LineSplitterTests {
    private func lines(_ text: String, piece: Int) -> [String] {
        var splitter = LineSplitter()
        var lines: [String] = []
        var rest = Data(text.utf8)
        while !rest.isEmpty {
            lines += splitter.add(rest.prefix(piece))
            rest = rest.dropFirst(piece)
        }
        if let last = splitter.finish() { lines.append(last) }
        return lines
    }

    @Test(
        "lines end with LF, CR LF and CR, however the bytes are cut",
        arguments: [
            ("", []), ("a", ["a"]), ("a\n", ["a"]), ("\n", [""]), ("a\r\nb\rc\nd", ["a", "b", "c", "d"]),
            ("\r\n\r\n", ["", ""]), ("\n\r", ["", ""]), ("a\r\r\nb", ["a", "", "b"]), ("ä\r\n漢🚗\n", ["ä", "漢🚗"]),
        ] as [(String, [String])])
    func cut(text: String, expected: [String]) {
        for piece in 1...7 { #expect(lines(text, piece: piece) == expected, "\(piece)") }
    }

    @Test("bytes that are no UTF-8 are replaced, and an empty piece changes nothing")
    func oddBytes() {
        var splitter = LineSplitter()
        #expect(splitter.add(Data([0x61, 0xFF, 0x0D])) == ["a\u{FFFD}"])
        #expect(splitter.add(Data()) == [])
        #expect(splitter.add(Data([0x0A, 0x62, 0x0A])) == ["b"])
        #expect(splitter.finish() == nil)
    }
}
