import Foundation
import Testing

@testable import CarriagewayTesting

@Suite("Connections of the loopback server", .timeLimit(.minutes(10)))
struct ConnectionTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.on("/echo") { .data($0.body, contentType: $0.header("Content-Type") ?? "none") }
        server.on("/text", .text("text"))
    }

    private static let getText = "GET /text HTTP/1.1\r\nHost: h\r\n\r\n"

    @Test("many requests go over one connection")
    func keepAlive() throws {
        let client = try TestClient(server)
        for _ in 0..<10 {
            client.get("/text")
            #expect(client.response()?.text == "text")
        }
        #expect(server.connectionCount == 1)
        #expect(server.requests.map(\.connection) == Array(repeating: 1, count: 10))
    }

    @Test("a client that asks for close gets it")
    func connectionClose() throws {
        let client = try TestClient(server)
        client.get("/text", headers: "Connection: X, Close\r\n")
        #expect(client.response()?.header("Connection") == "close")
        #expect(client.receiveAll() == (Data(), .closed))
    }

    @Test("HTTP/1.0 closes unless the client asks to keep the connection")
    func version10() throws {
        let client = try TestClient(server)
        client.send("GET /text HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(client.response()?.header("Connection") == "keep-alive")
        client.send("GET /text HTTP/1.0\r\n\r\n")
        #expect(client.response()?.header("Connection") == "close")
        #expect(client.receiveAll() == (Data(), .closed))
    }

    @Test("HTTP/1.0 gets a chunked body without the coding")
    func version10Chunked() throws {
        server.on("/chunked", .text("abc").chunked(size: 1).trailers([("T", "1")]))
        let client = try TestClient(server)
        client.send("GET /chunked HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        let text = String(decoding: client.receiveAll().bytes, as: UTF8.self)
        #expect(text.hasSuffix("Connection: close\r\n\r\nabc"))
    }

    @Test("bodies come by length and chunked")
    func bodies() throws {
        let client = try TestClient(server)
        client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
        #expect(client.response()?.text == "abc")
        client.send("POST /echo HTTP/1.1\r\nHost: h\r\ncontent-type: x/y\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.send("2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
        let response = client.response()
        #expect(response?.text == "abc" && response?.header("Content-Type") == "x/y")
    }

    @Test("an upload of 20 MB arrives whole")
    func largeUpload() throws {
        let body = Data((0..<(20 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        server.on("/upload") { .text("\($0.body == body)") }
        let client = try TestClient(server)
        client.send("PUT /upload HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.count)\r\n\r\n")
        client.send(body)
        #expect(client.response()?.text == "true")
    }

    @Test("a client that expects 100 gets it before it sends the body")
    func expectContinue() throws {
        let client = try TestClient(server)
        client.send("POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(client.response()?.status == 100)
        client.send("ok")
        #expect(client.response()?.text == "ok")
    }

    @Test("the answer to Expect can be switched off")
    func expectContinueOff() throws {
        server.answersExpectContinue = false
        let client = try TestClient(server)
        client.send("POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        client.send("ok")
        #expect(client.response()?.status == 200)
    }

    @Test("pipelined requests are read ahead and answered in order")
    func pipelining() async throws {
        let gate = LoopbackServer.Gate()
        server.on("/first", .text("first").held(by: gate))
        let client = try TestClient(server)
        client.send("GET /first HTTP/1.1\r\nHost: h\r\n\r\n" + Self.getText + "GET /none HTTP/1.1\r\nHost: h\r\n\r\n")
        try await server.waitForRequests(3)
        #expect(server.peakConcurrency == 3)
        gate.open()
        #expect(client.response()?.text == "first")
        #expect(client.response()?.text == "text")
        #expect(client.response()?.status == 404)
    }

    @Test("a thousand pipelined requests are all answered, though not all are read ahead")
    func deepPipelining() throws {
        let client = try TestClient(server)
        client.send(String(repeating: Self.getText, count: 1000))
        for _ in 0..<1000 { #expect(client.response()?.text == "text") }
        #expect(server.peakConcurrency <= 256)
    }

    @Test("a client that ends its side after the request still gets the answer")
    func halfClose() throws {
        let client = try TestClient(server)
        client.send(Self.getText + Self.getText)
        client.endSending()
        #expect(client.response()?.text == "text")
        #expect(client.response()?.text == "text")
        #expect(client.receiveAll() == (Data(), .closed))
    }

    @Test("malformed requests get 400 with a reason, then the connection closes")
    func malformed() throws {
        for bytes in [
            "nonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\0\0\n", "GET / HTTP/1.1\r\nBad header\r\n" + Self.getText,
        ] {
            let client = try TestClient(server)
            client.send(bytes)
            let response = client.response()
            #expect(response?.status == 400 && response?.body.isEmpty == false)
            #expect(response?.header("Connection") == "close")
            #expect(client.receiveAll() == (Data(), .closed))
        }
        #expect(server.requestCount == 0)
    }

    @Test("a malformed request after a good one leaves the answer to the good one whole")
    func malformedAfterGood() throws {
        let client = try TestClient(server)
        client.send(Self.getText + "nonsense\r\n\r\n")
        #expect(client.response()?.text == "text")
        #expect(client.response()?.status == 400)
    }

    @Test("a body over the limit gets 413, also while the client still sends")
    func bodyLimit() throws {
        server.bodyLimit = 1000
        let client = try TestClient(server)
        client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n")
        client.send(Data(count: 1001))
        #expect(client.response()?.status == 413)
        #expect(client.receiveAll().ending == .closed)
    }

    @Test("a client that sends on after its refusal is not reset, so that it can read the answer")
    func lingering() async throws {
        let client = try TestClient(server)
        client.send("nonsense\r\n")
        #expect(client.response()?.status == 400)
        #expect(client.receiveAll() == (Data(), .closed))
        // On a closed connection the first would be answered with RST, the second fail.
        for _ in 0..<2 { #expect(client.send("more")) }
        client.close()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test("a head over 1 MB gets 431")
    func headLimit() throws {
        let client = try TestClient(server)
        client.send("GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: 1 << 20))
        #expect(client.response()?.status == 431)
    }

    @Test("random bytes never hurt the server")
    func fuzz() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix(state: seed)
        for round in 0..<200 {
            var bytes = Array((Self.getText + "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc").utf8)
            if round.isMultiple(of: 2) {
                bytes = (0..<300).map { _ in .random(in: 0...255, using: &random) }
            } else {
                for _ in 0..<3 {
                    bytes[.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
                }
            }
            let client = try TestClient(server)
            client.send(Data(bytes))
            client.endSending()
            #expect(client.receiveAll().ending != .none, "seed \(seed), round \(round)")
            client.close()
        }
        let client = try TestClient(server)
        client.get("/text")
        #expect(client.response()?.text == "text", "seed \(seed)")
        try await server.waitForOpenConnections(atMost: 1)
    }
}
