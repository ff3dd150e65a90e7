import Foundation
import Testing

@testable import CarriagewayTesting

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("The loopback server under load", .timeLimit(.minutes(10)))
struct LoadTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.on("/text", .text("text"))
    }

    // Not more: with about 1,360 descriptors open, Foundation's Process.run(), which other tests call meanwhile, reads past
    // the end of its list of them and may end the process.
    @Test("300 connections are held and answered at once")
    func manyConnections() async throws {
        let gate = LoopbackServer.Gate()
        server.on("/held") { .text($0.query["n"] ?? "").held(by: gate) }
        let clients = try (0..<300).map { _ in try TestClient(server) }
        for (number, client) in clients.enumerated() { client.get("/held?n=\(number)") }
        try await gate.waitForArrivals(300)
        #expect(server.openConnections == 300 && server.peakConcurrency == 300)
        gate.open()
        for (number, client) in clients.enumerated() { #expect(client.response()?.text == "\(number)") }
        for client in clients { client.close() }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test("a body of 100 MB that nobody reads does not hold up others, and arrives whole when read")
    func largeBody() async throws {
        let size = 100 << 20
        server.on("/large", .data(Data(repeating: 7, count: size)).closing)
        let slow = try TestClient(server)
        slow.get("/large")
        try await server.waitForRequests(1)
        let quick = try TestClient(server)
        for _ in 0..<10 {
            quick.get("/text")
            #expect(quick.response()?.text == "text")
        }
        #expect(slow.response(toHead: true)?.header("Content-Length") == "\(size)")
        var count = 0
        while let bytes = slow.receive() { count += bytes.count }
        #expect(count == size)
    }

    @Test("a client that leaves in mid-response ends its answer and nothing else", arguments: [false, true])
    func clientLeaves(byReset: Bool) async throws {
        server.on("/large", .data(Data(count: 50 << 20)))
        server.on("/dripped", .data(Data(count: 1 << 20)).dripped(size: 1, interval: .milliseconds(1)))
        for path in ["/large", "/dripped"] {
            let client = try TestClient(server)
            client.get(path)
            _ = client.receive(count: 200)
            if byReset { client.reset() } else { client.close() }
        }
        try await server.waitUntilIdle()
        try await server.waitForOpenConnections(atMost: 0)
        let client = try TestClient(server)
        client.get("/text")
        #expect(client.response()?.text == "text")
    }

    @Test("URLSession gets, posts and follows redirects")
    func urlSession() async throws {
        server.on("POST", "/echo") { .data($0.body, contentType: $0.header("Content-Type") ?? "") }
        server.on("/moved", .redirect(to: "/text", status: 301))
        server.on("/chunked", .text("abcdef").chunked(interval: .milliseconds(1), size: 2))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        func text(_ path: String, body: Data? = nil) async throws -> String {
            var request = URLRequest(url: server.url(path))
            request.httpMethod = body == nil ? "GET" : "POST"
            request.setValue("text/x", forHTTPHeaderField: "Content-Type")
            request.httpBody = body
            return try await withCheckedThrowingContinuation { continuation in
                session.dataTask(with: request) { data, _, error in
                    if let error { return continuation.resume(throwing: error) }
                    continuation.resume(returning: String(decoding: data ?? Data(), as: UTF8.self))
                }.resume()
            }
        }
        #expect(try await text("/text?q=1") == "text")
        #expect(try await text("/moved") == "text")
        #expect(try await text("/chunked") == "abcdef")
        let body = Data(repeating: 65, count: 100_000)
        #expect(try await text("/echo", body: body).utf8.count == 100_000)
        #expect(server.requests(to: "/echo").first?.body == body)
        #expect(server.requests(to: "/text").count == 2)
    }
}
