import Carriageway
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Early retry")
struct EarlyRetryTests {
    /// A queue whose retries wait for an hour, on a stage where "/good" succeeds and the rest is answered by hand.
    private func makeQueue(
        _ stage: Stage, _ configure: (inout NetworkQueue.Configuration) -> Void = { _ in }
    ) -> NetworkQueue {
        NetworkQueue(session: stage.session) {
            $0.retryPolicy = .fixed(interval: .seconds(3_600), maxRetries: 5)
            configure(&$0)
        }
    }

    /// Fails once for each path but "/good".
    private func failingOnce(_ failure: StubTransport.Answer) -> @Sendable (URLRequest, Int) -> StubTransport.Answer {
        let seen = Locked<Set<String>>([])
        return { request, _ in
            guard let path = request.url?.path, path != "/good" else { return .status(200) }
            return seen.withLock { $0.insert(path).inserted } ? failure : .status(200)
        }
    }

    @Test("a request in backoff goes at once when another to the same host succeeds")
    func anotherSucceeds() async throws {
        let stage = Stage(answer: failingOnce(.failure(.timedOut)))
        let queue = makeQueue(stage)
        let waiting = queue.send(request("/a"))
        let elsewhere = queue.send(request("/b", host: "other.test"))
        await stage.time.waitForTimers(2)
        _ = try await queue.data(for: request("/good"))
        #expect(try await waiting.response.attempts.count == 2)
        #expect(stage.time.elapsed == .zero)
        #expect(elsewhere.result == nil)
        elsewhere.cancel()
    }

    @Test("all that wait have gone soon, two for each success, and each is sent once")
    func rampUp() async throws {
        let stage = Stage(answer: failingOnce(.failure(.cannotConnectToHost)))
        let queue = makeQueue(stage)
        let waiting = (0..<30).map { queue.send(request("/\($0)")) }
        await stage.time.waitForTimers(30)
        _ = try await queue.data(for: request("/good"))
        for operation in waiting { #expect(try await operation.response.attempts.count == 2) }
        #expect(stage.transport.sent.count == 61)
    }

    @Test(
        "not one that the server told when to come, nor one after 429 and 503",
        arguments: [
            (.status(429), 1), (.status(503), 1), (.status(408, headers: ["Retry-After": "50"]), 1),
            // The host is held, by a timer of its own that is set first.
            (.status(503, headers: ["Retry-After": "50"]), 2),
        ] as [(StubTransport.Answer, Int)])
    func serverSaidWhen(answer: StubTransport.Answer, timers: Int) async throws {
        let stage = Stage(answer: failingOnce(answer))
        let queue = makeQueue(stage)
        let waiting = queue.send(request("/a"))
        await stage.time.waitForTimers(timers)
        // Over another queue of the session, since the host may be held.
        _ = try await stage.session.data(for: request("/good"))
        #expect(waiting.attempts.count == 1)
        #expect(stage.transport.sent.count == 2)
        waiting.cancel()
    }

    @Test("not where the caller's policy named the wait, nor where it is switched off", arguments: [true, false])
    func callerSaidWhen(isOff: Bool) async throws {
        let stage = Stage(answer: failingOnce(.failure(.timedOut)))
        let queue = makeQueue(stage) {
            $0.retriesEarly = !isOff
            if !isOff { $0.retryPolicy = .custom { _ in .retryAfter(.seconds(3_600)) } }
        }
        let waiting = queue.send(request("/a"))
        await stage.time.waitForTimers(1)
        _ = try await queue.data(for: request("/good"))
        #expect(stage.transport.sent.count == 2)
        stage.time.advance(by: .seconds(3_600))
        #expect(try await waiting.response.attempts.count == 2)
    }

    @Test("when the network is back, two to each host go, and their success lets the others go")
    func networkReturns() async throws {
        let stage = Stage(answer: failingOnce(.failure(.notConnectedToInternet)))
        let queue = makeQueue(stage)
        let waiting = (0..<5).map { queue.send(request("/\($0)")) }
        let elsewhere = queue.send(request("/b", host: "other.test"))
        await stage.time.waitForTimers(6)
        stage.session.networkReturned()
        for operation in waiting + [elsewhere] { #expect(try await operation.response.attempts.count == 2) }
        #expect(stage.time.elapsed == .zero)
    }

    @Test("C13 one that is cancelled while it waits is not sent, and its host's budget gets the retry back")
    func cancelled() async throws {
        let stage = Stage(answer: failingOnce(.failure(.timedOut)))
        let queue = makeQueue(stage)
        let waiting = queue.send(request("/a"))
        await stage.time.waitForTimers(1)
        waiting.cancel()
        _ = try await queue.data(for: request("/good"))
        await waiting.finished()
        #expect(waiting.result?.isCancelled ?? false)
        #expect(stage.transport.sent.count == 2)
        #expect(stage.session.spending.withLock { $0.spent.isEmpty })
        stage.time.advance(by: .seconds(7_200))
        #expect(stage.transport.sent.count == 2)
    }

    @Test("on a suspended queue it stands in line until that is resumed")
    func suspended() async throws {
        let stage = Stage(answer: failingOnce(.failure(.timedOut)))
        let queue = makeQueue(stage)
        let waiting = queue.send(request("/a"))
        await stage.time.waitForTimers(1)
        queue.isSuspended = true
        _ = try await stage.session.data(for: request("/good"))
        #expect(stage.transport.sent.count == 2)
        queue.isSuspended = false
        #expect(try await waiting.response.attempts.count == 2)
    }

    @Test("C30 in an outage that successes interrupt, early retries spend no more than the budget")
    func budget() async throws {
        let stage = Stage { request, _ in request.url?.path == "/good" ? .status(200) : .failure(.timedOut) }
        let queue = makeQueue(stage) { $0.retryPolicy = .fixed(interval: .seconds(3_600), maxRetries: 1_000) }
        let waiting = (0..<10).map { queue.send(request("/\($0)")) }
        await stage.time.waitForTimers(10)
        var successes = 0
        while waiting.contains(where: { $0.result == nil }) {
            // Successes that outnumber the retries would pay for them for ever.
            while stage.session.earlyRetries.count < waiting.count(where: { $0.result == nil }) { await Task.yield() }
            successes += 1
            _ = try await queue.data(for: request("/good"))
        }
        // 500 tokens and one for each success, at 14 a retry.
        let retries = stage.transport.sent.count - successes - 10
        #expect(retries <= (500 + successes) / 14)
    }
}
