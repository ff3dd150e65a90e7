import Foundation
import Testing

@testable import CarriagewayTesting

@Suite("Responses of the loopback server", .timeLimit(.minutes(10)))
struct ResponseTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    /// Sends one GET to a route with this response.
    private func client(_ response: LoopbackServer.Response, method: String = "GET") throws -> TestClient {
        server.on("/", response)
        let client = try TestClient(server)
        client.get("/", method: method)
        return client
    }

    @Test("text, data, JSON, status, redirect and empty say what they are")
    func values() throws {
        func answer(_ response: LoopbackServer.Response) throws -> TestClient.Response? {
            try client(response).response()
        }
        let text = try #require(try answer(.text("grüße")))
        #expect(text.status == 200 && text.text == "grüße")
        #expect(text.header("content-type") == "text/plain; charset=utf-8")
        let data = try #require(try answer(.data(Data([0, 255]), contentType: "image/x", status: 201)))
        #expect(data.status == 201 && data.body == Data([0, 255]) && data.header("Content-Type") == "image/x")
        let json = try #require(try answer(.json(["a": 1])))
        #expect(json.text == #"{"a":1}"# && json.header("Content-Type") == "application/json")
        #expect(try answer(.json(Double.infinity))?.status == 500)
        let status = try #require(try answer(.status(429, headers: ["Retry-After": "3"], body: Data("x".utf8))))
        #expect(status.status == 429 && status.header("Retry-After") == "3" && status.text == "x")
        let redirect = try #require(try answer(.redirect(to: "/b", status: 308)))
        #expect(redirect.status == 308 && redirect.header("Location") == "/b" && redirect.body.isEmpty)
        let empty = try #require(try answer(.empty()))
        #expect(empty.status == 204 && empty.header("Content-Length") == nil)
    }

    @Test("added header fields are sent in order, duplicates included")
    func headers() throws {
        let response = try client(.text("").header("Set-Cookie", "a=1").header("Set-Cookie", "b=2")).response()
        #expect(response?.headers.filter { $0.hasPrefix("Set-Cookie") } == ["Set-Cookie: a=1", "Set-Cookie: b=2"])
    }

    @Test("the server's own fields give way to those of the user")
    func overriddenHeaders() throws {
        let own = try #require(try client(.text("abc")).response())
        #expect(own.header("Date")?.hasSuffix(" GMT") == true)
        let response = try #require(
            try client(.text("abc").header("date", "never").header("Content-Length", "1").closing).response())
        #expect(response.headers.filter { $0.lowercased().hasPrefix("date:") } == ["date: never"])
        #expect(response.headers.filter { $0.hasPrefix("Content-Length") } == ["Content-Length: 1"])
        #expect(response.text == "a")
    }

    @Test("reset ends the connection with RST and no byte")
    func reset() throws {
        #expect(try client(.reset).receiveAll() == (Data(), .reset))
    }

    @Test("close ends the connection with FIN and no byte")
    func close() throws {
        #expect(try client(.close).receiveAll() == (Data(), .closed))
    }

    @Test("hang keeps the connection without an answer, until the client leaves")
    func hang() async throws {
        let client = try client(.hang)
        try await server.waitForRequests(1)
        server.on("/other", .text("other"))
        let other = try TestClient(server)
        other.get("/other")
        #expect(other.response()?.text == "other")
        #expect(server.openConnections == 2)
        client.close()
        try await server.waitForOpenConnections(atMost: 1)
        try await server.waitUntilIdle()
    }

    @Test("raw sends exactly its bytes and closes")
    func raw() throws {
        let bytes = Data([0, 13, 10, 255])
        #expect(try client(.raw(bytes)).receiveAll() == (bytes, .closed))
        #expect(try client(.raw(Data())).receiveAll() == (Data(), .closed))
    }

    @Test("raw without closing goes on to the next request")
    func rawKeepsConnection() throws {
        let client = try client(.raw(Data("HTTP/1.1 299 \r\nContent-Length: 1\r\n\r\nx".utf8), thenClose: false))
        #expect(client.response()?.status == 299)
        client.get("/")
        #expect(client.response()?.text == "x")
    }

    @Test("delayed waits before the first byte")
    func delayed() throws {
        let start = ContinuousClock.now
        #expect(try client(.text("late").delayed(.milliseconds(50))).response()?.text == "late")
        #expect(ContinuousClock.now - start >= .milliseconds(50))
        #expect(try client(.reset.delayed(.milliseconds(1))).receiveAll().ending == .reset)
        #expect(try client(.text("now").delayed(.seconds(-1))).response()?.text == "now")
    }

    @Test("a delay without end is let go when the client leaves")
    func endlessDelay() async throws {
        let client = try client(.text("").delayed(.seconds(Int64.max) * 18))
        try await server.waitForRequests(1)
        client.close()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test("truncated announces the full length, sends the first bytes and closes")
    func truncatedByClose() throws {
        let (bytes, ending) = try client(.text("abcdef").truncated(after: 2, then: .close)).receiveAll()
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains("Content-Length: 6\r\n") && text.hasSuffix("\r\n\r\nab"))
        #expect(ending == .closed)
    }

    @Test("truncated by reset delivers every byte before the RST")
    func truncatedByReset() throws {
        let length = 4 << 20
        let response = LoopbackServer.Response.data(Data(count: 5 << 20)).truncated(after: length, then: .reset)
        let (bytes, ending) = try client(response).receiveAll()
        let head = try #require(bytes.range(of: Data("\r\n\r\n".utf8)))
        #expect(bytes.count - head.upperBound == length)
        #expect(ending == .reset)
    }

    @Test("truncated by stall sends the first bytes and keeps the connection")
    func truncatedByStall() async throws {
        let client = try client(.text("abcdef").truncated(after: 3, then: .stall))
        var bytes = Data()
        while !bytes.suffix(7).elementsEqual("\r\n\r\nabc".utf8) { bytes += try #require(client.receive()) }
        #expect(server.openConnections == 1)
        client.close()
        try await server.waitForOpenConnections(atMost: 0)
        try await server.waitUntilIdle()
    }

    @Test("chunked sends the body in chunks of its size, with pauses between them")
    func chunked() throws {
        let start = ContinuousClock.now
        let client = try client(.text("abcdefg").chunked(interval: .milliseconds(10), size: 3).closing)
        let text = String(decoding: client.receiveAll().bytes, as: UTF8.self)
        #expect(text.contains("Transfer-Encoding: chunked\r\n") && !text.contains("Content-Length"))
        #expect(text.hasSuffix("\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n1\r\ng\r\n0\r\n\r\n"))
        #expect(ContinuousClock.now - start >= .milliseconds(20))
    }

    @Test("chunked and truncated leaves out the last chunk")
    func chunkedTruncated() throws {
        let response = LoopbackServer.Response.text("abcdef").chunked(size: 4).truncated(after: 5, then: .close)
        let text = String(decoding: try client(response).receiveAll().bytes, as: UTF8.self)
        #expect(text.hasSuffix("\r\n\r\n4\r\nabcd\r\n2\r\ne"))
    }

    @Test("dripped sends the body with its length in pieces, with pauses between them")
    func dripped() throws {
        let start = ContinuousClock.now
        let response = try client(.text("abcdef").dripped(size: 2, interval: .milliseconds(10))).response()
        #expect(response?.text == "abcdef")
        #expect(response?.header("Content-Length") == "6")
        #expect(ContinuousClock.now - start >= .milliseconds(20))
    }

    @Test("closing says so, closes, and answers no pipelined request any more")
    func closing() throws {
        server.on("/", .text("last").closing)
        let client = try TestClient(server)
        client.send(String(repeating: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", count: 2))
        let response = client.response()
        #expect(response?.text == "last" && response?.header("Connection") == "close")
        #expect(client.receiveAll() == (Data(), .closed))
        #expect(server.requestCount == 1)
    }

    @Test("informational responses come before the final one")
    func preceded() throws {
        let client = try client(.text("final").preceded(by: 103, headers: ["Link": "</x>"]).preceded(by: 100))
        #expect(client.response()?.status == 100)
        let hints = client.response()
        #expect(hints?.status == 103 && hints?.headers == ["Link: </x>"])
        #expect(client.response()?.text == "final")
    }

    @Test("trailers come after a chunked body")
    func trailers() throws {
        let client = try client(.text("abc").trailers([("Checksum", "1"), ("Checksum", "2")]).header("X", "y"))
        let response = client.response()
        #expect(response?.text == "abc")
        #expect(response?.headers.suffix(2) == ["Checksum: 1", "Checksum: 2"])
    }

    @Test("HEAD, 204 and 304 send a head only", arguments: [false, true])
    func withoutBody(chunked: Bool) throws {
        let text = LoopbackServer.Response.text("abc")
        server.on("/head", chunked ? text.chunked(size: 1) : text)
        server.on("/next", .text("next"))
        for status in [204, 304] {
            let bodiless = LoopbackServer.Response.status(status, body: Data("abc".utf8))
            server.on("/\(status)", chunked ? bodiless.chunked(size: 1) : bodiless)
        }
        let client = try TestClient(server)
        client.get("/head", method: "HEAD")
        let head = client.response(toHead: true)
        #expect(head?.header(chunked ? "Transfer-Encoding" : "Content-Length") == (chunked ? "chunked" : "3"))
        for path in ["/204", "/304", "/next"] {
            client.get(path)
            let response = client.response(toHead: path != "/next")
            #expect(response?.header("Content-Length") == (path == "/next" ? "4" : nil))
            #expect(response?.text == (path == "/next" ? "next" : ""))
        }
    }
}
