import Foundation
import Testing

@testable import CarriagewayTesting

@Suite("The request parser")
struct RequestParserTests {
    /// All events of bytes that come in pieces of that size.
    private func events(_ text: String, pieces: Int = .max, bodyLimit: Int = 1 << 30) -> [RequestParser.Event] {
        events(Array(text.utf8), pieces: pieces, bodyLimit: bodyLimit)
    }

    private func events(_ bytes: [UInt8], pieces: Int = .max, bodyLimit: Int = 1 << 30) -> [RequestParser.Event] {
        var parser = RequestParser()
        parser.bodyLimit = bodyLimit
        var events: [RequestParser.Event] = []
        var position = 0
        while position < bytes.count {
            let end = position + min(pieces, bytes.count - position)
            bytes[position..<end].withUnsafeBytes { parser.append($0) }
            while let event = parser.next() { events.append(event) }
            position = end
        }
        return events
    }

    private func requests(_ text: String, pieces: Int = .max) -> [ParsedRequest] {
        events(text, pieces: pieces).compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    private func rejection(_ text: String, bodyLimit: Int = 1 << 30) -> Int? {
        guard case .rejected(let rejection) = events(text, bodyLimit: bodyLimit).last else { return nil }
        return rejection.status
    }

    private static let mixed =
        "\r\nPOST /a?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
        + "GET /b HTTP/1.1\nhost:h\nX-Twice: 1\nX-Twice:  2 \t\n\n"
        + "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
        + "3;name=value\r\nabc\r\n00A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
        + "GET http://h:1/d HTTP/1.0\r\n\r\n"

    @Test("finds the same requests however the bytes are cut", arguments: [1, 2, 3, 7, 64, Int.max])
    func cuts(pieces: Int) {
        let found = requests(Self.mixed, pieces: pieces)
        #expect(found.map(\.method) == ["POST", "GET", "PUT", "GET"])
        #expect(found.map(\.target) == ["/a?x=1", "/b", "/c", "http://h:1/d"])
        #expect(found.map { String(decoding: $0.body, as: UTF8.self) } == ["hello", "", "abc0123456789", ""])
        #expect(found.map(\.keepsAlive) == [true, true, true, false])
        #expect(found[1].values(of: "x-TWICE") == ["1", "2"])
    }

    @Test("waits for the rest of every unfinished request")
    func prefixes() {
        let whole = Array("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc".utf8)
        for count in 0..<whole.count { #expect(events(Array(whole[..<count])).isEmpty) }
        #expect(events(whole).count == 1)
    }

    @Test(
        "refuses what is no HTTP/1 request",
        arguments: [
            "GET\r\n", "GET /\r\n", "GET / HTTP/2.0\r\n", "GET / HTTP/1.1x\r\n", "GET / http/1.1\r\n",
            " / HTTP/1.1\r\n",
            "G(T / HTTP/1.1\r\n", "GET /a b HTTP/1.1\r\n", "GET /\u{7F} HTTP/1.1\r\n", "GET /ü HTTP/1.1\r\n",
            "GET  HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost\r\n", "GET / HTTP/1.1\r\n: x\r\n", "GET / HTTP/1.1\r\nA : x\r\n",
            "GET / HTTP/1.1\r\nA: x\r\n folded\r\n", "GET / HTTP/1.1\r\nA: x\0y\r\n", "GET / HTTP/1.1\r\nA: x\ry\r\n",
        ])
    func malformedHeads(text: String) {
        #expect(rejection(text) == 400)
    }

    @Test(
        "refuses lengths that can be read in two ways",
        arguments: [
            "Content-Length: -1", "Content-Length: +1", "Content-Length: 1x", "Content-Length:", "Content-Length: 0x1",
            "Content-Length: 1\r\nContent-Length: 2", "Content-Length: 1, 2",
            "Content-Length: 1\r\nTransfer-Encoding: chunked",
        ])
    func ambiguousLengths(field: String) {
        #expect(rejection("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n") == 400)
    }

    @Test("knows no transfer coding but chunked, and none in HTTP/1.0")
    func codings() {
        #expect(rejection("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n") == 501)
        #expect(rejection("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n") == 400)
    }

    @Test(
        "refuses broken chunks",
        arguments: ["\r\n", "x\r\n", "-1\r\n", "1\r\nab\r\n", " 1\r\n", "1234567890123456\r\n"])
    func malformedChunks(body: String) {
        #expect(rejection("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + body) == 400)
    }

    @Test("takes a body of the limit and refuses one byte more")
    func bodyLimit() {
        let head = "POST / HTTP/1.1\r\nHost: h\r\n"
        #expect(rejection(head + "Content-Length: 5\r\n\r\nhello", bodyLimit: 5) == nil)
        #expect(rejection(head + "Content-Length: 6\r\n\r\n", bodyLimit: 5) == 413)
        #expect(rejection(head + "Content-Length: 99999999999999999999999\r\n\r\n") == 413)
        let chunked = head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
        #expect(rejection(chunked + "2\r\nde\r\n0\r\n\r\n", bodyLimit: 5) == nil)
        #expect(rejection(chunked + "3\r\n", bodyLimit: 5) == 413)
        #expect(rejection(chunked + "FFFFFFFFFFFFFFF\r\n") == 413)
    }

    @Test("takes a head of nearly 1 MB and refuses a larger one, with or without line ends")
    func headLimit() {
        let head = "GET / HTTP/1.1\r\nHost: h\r\nX: "
        let room = RequestParser.headLimit - head.utf8.count
        #expect(requests(head + String(repeating: "x", count: room - 5) + "\r\n\r\n", pieces: 1000).count == 1)
        #expect(rejection(head + String(repeating: "x", count: room + 1)) == 431)
        #expect(rejection(head + "x\r\n" + String(repeating: "Y: z\r\n", count: 1 << 18)) == 431)
        #expect(rejection(String(repeating: "\r\n", count: 1 << 20)) == 431)
    }

    @Test("says once that the client expects 100, and only in HTTP/1.1 and before a body")
    func expectsContinue() {
        let fields = "Host: h\r\nExpect: 100-Continue\r\n"
        let asked = events("POST / HTTP/1.1\r\n\(fields)Content-Length: 1\r\n\r\na", pieces: 1)
        #expect(asked.first == .expectsContinue)
        #expect(asked.count == 2)
        #expect(events("POST / HTTP/1.0\r\n\(fields)Content-Length: 1\r\n\r\na").count == 1)
        #expect(events("GET / HTTP/1.1\r\n\(fields)\r\n").count == 1)
    }

    @Test("gives out nothing after a rejection")
    func afterRejection() {
        #expect(events("bad\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", pieces: 1).count == 1)
    }

    @Test("reads random bytes and damaged requests without a trap, the same way in any pieces")
    func fuzz() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix(state: seed)
        for _ in 0..<2000 {
            var bytes = Array(Self.mixed.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let position = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0...3, using: &random) {
                case 0: bytes[position] = .random(in: 0...255, using: &random)
                case 1: bytes.remove(at: position)
                case 2: bytes.insert(.random(in: 0...255, using: &random), at: position)
                default: bytes.swapAt(position, Int.random(in: 0..<bytes.count, using: &random))
                }
            }
            let pieces = Int.random(in: 1...40, using: &random)
            #expect(events(bytes) == events(bytes, pieces: pieces), "seed \(seed)")
            let noise = (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(events(noise) == events(noise, pieces: pieces), "seed \(seed)")
        }
    }
}

/// Random numbers that a seed brings back.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
