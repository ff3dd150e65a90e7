import Foundation
import Testing

@testable import CarriagewayTesting

@Suite("The loopback server", .timeLimit(.minutes(10)))
struct LoopbackServerTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func get(_ path: String, method: String = "GET", from client: TestClient? = nil) throws -> String? {
        let client = try client ?? TestClient(server)
        client.get(path, method: method)
        return client.response(toHead: method == "HEAD")?.text
    }

    // MARK: Routes

    @Test("URLs lead to the server, whatever the path")
    func urls() {
        let base = "http://127.0.0.1:\(server.port)"
        #expect(server.url("/path?x=1").absoluteString == base + "/path?x=1")
        #expect(server.url().absoluteString == base + "/")
        #expect(server.url("path").absoluteString == base + "/path")
        #expect(server.url("/a%20b c/ü").absoluteString == base + "/a%20b%20c/%C3%BC")
    }

    @Test("a handler sees the request as it was sent")
    func handler() throws {
        server.on("/a b") { request in
            .text("\(request.method) \(request.target) \(request.query["x"] ?? "") \(request.header("HOST") ?? "")")
        }
        #expect(try get("/a%20b?x=%31&y", method: "PATCH") == "PATCH /a%20b?x=%31&y 1 localhost")
        #expect(server.requests.first?.path == "/a b")
    }

    @Test("a script answers one after the other and repeats its last")
    func script() throws {
        server.on("/flaky", .status(503), .reset, .text("ok"))
        #expect(try get("/flaky") == "")
        #expect(try get("/flaky") == nil)
        #expect(try get("/flaky") == "ok")
        #expect(try get("/flaky") == "ok")
        server.on("POST", "/flaky", script: [.text("posted")])
        #expect(try get("/flaky", method: "POST") == "posted")
        server.on("/flaky", .text("again"))
        #expect(try get("/flaky") == "again")
    }

    @Test("what no route matches is 404")
    func unmatched() throws {
        server.on("POST", "/a") { _ in .text("a") }
        server.on("/empty", script: [])
        server.on("/users/*") { .text($0.path) }
        for path in ["/a", "/b", "/empty", "/users"] {
            let client = try TestClient(server)
            client.get(path)
            #expect(client.response()?.status == 404)
        }
        #expect(try get("/users/1/x?y=z") == "/users/1/x")
    }

    @Test("a handler may change routes and read records")
    func reentrantHandler() throws {
        server.on("/once") { [weak server] _ in
            server?.on("/once", .text("later"))
            return .text("\(server?.requestCount ?? 0)")
        }
        #expect(try get("/once") == "1")
        #expect(try get("/once") == "later")
    }

    // MARK: Records

    @Test("requests are recorded in order, by path, with their connection")
    func records() async throws {
        let client = try TestClient(server)
        for path in ["/a?1", "/b", "/a?2"] { _ = try get(path, from: client) }
        _ = try get("/a")
        #expect(server.requests.map(\.target) == ["/a?1", "/b", "/a?2", "/a"])
        #expect(server.requests.map(\.number) == [1, 2, 3, 4])
        #expect(server.requests.map(\.connection) == [1, 1, 1, 2])
        #expect(server.requests(to: "/a").map(\.target) == ["/a?1", "/a?2", "/a"])
        #expect(zip(server.requests, server.requests.dropFirst()).allSatisfy { $0.arrived <= $1.arrived })
        #expect(server.requestCount == 4 && server.connectionCount == 2)
        try await server.waitUntilIdle()
        server.resetRecords()
        #expect(server.requests.isEmpty && server.requestCount == 0 && server.peakConcurrency == 0)
        server.recordsRequests = false
        _ = try get("/a")
        #expect(server.requests.isEmpty && server.requestCount == 1)
    }

    @Test("waiting for requests counts all or those to one path")
    func waitForRequests() async throws {
        async let all: Void = server.waitForRequests(3)
        async let some: Void = server.waitForRequests(1, to: "/b")
        for path in ["/a", "/b?x", "/c"] { _ = try get(path) }
        try await all
        try await some
        try await server.waitForRequests(0)
        #expect(server.waitForRequestsBlocking(3, timeout: .seconds(60)))
        #expect(!server.waitForRequestsBlocking(2, to: "/b", timeout: .milliseconds(1)))
    }

    @Test("a blocked wait ends with the request that it waits for, or when the server stops")
    func waitForRequestsBlocking() async throws {
        let outcomes = (met: LoopbackServer.Gate(), stopped: LoopbackServer.Gate())
        let thread = Thread { [server] in
            if server.waitForRequestsBlocking(1, to: "/a", timeout: .seconds(60)) { _ = outcomes.met.arrive {} }
            if !server.waitForRequestsBlocking(2, timeout: .seconds(60)) { _ = outcomes.stopped.arrive {} }
        }
        thread.start()
        _ = try get("/a")
        try await outcomes.met.waitForArrivals(1)
        server.stop()
        try await outcomes.stopped.waitForArrivals(1)
    }

    @Test("a cancelled wait throws CancellationError")
    func cancelledWait() async throws {
        let task = Task { [server] in try await server.waitForRequests(1) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("the peak of concurrency counts requests without their whole answer, in all and by path")
    func peakConcurrency() async throws {
        let gate = LoopbackServer.Gate()
        server.on("/held", .text("").held(by: gate))
        let clients = try (0..<4).map { _ in try TestClient(server) }
        for client in clients { client.get("/held") }
        try await gate.waitForArrivals(4)
        _ = try get("/free")
        gate.open()
        for client in clients { #expect(client.response() != nil) }
        #expect(server.peakConcurrency == 5)
        #expect(server.peakConcurrency(of: "/held") == 4)
        #expect(server.peakConcurrency(of: "/free") == 1)
        try await server.waitUntilIdle()
        _ = try get("/held")
        #expect(server.peakConcurrency == 5)
    }

    // MARK: End

    @Test("stop closes all connections, ends all waits, and can be repeated")
    func stop() async throws {
        let gate = LoopbackServer.Gate()
        server.on("/hang", .hang)
        server.on("/held", .text("").held(by: gate))
        server.on("/large", .data(Data(count: 50 << 20)))
        let clients = try ["/hang", "/held", "/large", "/none"].map { path in
            let client = try TestClient(server)
            client.get(path)
            return client
        }
        let idle = try TestClient(server)
        try await server.waitForRequests(4)
        try await gate.waitForArrivals(1)
        let wait = Task { [server] in try await server.waitForRequests(9) }
        server.stop()
        server.stop()
        for client in clients + [idle] { #expect(client.receiveAll().ending != .none) }
        await #expect(throws: LoopbackServer.Failure.stopped) { try await wait.value }
        await #expect(throws: LoopbackServer.Failure.stopped) { try await server.waitUntilIdle() }
        #expect(!server.waitForRequestsBlocking(9, timeout: .seconds(60)))
        #expect(server.openConnections == 0 && gate.waitingCount == 0 && server.requests.count == 4)
        gate.open()
        server.on("/late", .text(""))
    }

    @Test("a server that nobody holds stops by itself")
    func deinitStops() throws {
        var server: LoopbackServer? = try LoopbackServer()
        weak let released = server
        let client = try TestClient(#require(server))
        server?.on("/") { _ in .text("hi") }
        client.get("/")
        #expect(client.response()?.text == "hi")
        server = nil
        #expect(released == nil)
        #expect(client.receiveAll() == (Data(), .closed))
    }

    @Test("a handler may stop the server, or let go the last reference to it")
    func stopFromHandler() throws {
        server.on("/stop") { [weak server] _ in
            server?.stop()
            return .text("bye")
        }
        let client = try TestClient(server)
        client.get("/stop")
        #expect(client.receiveAll().ending != .none)
        server.stop()

        let holder = Holder(try LoopbackServer())
        let other = try TestClient(#require(holder.server))
        holder.server?.on("/") { _ in
            holder.server = nil
            return .text("bye")
        }
        other.get("/")
        #expect(other.receiveAll().ending != .none)
    }

    @Test("failures say in words what happened")
    func failures() {
        let failure = LoopbackServer.Failure.system(call: "bind", code: 98)
        #expect(failure.localizedDescription.contains("bind failed"))
        #expect("\(LoopbackServer.Failure.stopped)" == "LoopbackServer has stopped")
    }
}

/// Holds a server for a handler to let go. The reference is guarded by `lock`.
private final class Holder: @unchecked Sendable {
    private let lock = NSLock()
    private var held: LoopbackServer?

    init(_ server: LoopbackServer) {
        held = server
    }

    var server: LoopbackServer? {
        get { lock.withLock { held } }
        set {
            // Released outside the lock.
            let old = lock.withLock {
                defer { held = newValue }
                return held
            }
            withExtendedLifetime(old) {}
        }
    }
}
