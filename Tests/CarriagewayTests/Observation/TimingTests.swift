import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("NetworkAttempt.Timing")
struct TimingTests {
    @Test("the time in line, until sending and until the answer, on a virtual clock")
    func virtual() async throws {
        let stage = Stage { _, _ in .none }
        let queue = NetworkQueue(session: stage.session) { $0.maxConcurrentRequests = 1 }
        queue.send(request("/1"))
        await stage.transport.waitForSent(1)
        let second = queue.send(request("/2"))
        while queue.session.lane.counts(of: queue.laneMember).waiting == 0 { await Task.yield() }
        stage.time.advance(by: .seconds(3))
        stage.transport.complete(1, with: .status(200))
        await stage.transport.waitForSent(2)
        stage.time.advance(by: .seconds(5))
        stage.transport.complete(2, with: .status(200, body: Data("12345".utf8)))
        let timing = try await second.response.attempts.first?.timing
        #expect(timing?.inLine == .seconds(3))
        #expect(timing?.preparing == .zero)
        #expect(timing?.firstByte == .seconds(5))
        #expect(timing?.bytesReceived == 5)
        #expect(timing?.redirects == 0)
    }

    @Test(
        "an attempt that is cancelled on the wire has what was measured until then; one that was not sent has nothing")
    func cancelled() async throws {
        let stage = Stage { _, _ in .none }
        let queue = NetworkQueue(session: stage.session)
        let operation = queue.send(request())
        await stage.transport.waitForSent(1)
        stage.time.advance(by: .seconds(1))
        operation.cancel()
        #expect(operation.attempts.map { $0.timing?.firstByte } == [nil])
        #expect(operation.attempts.first?.timing?.inLine == .zero)
        let failing = NetworkQueue(session: stage.session) {
            $0.prepare = { _ in throw URLError(.badURL) }
            $0.retryPolicy = .never
        }
        let unsent = failing.send(request())
        await unsent.finished()
        #expect(unsent.attempts.count == 1 && unsent.attempts[0].timing == nil)
    }

    @Test("C34: over the wire, by our own clock: redirects, bytes of the bodies, each attempt its own", .overEveryWire)
    func overTheWire() async throws {
        let server = try LoopbackServer()
        server.on("/old", .status(503), .redirect(to: "/new", status: 307))
        server.on("/new", .text("there"))
        let queue = NetworkQueue(session: Wire.session()) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1)
            $0.prepare = { _ in try await Task.sleep(for: .milliseconds(2)) }
        }
        var put = URLRequest(url: server.url("/old"))
        put.httpMethod = "PUT"
        put.httpBody = Data(count: 1_000)
        let timings = try await queue.response(for: put).attempts.map(\.timing)
        #expect(timings.map { $0?.redirects } == [0, 1])
        #expect(timings.map { $0?.bytesSent } == [1_000, 1_000])
        #expect((timings[1]?.bytesReceived ?? 0) >= 5)
        #expect(timings.allSatisfy { ($0?.preparing ?? .zero) >= .milliseconds(2) && ($0?.firstByte ?? .zero) > .zero })
    }
}
