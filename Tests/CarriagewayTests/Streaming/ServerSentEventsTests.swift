import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Event streams over real sockets.
@Suite(.overEveryWire)
struct ServerSentEventsTests {
    private let server: LoopbackServer
    private let queue: NetworkQueue

    init() throws {
        server = try LoopbackServer()
        queue = NetworkQueue(session: Wire.session()) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 2)
        }
    }

    private func stream(_ text: String) -> LoopbackServer.Response {
        .data(Data(text.utf8), contentType: "text/event-stream; charset=utf-8")
    }

    private func collect(_ path: String, limit: Int = .max) async throws -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for try await event in queue.events(for: URLRequest(url: server.url(path))) {
            events.append(event)
            if events.count == limit { break }
        }
        return events
    }

    @Test("it connects again with the last identifier after the server's own wait, until the server says 204")
    func reconnects() async throws {
        server.on(
            "/s", stream("retry: 1\n\nid: 1\ndata: a\n\n"), stream("id: 2\ndata: b\n\nid: 3\ndata: cut off"),
            stream("data: c\n\n").truncated(after: 9, then: .close), .empty(204))
        let events = try await collect("/s")
        #expect(events == [.init(data: "a", id: "1"), .init(data: "b", id: "2"), .init(data: "c", id: "2")])
        #expect(server.requests.map { $0.header("Last-Event-ID") } == [nil, "1", "2", "2"])
        #expect(server.requests.allSatisfy { $0.header("Accept") == "text/event-stream" })
    }

    @Test("another status or another type ends it with an error")
    func wrongAnswers() async throws {
        server.on("/html", .text("<html>"))
        server.on("/gone", .text("gone", status: 410))
        server.on("/created", stream("data: x\n\n"))
        server.on("/created", LoopbackServer.Response(status: 201, headers: [("Content-Type", "text/event-stream")]))
        for (path, name) in [
            ("/html", "unacceptableResponse"), ("/gone", "endpointError"), ("/created", "unacceptableResponse"),
        ] {
            let error = await #expect(throws: NetworkError.self) { try await collect(path) }
            #expect(error?.name == name)
        }
    }

    @Test("a lost connection is as one that ended; a server that cannot be reached is an error")
    func lost() async throws {
        server.on("/s", stream("retry: 1\ndata: a\n\n").truncated(after: 18, then: .reset), .empty(204))
        #expect(try await collect("/s").map(\.data).count <= 1)
        server.on("/down", .status(503))
        let error = await #expect(throws: NetworkError.self) { try await collect("/down") }
        #expect(error?.name == "inaccessible")
        #expect(server.requests(to: "/down").count == 3)
    }

    @Test("leaving the loop closes the connection; cancelling during the wait ends at once")
    func leaving() async throws {
        server.on("/s", stream("data: a\n\ndata: b\n\n").truncated(after: 9, then: .stall))
        #expect(try await collect("/s", limit: 1) == [.init(data: "a")])
        try await server.waitForOpenConnections(atMost: 0)
        server.on("/wait", stream("retry: 3600000\ndata: a\n\n"))
        let hasRead = Counter()
        let task = Task { [queue, server] in
            for try await _ in queue.events(for: URLRequest(url: server.url("/wait"))) { hasRead.increment() }
        }
        await hasRead.wait(for: 1)
        try await server.waitUntilIdle()
        task.cancel()
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.isCancelled == true)
    }
}
