import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sharing, rates, early retries and observation, which have their own suites on a virtual clock, over real sockets.
@Suite(.overEveryWire)
struct FlowOverTheWireTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    @Test("wanted next: twenty equal GETs are one request, and all get its answer")
    func sharing() async throws {
        let gate = LoopbackServer.Gate()
        server.on("/", .text("one").held(by: gate))
        let queue = NetworkQueue(session: Wire.session()) { $0.sharesEqualRequests = true }
        let operations = (0..<20).map { _ in queue.send(URLRequest(url: server.url())) }
        try await gate.waitForArrivals(1)
        while operations.contains(where: { $0.shared.withLock { $0.transfer } == nil }) {
            try await Task.sleep(for: .milliseconds(2))
        }
        operations[3].cancel()
        gate.open()
        for (number, operation) in operations.enumerated() where number != 3 {
            #expect(try await operation.response.data == Data("one".utf8))
        }
        #expect(server.requestCount == 1)
    }

    @Test("a rate is kept to, whatever the server is ready for")
    func rate() async throws {
        server.on("/", .text("x"))
        let queue = NetworkQueue(session: Wire.session()) {
            $0.rateLimit = RateLimit(requestsPerSecond: 50, burst: 5)
        }
        let start = ContinuousClock.now
        let operations = (0..<20).map { _ in queue.send(URLRequest(url: server.url())) }
        for operation in operations { _ = try await operation.response }
        // Fifteen beyond the burst, one each 20 ms.
        #expect(ContinuousClock.now - start >= .milliseconds(300))
        #expect(server.requestCount == 20)
    }

    @Test("C28: a 429 is waited out by all to that host, as long as it says")
    func retryAfter() async throws {
        server.on("/", .status(429, headers: ["Retry-After": "1"]), .text("x"))
        server.on("/other", .text("y"))
        let queue = NetworkQueue(session: Wire.session())
        let first = queue.send(URLRequest(url: server.url()))
        while first.attempts.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        let other = queue.send(URLRequest(url: server.url("/other")))
        #expect(try await first.response.attempts.count == 2)
        #expect(try await other.response.attempts.count == 1)
        let arrivals = server.requests.map(\.arrived)
        #expect(arrivals.count == 3)
        #expect(arrivals.dropFirst().allSatisfy { $0 - arrivals[0] >= .milliseconds(990) })
    }

    @Test("a request in backoff goes at once when another to the same host succeeds")
    func earlyRetry() async throws {
        server.on("/", .status(500), .text("x"))
        server.on("/good", .text("y"))
        let queue = NetworkQueue(session: Wire.session()) {
            $0.retryPolicy = .fixed(interval: .seconds(3_600), maxRetries: 1)
        }
        let waiting = queue.send(URLRequest(url: server.url()))
        while queue.session.earlyRetries.count == 0 { try await Task.sleep(for: .milliseconds(2)) }
        _ = try await queue.data(for: URLRequest(url: server.url("/good")))
        #expect(try await waiting.response.attempts.count == 2)
    }

    @Test("an observer is told of each step of a request that is led on and sent again, in order")
    func observation() async throws {
        server.on("/start", .status(503), .redirect(to: "/end", status: 307))
        server.on("/end", .text("there"))
        let log = EventLog()
        let queue = NetworkQueue(session: Wire.session()) {
            $0.observers = [log]
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1)
        }
        let operation = queue.send(URLRequest(url: server.url("/start")))
        await log.ends.wait(for: 1)
        #expect(
            log.words(of: operation) == [
                "created", "in line", "on wire", "response 503", "retry", "in line", "on wire", "response 307",
                "redirect 307", "response 200", "finished 200",
            ])
    }
}
