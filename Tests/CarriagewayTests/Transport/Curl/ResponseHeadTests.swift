#if os(Linux)
    import Testing

    @testable import Carriageway

    @Suite("ResponseHead")
    struct ResponseHeadTests {
        private func head(_ text: String) -> ResponseHead { head(Array(text.utf8)) }

        /// Fed line by line, each with its end, as libcurl does it.
        private func head(_ bytes: [UInt8]) -> ResponseHead {
            var head = ResponseHead()
            for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
                _ = (line + [0x0A]).withUnsafeBytes { head.add(line: $0) }
            }
            return head
        }

        @Test(
            "any form of the status line is read",
            arguments: [
                ("HTTP/1.1 200 OK\r\n\r\n", 200, "HTTP/1.1"), ("HTTP/1.1 404\r\n\r\n", 404, "HTTP/1.1"),
                ("HTTP/2 204 \r\n\r\n", 204, "HTTP/2"), ("HTTP/1.0  599 x y\n\n", 599, "HTTP/1.0"),
                ("\r\nHTTP/1.1 200\r\n\r\n", 200, "HTTP/1.1"),
                ("http/1.1 200\r\n\r\n", 200, "http/1.1"),
            ])
        func statusLines(text: String, status: Int, version: String) {
            let head = head(text)
            #expect(head.isComplete && head.status == status && head.version == version)
        }

        @Test("lines may come together, with those of informational responses and with what follows the head")
        func together() {
            let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n c\r\nD: e\r\n\r\nF: g\r\n"
            for length in 1...text.utf8.count {
                var head = ResponseHead()
                var bytes = Array(text.utf8)[...]
                while !bytes.isEmpty {
                    // Whole lines, of at least so many bytes.
                    let least = bytes.startIndex + min(length, bytes.count) - 1
                    let end = bytes[least...].firstIndex(of: 0x0A) ?? bytes.endIndex - 1
                    _ = Array(bytes[...end]).withUnsafeBytes { head.add($0) }
                    bytes = bytes[(end + 1)...]
                }
                #expect(head.isComplete && head.status == 200 && head.fields == ["A": "b c", "D": "e"])
            }
        }

        @Test("blanks around a value do not count, and there may be none or no value")
        func blanks() {
            let fields = head("HTTP/1.1 200\r\nA:b\r\nC:   d \t\r\nE:\r\nF:  \r\nG : h\r\n\r\n").fields
            #expect(fields == ["A": "b", "C": "d", "E": "", "F": "", "G": "h"])
        }

        @Test("lines that are no fields are passed over; lines may end with LF alone; folded ones are joined")
        func oddLines() {
            let fields = head("HTTP/1.1 200 OK\n folded\nno colon\n: no name\nA: b\n  c\n\td\nE: f\n\n").fields
            #expect(fields == ["A": "b c d", "E": "f"])
        }

        @Test("a CR within a line is a blank (RFC 9112, section 2.2), and no end; one at its beginning is")
        func carriageReturns() {
            let read = head("HTTP/1.1 200 O\rK\r\nA: b\rc\r\nD: \re\r\r\n\r\n")
            #expect(read.isComplete && read.fields == ["A": "b c", "D": "e"])
            #expect(head("HTTP/1.1 200\r\nA: b\r\n\rC: d\r\n").isComplete)
        }

        @Test("fields of one name are joined under the spelling that came first")
        func duplicates() {
            let head = head(
                "HTTP/1.1 200\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\nX: 1\r\nset-cookie: c=3\r\nx: 2\r\n\r\n")
            #expect(head.fields == ["set-cookie": "a=1, b=2, c=3", "X": "1, 2"])
            #expect(head.values(of: "set-cookie") == ["a=1", "b=2", "c=3"])
        }

        @Test("UTF-8 is read as such, other bytes as ISO 8859-1")
        func encodings() {
            let bytes = Array("HTTP/1.1 200\r\nA: ü\r\nB: ".utf8) + [0xFC] + Array("\r\n\r\n".utf8)
            #expect(head(bytes).fields == ["A": "ü", "B": "ü"])
        }

        @Test("informational responses and trailers leave no trace")
        func others() {
            let head = head(
                "HTTP/1.1 103 Early\r\nA: 1\r\n\r\nHTTP/1.1 200 OK\r\nB: 2\r\n\r\nC: 3\r\n\r\nHTTP/1.1 500\r\n\r\n")
            #expect(head.status == 200 && head.fields == ["B": "2"])
        }

        @Test("a head without end is too large at some point, also in informational responses")
        func limits() {
            for text in ["A: bcdefghijklmnopqrstuvwxyz\r\n", "HTTP/1.1 100\r\n"] {
                var head = ResponseHead()
                var progress = ResponseHead.Progress.incomplete
                for _ in 0..<200_000 where progress != .tooLarge {
                    progress = Array(text.utf8).withUnsafeBytes { head.add(line: $0) }
                    if text.hasPrefix("HTTP") { progress = Array("\r\n".utf8).withUnsafeBytes { head.add(line: $0) } }
                }
                #expect(progress == .tooLarge)
            }
        }

        @Test("random bytes make no difference to the next response")
        func fuzz() {
            var random = SystemRandomNumberGenerator()
            for _ in 0..<2_000 {
                var bytes = (0..<Int.random(in: 0...200)).map { _ in UInt8.random(in: 0...255, using: &random) }
                for _ in 0..<3 { bytes.insert(contentsOf: Array("\r\nA:".utf8), at: .random(in: 0...bytes.count)) }
                let head = head(Array("HTTP/1.1 200\r\n".utf8) + bytes + Array("\r\n\r\n".utf8))
                #expect(head.isComplete && head.status == 200)
                _ = head.fields
            }
        }
    }
#endif
