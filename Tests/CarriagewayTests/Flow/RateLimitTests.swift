import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("RateLimit")
struct RateLimitTests {
    @Test("a burst is sent at once, the rest at the rate, retries too, and one timer is set at a time")
    func rate() async {
        let stage = Stage { _, identifier in identifier == 1 ? .status(500) : .status(200) }
        let queue = NetworkQueue(session: stage.session) {
            $0.rateLimit = RateLimit(requestsPerSecond: 10, burst: 3)
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1)
        }
        let operations = (0..<10).map { queue.send(request("/\($0)")) }
        await stage.transport.waitForSent(3)
        // The retry has been one of the three, or is in line.
        await Self.wait { queue.session.lane.counts(of: queue.laneMember).waiting == 8 }
        await stage.time.waitForTimers(1)
        for count in 4...11 {
            stage.time.advance(by: .milliseconds(99))
            #expect(stage.transport.sent.count == count - 1)
            stage.time.advance(by: .milliseconds(1))
            await stage.transport.waitForSent(count)
        }
        for operation in operations { await operation.finished() }
        #expect(operations.allSatisfy { $0.result?.error == nil })
    }

    @Test("C28 a 429 with Retry-After holds the host, and then the rate to it is half")
    func learns() async {
        let stage = Stage { _, identifier in
            identifier == 1 ? .status(429, headers: ["Retry-After": "5"]) : .status(200)
        }
        let queue = NetworkQueue(session: stage.session) {
            $0.rateLimitPerHost = RateLimit(requestsPerSecond: 10)
            $0.retryPolicy = .never
        }
        await queue.send(request()).finished()
        let operations = (0..<5).map { queue.send(request("/\($0)")) }
        await Self.wait { queue.session.lane.counts(of: queue.laneMember).waiting == 5 }
        stage.time.advance(by: .milliseconds(4_999))
        #expect(stage.transport.sent.count == 1)
        stage.time.advance(by: .milliseconds(1))
        await stage.transport.waitForSent(2)
        stage.time.advance(by: .milliseconds(199))
        #expect(stage.transport.sent.count == 2)
        stage.time.advance(by: .milliseconds(1))
        await stage.transport.waitForSent(3)
        stage.time.advance(by: .seconds(1))
        for operation in operations { await operation.finished() }
    }

    @Test("a suspended queue, a Retry-After and the rate do not undo one another")
    func holds() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session) { $0.rateLimit = RateLimit(requestsPerSecond: 1) }
        await queue.send(request()).finished()
        stage.session.lane.hold(host: request().hostKey, until: stage.time.moment.advanced(by: .seconds(3)))
        let waiting = queue.send(request())
        await Self.wait { queue.session.lane.counts(of: queue.laneMember).waiting == 1 }
        stage.time.advance(by: .seconds(1))
        #expect(stage.transport.sent.count == 1)
        queue.isSuspended = true
        stage.time.advance(by: .seconds(2))
        #expect(stage.transport.sent.count == 1)
        queue.isSuspended = false
        await waiting.finished()
        let next = queue.send(request())
        await Self.wait { queue.session.lane.counts(of: queue.laneMember).waiting == 1 }
        #expect(stage.transport.sent.count == 2)
        stage.time.advance(by: .seconds(1))
        await next.finished()
    }

    /// Returns once `condition` holds.
    private static func wait(until condition: () -> Bool) async {
        while !condition() { await Task.yield() }
    }
}
