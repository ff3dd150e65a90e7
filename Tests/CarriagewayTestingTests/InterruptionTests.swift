import Foundation
import Testing

@testable import CarriagewayTesting

/// Requests that are broken off while they come, and bodies that are too large to be kept.
@Suite(.timeLimit(.minutes(10)))
struct InterruptionTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.on("/up") { .text("\($0.body.count)") }
        server.on("/other", .text("other"))
    }

    private func head(_ path: String, _ length: Int) -> String {
        "PUT \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n"
    }

    @Test("the first ones are broken off where the list says, those after them answered")
    func inOrder() throws {
        server.interrupt("/up", after: [3, 5], then: .reset)
        for length in [3, 5] {
            let client = try TestClient(server)
            client.send(head("/up", 1_000) + String(repeating: "x", count: length))
            #expect(client.receiveAll() == (Data(), .reset))
        }
        let client = try TestClient(server)
        client.send(head("/up", 1_000) + String(repeating: "x", count: 1_000))
        #expect(client.response()?.text == "1000")
        #expect(server.requests.map(\.body.count) == [1_000])
    }

    @Test("other paths and shorter bodies are answered; a body that comes at once is broken off too, be it in chunks")
    func whichOnes() throws {
        server.interrupt("/up", after: [10], then: .close)
        let client = try TestClient(server)
        client.send(head("/other", 20) + String(repeating: "x", count: 20))
        #expect(client.response()?.text == "other")
        client.send(head("/up", 9) + String(repeating: "x", count: 9))
        #expect(client.response()?.text == "9")
        client.send("PUT /up?q=1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n")
        #expect(client.receiveAll() == (Data(), .closed))
        #expect(server.requestCount == 2)
    }

    @Test("after a stall nothing more is read")
    func stall() throws {
        server.interrupt("/up", after: [1], then: .stall)
        let client = try TestClient(server)
        client.send(head("/up", 1 << 30) + "x")
        let other = try TestClient(server)
        other.get("/other")
        #expect(other.response()?.text == "other")
        #expect(server.openConnections == 2 && server.requestCount == 1)
        server.stop()
        #expect(client.receiveAll().bytes.isEmpty)
    }

    @Test("a body is sent as often as is said, whole or in pieces, and cut where it is to be", arguments: 0..<5)
    func repeated(kind: Int) throws {
        let text = "abcde"
        let response = LoopbackServer.Response.text(text).repeated(3)
        switch kind {
        case 0: server.on("/r", response)
        case 1: server.on("/r", response.dripped(size: 3, interval: .zero))
        case 2: server.on("/r", response.chunked(size: 4))
        case 3: server.on("/r", response.truncated(after: 7, then: .close))
        default: server.on("/r", response.repeated(0))
        }
        let client = try TestClient(server)
        client.get("/r")
        if kind == 3 {
            let all = String(decoding: client.receiveAll().bytes, as: UTF8.self)
            #expect(all.contains("Content-Length: 15\r\n") && all.hasSuffix("\r\n\r\nabcdeab"))
        } else {
            #expect(client.response()?.text == String(repeating: text, count: kind == 4 ? 0 : 3))
        }
    }

    @Test("a body of gigabytes is not kept")
    func huge() throws {
        server.on("/r", LoopbackServer.Response.data(Data(count: 1 << 20)).repeated(1 << 40))
        let client = try TestClient(server)
        client.send("HEAD /r HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        let head = String(decoding: client.receiveAll().bytes, as: UTF8.self)
        #expect(head.contains("Content-Length: \(1 << 60)\r\n"))
    }
}
