import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// How large a response may be.
@Suite(.overEveryWire)
struct LimitTests {
    private let server: LoopbackServer
    private let queue = NetworkQueue(session: Wire.session()) {
        $0.retryPolicy = .never
        $0.maxResponseSize = 1_000
    }

    init() throws { server = try LoopbackServer() }

    private func error(_ path: String) async -> NetworkError? {
        let request = URLRequest(url: server.url(path))
        return await failure { () async throws(NetworkError) in try await queue.response(for: request) }
    }

    private static func body(_ count: Int) -> LoopbackServer.Response {
        .data(Data(repeating: 65, count: count))
    }

    @Test("C34 a Content-Length over the limit ends the request at once, before the body")
    func announced() async throws {
        server.on("/", Self.body(1_001).truncated(after: 0, then: .stall))
        guard case .responseTooLarge(1_000) = await error("/") else {
            Issue.record("not too large")
            return
        }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test("C34 a body that grows past it is stopped, and its connection closed")
    func growing() async throws {
        // A pause now and then: without one Foundation has read it all before the first byte reaches its delegate.
        server.on("/", Self.body(200_000_000).chunked(interval: .milliseconds(1), size: 20_000))
        guard case .responseTooLarge(1_000) = await error("/") else {
            Issue.record("not too large")
            return
        }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test("what counts are the bytes after decompression")
    func compressed() async throws {
        // 100,000 letters A: 100 times smaller on the wire than in memory, and below the limit there.
        let bomb = Data(base64Encoded: Self.bomb) ?? Data()
        #expect(bomb.count < 1_000)
        server.on("/", LoopbackServer.Response.data(bomb).header("Content-Encoding", "gzip"))
        guard case .responseTooLarge(1_000) = await error("/") else {
            Issue.record("not too large")
            return
        }
        let operation = NetworkOperation(URLRequest(url: server.url()))
        operation.maxResponseSize = 100_000
        queue.addOperation(operation)
        #expect(try await operation.response.data.count == 100_000)
    }

    @Test("a body of just that size passes, and an operation's own limit comes first")
    func exact() async throws {
        server.on("/exact", Self.body(1_000))
        server.on("/chunks", Self.body(1_000).chunked(size: 99))
        server.on("/more", Self.body(5_000))
        for path in ["/exact", "/chunks"] {
            #expect(try await queue.data(for: URLRequest(url: server.url(path))).count == 1_000)
        }
        let operation = NetworkOperation(URLRequest(url: server.url("/more")))
        operation.maxResponseSize = 5_000
        queue.addOperation(operation)
        #expect(try await operation.response.data.count == 5_000)
    }

    @Test("a length without a body is none: HEAD, 304")
    func lengthWithoutBody() async throws {
        server.on("/large", Self.body(5_000))
        server.on("/cached", .status(304, headers: ["Content-Length": "5000"]))
        var head = URLRequest(url: server.url("/large"))
        head.httpMethod = "HEAD"
        #expect(try await queue.response(for: head).http.expectedContentLength == 5_000)
        #expect(try await queue.response(for: URLRequest(url: server.url("/cached"))).statusCode == 304)
    }

    @Test("an error's body counts too, and too large is not transient")
    func errorBody() async throws {
        server.on("/", .status(503, body: Data(count: 2_000)))
        let error = try #require(await error("/"))
        #expect(error.name == "responseTooLarge" && !error.shouldRetry)
    }

    @Test("the body of a redirect that is followed is nobody's")
    func redirectBody() async throws {
        server.on("/start", .status(302, headers: ["Location": "/end"], body: Data(count: 3_000)))
        server.on("/end", .text("end"))
        #expect(try await queue.data(for: URLRequest(url: server.url("/start"))) == Data("end".utf8))
    }

    @Test("a redirect with an endless body is not waited for")
    func endlessRedirectBody() async throws {
        let stage = Stage()
        let operation = NetworkOperation(request("/start"), session: stage.session)
        operation.start()
        await stage.transport.waitForSent(1)
        let first = stage.transport.sent[0].identifier
        stage.session.router.task(
            first, received: Made.response(302, ["Location": "/next"], url: "http://stub.test/start"))
        for _ in 0..<10 { stage.session.router.task(first, received: Data(count: 10_000)) }
        await stage.transport.waitForSent(2)
        operation.cancel()
    }

    @Test("a limit below 0 counts as 0: no body at all")
    func negative() async throws {
        server.on("/empty", .empty(204))
        server.on("/full", .text("x"))
        let queue = NetworkQueue(session: Wire.session()) { $0.maxResponseSize = -5 }
        #expect(queue.configuration.maxResponseSize == 0)
        #expect(try await queue.data(for: URLRequest(url: server.url("/empty"))).isEmpty)
        let full = URLRequest(url: server.url("/full"))
        let error = await failure { () async throws(NetworkError) in try await queue.data(for: full) }
        guard case .responseTooLarge(0) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    private static let bomb =
        "H4sIAAAAAAACA+3BMQEAAADCoGzrX8oaHkABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAArwbXn4oFoIYBAA=="
}
