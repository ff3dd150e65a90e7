import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The examples in the comments of CarriagewayTesting's public symbols, as they stand there; `PagesTests` compares them.
struct TestingExampleTests {
    private struct User: Codable, Sendable, Equatable { var name: String }

    @Test("a server on real sockets, its answers, a gate")
    func server() async throws {
        let server = try LoopbackServer()
        server.on("/users") { request in
            .text("hello \(request.query["name"] ?? "")")
        }
        server.on("/flaky", .status(503), .reset, .text("ok"))

        let url = server.url("/users?name=Ada")
        let (data, _) = try await URLSession.shared.data(from: url)
        try await server.waitForRequests(1, to: "/users")
        #expect(String(decoding: data, as: UTF8.self) == "hello Ada")

        server.on(
            "/report", .status(503).header("Retry-After", "1"),
            .text("done").delayed(.milliseconds(50)))
        let queue = NetworkQueue { $0.retryPolicy = .never }
        let refused = await failure { () async throws(NetworkError) in
            try await queue.data(for: URLRequest(url: server.url("/report")))
        }
        #expect(refused?.response?.value(forHTTPHeaderField: "Retry-After") == "1")
        #expect(try await queue.data(for: URLRequest(url: server.url("/report"))) == Data("done".utf8))

        let gate = LoopbackServer.Gate()
        server.on("/slow", .text("at last").held(by: gate))
        let waiting = queue.send(URLRequest(url: server.url("/slow")))
        try await gate.waitForArrivals(1)
        gate.open()
        #expect(try await waiting.response.data == Data("at last".utf8))
    }

    @Test("a stub in place of the network, a clock that stands still, recorded responses")
    func stub() async throws {
        @Sendable func code(under client: APIClient) async throws {
            try await client.send(.get("/users/1", as: User.self))
        }
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("recorded.json")
        do {
            let stub = StubTransport()
            stub.on(.get, "/users/1", .json(User(name: "Ada")))
            stub.on(
                "/flaky", .status(503), .failure(.timedOut),
                .text("third time lucky"))
            let client = APIClient(
                baseURL: "https://api.example.com",
                queue: NetworkQueue(session: NetworkSession(stub: stub)))
            try await code(under: client)
            #expect(stub.requests.map(\.httpMethod) == ["GET"])
            #expect(stub.unexpectedRequests.isEmpty)
        }
        let server = try LoopbackServer()
        server.on("/flaky", .status(503), .text("there"))
        let (stub, request) = (StubTransport(), URLRequest(url: server.url("/flaky")))
        stub.on("/flaky", .status(503), .text("there"))
        do {
            let time = VirtualTime()
            let session = NetworkSession(stub: stub, time: time)
            let queue = NetworkQueue(session: session)
            let operation = queue.send(request)  // answered with 503
            await time.waitForTimers(1)  // the retry is set
            time.advance(by: time.nextDelay ?? .zero)
            #expect(try await operation.response.data == Data("there".utf8))
        }
        let queue = NetworkQueue { $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1) }
        do {
            // Once, against the server:
            let response = try await queue.response(for: request)
            try RecordedResponse.write([RecordedResponse(response)], to: file)
        }
        do {
            let stub = StubTransport()
            // In the tests:
            for recorded in try RecordedResponse.read(from: file) {
                stub.replay(recorded)
            }
            #expect(try await NetworkSession(stub: stub).data(for: request) == Data("there".utf8))
        }
    }
}
