import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The life of an operation: cases C13 to C23.
struct LifeTests {
    @Test("C13: cancelled during the retry delay, nothing more is sent and the wait ends at once")
    func cancelDuringBackoff() async throws {
        let stage = Stage { _, _ in .status(503) }
        let queue = NetworkQueue(session: stage.session) { $0.retryPolicy = .default }
        let operation = queue.send(request())
        await stage.time.waitForTimers(1)
        operation.cancel()
        #expect(operation.result?.isCancelled == true)
        stage.time.advance(by: .seconds(3600))
        await operation.finished()
        #expect(stage.transport.sent.count == 1)
    }

    @Test("C14: cancelled while it waits, the result is .cancelled and not the error before")
    func cancelReportsCancelled() async {
        let stage = Stage { _, _ in .failure(.networkConnectionLost) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .fixed(interval: .seconds(5), maxRetries: 3)
        }
        let operation = queue.send(request(method: "PUT"))
        await stage.time.waitForTimers(1)
        operation.cancel()
        let error = await failure { () async throws(NetworkError) in try await operation.response }
        #expect(error?.isCancelled == true)
        #expect(operation.attempts.map(\.notRetried) == [.cancelled])
    }

    @Test("C15: each of 10,000 operations that are cancelled and retried at random completes exactly once")
    func exactlyOnce() async {
        let stage = Stage { request, identifier in identifier % 3 == 0 ? .failure(.timedOut) : .status(200) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .exponential(base: .zero, maxRetries: 5)
            $0.retryBudget = nil
            $0.maxConcurrentRequestsPerHost = 16
        }
        let count = 10_000
        let calls = Locked([Int](repeating: 0, count: count))
        let done = Counter()
        for index in 0..<count {
            let operation = queue.send(request("/\(index)")) { _ in
                calls.withLock { $0[index] += 1 }
                done.increment()
            }
            if index % 2 == 0 { DispatchQueue.global().async { operation.cancel() } }
        }
        await done.wait(for: count)
        await queue.drained()
        #expect(calls.withLock { $0.allSatisfy { $0 == 1 } })
        #expect(stage.transport.aliveCount == 0)
    }

    @Test("C16: cancelled in a suspended queue, the result is there at once, and isFinished only after the start")
    func cancelInSuspendedQueue() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        queue.isSuspended = true
        let called = Counter()
        let operation = queue.send(request()) { result in
            if result.isCancelled { called.increment() }
        }
        operation.cancel()
        await called.wait(for: 1)
        #expect(operation.result?.isCancelled == true)
        #expect(!operation.isFinished)
        queue.isSuspended = false
        await operation.finished()
        #expect(stage.transport.sent.isEmpty)
        #expect(called.value == 1)
    }

    @Test("C17: a queue of width one drains after any mix of cancel, failure and retry")
    func widthOneDrains() async {
        let stage = Stage { request, identifier in
            switch identifier % 4 {
            case 0: .status(200)
            case 1: .status(404)
            case 2: .failure(.timedOut)
            default: .status(503)
            }
        }
        let queue = NetworkQueue(session: stage.session) {
            $0.maxConcurrentRequests = 1
            $0.retryPolicy = .exponential(base: .zero, maxRetries: 2)
            $0.retryBudget = nil
        }
        queue.maxConcurrentOperationCount = 1
        let operations = (0..<300).map { NetworkOperation(request("/\($0)")) }
        queue.addOperations(operations, waitUntilFinished: false)
        for operation in operations where Int.random(in: 0..<3) == 0 { operation.cancel() }
        await queue.drained()
        #expect(operations.allSatisfy { $0.isFinished && $0.result != nil })
        #expect(stage.transport.peak == 1)
    }

    @Test("C18: cancelled between start and task, no task is made; and never are two alive")
    func cancelBeforeTask() async {
        let entered = Counter()
        let release = DispatchSemaphore(value: 0)
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session) {
            $0.prepare = { _ in
                entered.increment()
                await withCheckedContinuation { continuation in
                    Thread {
                        release.wait()
                        continuation.resume()
                    }.start()
                }
            }
        }
        let operation = queue.send(request())
        await entered.wait(for: 1)
        operation.cancel()
        release.signal()
        await operation.finished()
        #expect(stage.transport.sent.isEmpty)
        // The slot is free again: the next request gets through.
        release.signal()
        queue.send(request())
        await stage.transport.waitForSent(1)
        queue.cancelAllOperations()
        await queue.drained()
    }

    @Test("C19: cancelling the task that awaits cancels the request on the wire", arguments: Wire.all)
    func taskCancelCancels(wire: Wire) async throws {
        let server = try LoopbackServer()
        let gate = LoopbackServer.Gate()
        server.on("/slow", LoopbackServer.Response.text("late").held(by: gate))
        let queue = NetworkQueue(session: wire.session())
        let task = Task {
            await failure { () async throws(NetworkError) in
                try await queue.data(for: URLRequest(url: server.url("/slow")))
            }
        }
        try await server.waitForRequests(1)
        task.cancel()
        #expect(await task.value?.name == "cancelled")
        await queue.drained()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test("C19: a task that is cancelled before it asks sends nothing")
    func cancelledTaskSendsNothing() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure { () async throws(NetworkError) in try await queue.response(for: request()) }
        }
        #expect(await task.value?.isCancelled == true)
        let direct = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure { () async throws(NetworkError) in try await stage.session.data(for: request()) }
        }
        #expect(await direct.value?.isCancelled == true)
        #expect(stage.transport.sent.isEmpty)
    }

    @Test("C20: requests keep queue and session alive, and both go when the last has ended", arguments: Wire.all)
    func requestsKeepTheirSession(wire: Wire) async throws {
        let server = try LoopbackServer()
        let gate = LoopbackServer.Gate()
        server.on("/", LoopbackServer.Response.text("x").held(by: gate))
        weak var weakQueue: NetworkQueue?
        weak var weakSession: NetworkSession?
        let done = Counter()
        do {
            let session = wire.session()
            let queue = NetworkQueue(session: session)
            (weakQueue, weakSession) = (queue, session)
            queue.send(URLRequest(url: server.url())) { result in
                if (try? result.get()) != nil { done.increment() }
            }
        }
        try await server.waitForRequests(1)
        #expect(weakSession != nil)
        gate.open()
        await done.wait(for: 1)
        await becomesTrue { weakQueue == nil && weakSession == nil }
    }

    @Test("C20: after invalidation every request, new, in line or on the wire, ends with .sessionInvalidated")
    func invalidation() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session) { $0.maxConcurrentRequests = 1 }
        let onWire = queue.send(request("/1"))
        await stage.transport.waitForSent(1)
        let inLine = queue.send(request("/2"))
        stage.session.invalidateAndCancel()
        let late = queue.send(request("/3"))
        for operation in [onWire, inLine, late] {
            let error = await failure { () async throws(NetworkError) in try await operation.response }
            #expect(error?.name == "sessionInvalidated")
        }
        let direct = await failure { () async throws(NetworkError) in try await stage.session.data(for: request()) }
        #expect(direct?.name == "sessionInvalidated")
        #expect(stage.transport.isInvalidated)
    }

    @Test("requests on the wire end as they do when the session is to finish first", arguments: Wire.all)
    func finishTasks(wire: Wire) async throws {
        let server = try LoopbackServer()
        let gate = LoopbackServer.Gate()
        server.on("/from", LoopbackServer.Response.redirect(to: "/to").held(by: gate))
        server.on("/to", .text("arrived"))
        let session = wire.session()
        let queue = NetworkQueue(session: session)
        let operation = queue.send(URLRequest(url: server.url("/from")))
        try await server.waitForRequests(1)
        session.finishTasksAndInvalidate()
        gate.open()
        #expect(try await operation.response.data == Data("arrived".utf8))
        let late = await failure { () async throws(NetworkError) in
            try await queue.data(for: URLRequest(url: server.url("/to")))
        }
        #expect(late?.name == "sessionInvalidated")
    }

    @Test("C23: who waits until the operation has finished finds its result, and the handler has been queued")
    func resultBeforeFinish() async {
        let stage = Stage { _, _ in .status(200) }
        let callbacks = DispatchQueue(label: "test.callbacks")
        let queue = NetworkQueue(session: stage.session) { $0.callbackQueue = callbacks }
        for _ in 0..<500 {
            let called = Locked(false)
            let operation = queue.send(request()) { _ in called.withLock { $0 = true } }
            await operation.finished()
            #expect(operation.result != nil)
            // Queued before isFinished: so it has run once this, queued after, has.
            await withCheckedContinuation { continuation in callbacks.async { continuation.resume() } }
            #expect(called.withLock { $0 })
        }
    }

    @Test("handlers run once each, in the order in which they were added, also those added at the end and after")
    func handlerOrder() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session) { $0.callbackQueue = .global() }
        for _ in 0..<200 {
            let order = Locked<[Int]>([])
            let done = Counter()
            let operation = NetworkOperation(request())
            for number in 0..<5 {
                operation.onCompletion { _ in
                    order.withLock { $0.append(number) }
                    done.increment()
                }
            }
            queue.addOperation(operation)
            for number in 5..<20 {
                operation.onCompletion { _ in
                    order.withLock { $0.append(number) }
                    done.increment()
                }
            }
            await done.wait(for: 20)
            #expect(order.withLock { $0 } == Array(0..<20))
        }
    }

    @Test("an operation runs on a plain OperationQueue and by start() alone")
    func withoutNetworkQueue() async throws {
        let stage = Stage { _, _ in .status(200, body: Data("x".utf8)) }
        let plain = OperationQueue()
        let first = NetworkOperation(request(), session: stage.session)
        let second = NetworkOperation(after: first, session: stage.session) { _ in request("/2") }
        plain.addOperation(second)
        plain.addOperation(first)
        #expect(try await second.response.data == Data("x".utf8))
        let alone = NetworkOperation(request(), session: stage.session)
        alone.start()
        alone.start()
        #expect(try await alone.response.statusCode == 200)
        await alone.finished()
        #expect(stage.transport.sent.count == 3)
    }
}

/// Returns once the condition holds: for what has no event, as the end of an object. Fails after two minutes.
func becomesTrue(
    _ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation
) async {
    let deadline = ContinuousClock.now.advanced(by: .seconds(120))
    while !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record("the condition did not become true", sourceLocation: sourceLocation)
            return
        }
        try? await Task.sleep(for: .milliseconds(1))
    }
}
