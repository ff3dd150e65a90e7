import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Slots, priorities and suspension; case C36.
struct SuspensionTests {
    @Test("a suspended queue lets nothing new out: not what is new, in line, or due for a retry; the rest runs on")
    func suspension() async {
        let stage = Stage { request, identifier in
            request.url?.path == "/retry" && identifier == 1 ? .status(503) : .none
        }
        let queue = NetworkQueue(session: stage.session) {
            $0.maxConcurrentRequests = 1
            $0.retryPolicy = .fixed(interval: .seconds(1), maxRetries: 3)
        }
        let retried = queue.send(request("/retry"))
        await stage.time.waitForTimers(1)
        let onWire = queue.send(request("/wire"))
        await stage.transport.waitForSent(2)
        let inLine = queue.send(request("/line"))
        queue.isSuspended = true
        let new = queue.send(request("/new"))
        stage.time.advance(by: .seconds(60))
        stage.transport.complete(2, with: .status(200))
        await onWire.finished()
        #expect(stage.transport.sent.count == 2)
        #expect([retried, inLine, new].allSatisfy { $0.result == nil })
        queue.isSuspended = false
        for number in 3...5 {
            await stage.transport.waitForSent(number)
            stage.transport.complete(number, with: .status(200))
        }
        for operation in [retried, inLine, new] { await operation.finished() }
        #expect(stage.transport.peak == 1)
    }

    @Test(
        "the manual renewal: suspend, fetch a token over the session, resume; those in line get the new token",
        arguments: Wire.all)
    func manualRenewal(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/token", .text("fresh"))
        server.on("/data") { .text($0.header("Authorization") ?? "none") }
        let token = Locked("stale")
        let queue = NetworkQueue(session: wire.session()) {
            $0.prepare = { request in
                request.setValue(token.withLock { $0 }, forHTTPHeaderField: "Authorization")
            }
        }
        queue.isSuspended = true
        let operations = (0..<20).map { _ in queue.send(URLRequest(url: server.url("/data"))) }
        let fresh = try await queue.session.data(for: URLRequest(url: server.url("/token")))
        token.withLock { $0 = String(decoding: fresh, as: UTF8.self) }
        queue.isSuspended = false
        for operation in operations {
            #expect(try await operation.response.data == Data("fresh".utf8))
        }
    }

    @Test("a request that is being prepared when the queue is suspended goes back in line, and is prepared anew")
    func suspendDuringPrepare() async throws {
        let stage = Stage { _, _ in .status(200) }
        let entered = Counter()
        let gate = AsyncGate()
        let queue = NetworkQueue(session: stage.session) {
            $0.prepare = { request in
                entered.increment()
                request.setValue("\(entered.value)", forHTTPHeaderField: "X-Round")
                await gate.pass()
            }
        }
        let operation = queue.send(request())
        await entered.wait(for: 1)
        queue.isSuspended = true
        gate.open()
        await becomesTrue { queue.session.lane.counts(of: queue.laneMember).waiting == 1 }
        #expect(stage.transport.sent.isEmpty)
        queue.isSuspended = false
        let response = try await operation.response
        #expect(response.request.value(forHTTPHeaderField: "X-Round") == "2")
        #expect(response.attempts.count == 1)
    }

    @Test("suspend against retry, in both orders: suspended first, it waits; due first, it goes")
    func suspendAgainstRetry() async {
        for isSuspendedFirst in [true, false] {
            let stage = Stage { _, identifier in identifier == 1 ? .failure(.timedOut) : .status(200) }
            let queue = NetworkQueue(session: stage.session) {
                $0.retryPolicy = .fixed(interval: .seconds(1), maxRetries: 1)
            }
            let operation = queue.send(request())
            await stage.time.waitForTimers(1)
            if isSuspendedFirst { queue.isSuspended = true }
            stage.time.advance(by: .seconds(1))
            queue.isSuspended = true
            #expect(stage.transport.sent.count == (isSuspendedFirst ? 1 : 2))
            if isSuspendedFirst { queue.isSuspended = false }
            await operation.finished()
            #expect(operation.attempts.count == 2)
        }
    }

    @Test("higher priority goes first, first in first out within one, also when it changes in line")
    func priorities() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session) { $0.maxConcurrentRequests = 1 }
        queue.send(request("/first"))
        await stage.transport.waitForSent(1)
        let priorities: [Operation.QueuePriority] = [.veryLow, .low, .normal, .high, .veryHigh]
        var operations: [NetworkOperation] = []
        for (index, priority) in (priorities + priorities).enumerated() {
            let operation = NetworkOperation(request("/\(index)"))
            operation.queuePriority = priority
            queue.addOperation(operation)
            operations.append(operation)
            await becomesTrue { queue.session.lane.counts(of: queue.laneMember).waiting == index + 1 }
        }
        operations[0].queuePriority = .veryHigh
        for number in 1...11 {
            await stage.transport.waitForSent(number)
            stage.transport.complete(number, with: .status(200))
        }
        await queue.drained()
        let order = stage.transport.sent.dropFirst().compactMap { $0.request.url?.lastPathComponent }
        #expect(order == ["0", "4", "9", "3", "8", "2", "7", "1", "6", "5"])
    }

    @Test("requests get their slots in the order in which they were added, also from a queue that was suspended")
    func order() async {
        for round in 0..<150 {
            let stage = Stage { _, _ in round % 2 == 0 ? .status(200) : .none }
            let width = round % 2 == 0 ? 1 : 3
            let queue = NetworkQueue(session: stage.session) { $0.maxConcurrentRequests = width }
            if round % 3 == 0 { queue.isSuspended = true }
            for index in 0..<8 { queue.send(request("/\(index)")) }
            queue.isSuspended = false
            // One slot and answers: all in order. Three slots and no answer: the first three have them.
            await stage.transport.waitForSent(width == 1 ? 8 : 3)
            let sent = stage.transport.sent.compactMap { $0.request.url?.lastPathComponent }
            #expect((width == 1 ? sent : sent.sorted()) == (0..<sent.count).map { "\($0)" }, "round \(round)")
            queue.cancelAllOperations()
        }
    }

    @Test("a limited width does not leave slots to requests that are not started")
    func limitedWidth() async {
        let stage = Stage { _, identifier in identifier == 1 ? .status(503) : .status(200) }
        let queue = NetworkQueue(session: stage.session) {
            $0.maxConcurrentRequests = 1
            $0.retryPolicy = .fixed(interval: .seconds(1), maxRetries: 1)
        }
        queue.isSuspended = true
        let first = queue.send(request("/first"))
        queue.send(request("/second"))
        queue.maxConcurrentOperationCount = 1
        queue.send(request("/third"))
        queue.isSuspended = false
        await stage.time.waitForTimers(1)
        stage.time.advance(by: .seconds(1))
        await queue.drained()
        #expect(first.attempts.count == 2)
        #expect(stage.transport.sent.count == 4)
    }

    @Test("slots hold: in all, per host, and over two queues on one session", arguments: Wire.all)
    func slots(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/*") { _ in .text("x") }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 5
        let session = wire.session(configuration)
        let narrow = NetworkQueue(session: session) { $0.maxConcurrentRequestsPerHost = 2 }
        let wide = NetworkQueue(session: session) { $0.maxConcurrentRequestsPerHost = 50 }
        for _ in 0..<200 {
            narrow.send(URLRequest(url: server.url("/narrow")))
            wide.send(URLRequest(url: server.url("/wide")))
        }
        await narrow.drained()
        await wide.drained()
        #expect(server.requestCount == 400)
        #expect(server.peakConcurrency <= 5)
        #expect(server.peakConcurrency(of: "/narrow") <= 2)
    }

    @Test(
        "C36: fifty requests with a short idle timeout and few connections, all of them taken: none times out in line",
        arguments: Wire.all)
    func slowRequestsDoNotTimeOut(wire: Wire) async throws {
        let server = try LoopbackServer()
        let elsewhere = try LoopbackServer()
        let gate = LoopbackServer.Gate()
        server.on("/", LoopbackServer.Response.text("slow").held(by: gate))
        elsewhere.on("/", .hang)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 1
        configuration.httpMaximumConnectionsPerHost = 2
        let session = wire.session(configuration)
        let queue = NetworkQueue(session: session) {
            // What is sent in the end may be too slow for so short a time, on a machine that is.
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1_000)
            $0.retryBudget = nil
        }
        var patient = URLRequest(url: server.url())
        patient.timeoutInterval = 3_600
        let onWire = [queue.send(patient), queue.send(patient)]
        try await gate.waitForArrivals(2)
        let inLine = (0..<48).map { _ in queue.send(URLRequest(url: server.url())) }
        await becomesTrue { session.lane.counts(of: queue.laneMember).waiting == 48 }
        // With the same timeout, sent after them: when it has timed out, each of them would have.
        let later = NetworkOperation(URLRequest(url: elsewhere.url()), session: session)
        later.retryPolicy = .never
        later.start()
        await later.finished()
        #expect(later.result?.error?.urlErrorCode == .timedOut)
        #expect(inLine.allSatisfy { $0.result == nil && $0.attempts.isEmpty })
        #expect(server.requestCount == 2 && server.peakConcurrency == 2)
        gate.open()
        for operation in onWire + inLine { #expect(try await operation.response.statusCode == 200) }
        #expect(onWire.allSatisfy { $0.attempts.count == 1 })
    }

    @Test("a barrier runs between what came before and what comes after, requests and other operations alike")
    func barrier() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let log = Locked<[String]>([])
        let parent = NetworkOperation(request("/parent"), session: stage.session)
        let child = NetworkOperation(after: parent) { _ in request("/child") }
        queue.addOperation(child)
        queue.addBarrierBlock { log.withLock { $0.append("barrier \(stage.transport.sent.count)") } }
        let later = queue.send(request("/later"))
        queue.addOperation { log.withLock { $0.append("block") } }
        queue.addBarrierBlock { log.withLock { $0.append("barrier \(stage.transport.sent.count)") } }
        let cancelled = queue.send(request("/cancelled"))
        cancelled.cancel()
        await cancelled.finished()
        #expect(log.withLock { $0.isEmpty })
        parent.start()
        await queue.drained()
        #expect(log.withLock { $0 } == ["barrier 2", "block", "barrier 3"])
        #expect(later.result?.error == nil)
    }

    @Test("an operation that is started by hand while the queue holds it is not started a second time")
    func startedByHand() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let parent = NetworkOperation(request("/parent"))
        let child = NetworkOperation(request("/child"))
        child.addDependency(parent)
        queue.addOperation(child)
        child.start()
        await child.finished()
        #expect(child.result?.error?.name == "invalidRequest")
        queue.addOperation(parent)
        await queue.drained()
        #expect(stage.transport.sent.count == 1)
    }

    @Test("what is cancelled all at once does not send one request in the place of another")
    func cancelAll() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session) { $0.maxConcurrentRequestsPerHost = 4 }
        for index in 0..<500 { queue.send(request("/\(index)")) }
        await stage.transport.waitForSent(4)
        queue.cancelAllOperations()
        await queue.drained()
        #expect(stage.transport.sent.count == 4)
        queue.send(request())
        await stage.transport.waitForSent(5)
        queue.cancelAllOperations()
    }
}

/// A gate for asynchronous closures.
final class AsyncGate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
