import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct RetryingOperationTests {
    private struct Own: Error {}

    @Test("parity: work of any kind is tried again until it succeeds; it is told the number of the attempt")
    func retries() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .fixed(interval: .seconds(2), maxRetries: 5)
        }
        let operation = RetryingOperation { attempt in
            guard attempt == 3 else { throw Own() }
            return "value \(attempt)"
        }
        queue.addOperation(operation)
        for retry in 1...2 {
            await stage.time.waitForTimers(retry)
            #expect(stage.time.nextDelay == .seconds(2))
            stage.time.advance(by: .seconds(2))
        }
        #expect(try await operation.value == "value 3")
        #expect(operation.attempts.count == 3 && stage.transport.sent.isEmpty)
    }

    @Test("parity: run(retryCount:failure:success:) calls one of both, once")
    func run() async {
        let calls = Counter()
        let successes = Counter()
        let task = RetryingOperation<Int>(
            session: Stage().session,
            callback: { _, done in
                calls.increment()
                done(.success(7))
                done(.failure(Own()))
                done(.success(8))
            })
        task.run(retryCount: 3) { error in
            Issue.record("\(error)")
        } success: { value in
            #expect(value == 7)
            successes.increment()
        }
        await successes.wait(for: 1)
        await task.finished()
        #expect(calls.value == 1 && successes.value == 1)

        let failures = Counter()
        let failing = RetryingOperation<Int>(session: Stage().session) { _ in
            calls.increment()
            throw Own()
        }
        failing.retryPolicy = .fixed(interval: .zero, maxRetries: 9)
        failing.run(retryCount: 2) { error in
            guard case .inaccessible(after: 3, last: .generalError(let last)) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(last is Own)
            failures.increment()
        } success: { _ in
            Issue.record("a value")
        }
        await failures.wait(for: 1)
        #expect(calls.value == 4)
    }

    @Test("parity: an error may say after how long to try again, that it is final, or that there is no data")
    func outcomes() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let later = RetryingOperation { attempt in
            if attempt == 1 { throw WorkFailure.tryAgain(after: .seconds(90), because: Own()) }
            return attempt
        }
        queue.addOperation(later)
        await stage.time.waitForTimers(1)
        #expect(stage.time.nextDelay == .seconds(90))
        stage.time.advance(by: .seconds(90))
        #expect(try await later.value == 2)

        let final = RetryingOperation<Int> { _ in throw WorkFailure.final(Own()) }
        let nothing = RetryingOperation<Int>(callback: { _, done in done(.success(nil)) })
        let forgotten = RetryingOperation<Int>(callback: { _, _ in })
        for operation in [final, nothing, forgotten] {
            queue.addOperation(operation)
            await operation.finished()
            #expect(operation.attempts.count == 1 && operation.attempts.first?.notRetried == .declined)
        }
        guard case .generalError(WorkFailure.final(let inner)) = final.result?.error else {
            Issue.record("\(String(describing: final.result))")
            return
        }
        #expect(inner is Own)
        for operation in [nothing, forgotten] {
            guard case .generalError(WorkFailure.noData) = operation.result?.error else {
                Issue.record("\(String(describing: operation.result))")
                return
            }
        }
    }

    @Test("errors of requests are judged as those of requests")
    func requestErrors() async {
        let queue = NetworkQueue(session: Stage().session) { $0.retryPolicy = .fixed(interval: .zero, maxRetries: 2) }
        let lost = RetryingOperation<Int> { _ in throw URLError(.networkConnectionLost) }
        let bad = RetryingOperation<Int> { _ in throw URLError(.badURL) }
        let cancelled = RetryingOperation<Int> { _ in throw CancellationError() }
        queue.addOperations([lost, bad, cancelled], waitUntilFinished: false)
        await queue.drained()
        #expect(lost.attempts.count == 3 && bad.attempts.count == 1 && cancelled.attempts.count == 1)
        #expect(cancelled.result?.isCancelled == true)
    }

    @Test("a custom policy decides before the usual rule")
    func customPolicy() async {
        let operation = RetryingOperation<Int>(session: Stage().session) { _ in throw Own() }
        operation.retryPolicy = .custom { $0.attempts.count < 2 ? .retryAfter(.zero) : .doNotRetry }
        operation.start()
        await operation.finished()
        #expect(operation.attempts.count == 2)
    }

    @Test("it takes part in dependencies, before and after requests")
    func dependencies() async throws {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let order = Locked<[String]>([])
        let first = NetworkOperation(request("/first"))
        let work = RetryingOperation { _ in order.withLock { $0.append("work after \(stage.transport.sent.count)") } }
        work.addDependency(first)
        let last = NetworkOperation(after: work) { _ in request("/last") }
        queue.addOperations([last, work, first], waitUntilFinished: false)
        _ = try await last.response
        #expect(order.withLock { $0 } == ["work after 1"] && stage.transport.sent.count == 2)

        let failing = RetryingOperation<Int> { _ in throw WorkFailure.final(Own()) }
        let never = NetworkOperation(after: failing) { _ in request("/never") }
        let neither = RetryingOperation { _ in Issue.record("ran") }
        neither.addDependency(never)
        queue.addOperations([neither, never, failing], waitUntilFinished: false)
        await neither.finished()
        #expect(never.result?.error?.name == "dependencyFailed" && neither.result?.error?.name == "dependencyFailed")
        #expect(stage.transport.sent.count == 2)
    }

    @Test("it holds a slot of its host as a request does, and waits while the queue is suspended")
    func slots() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session) { $0.maxConcurrentRequestsPerHost = 1 }
        let running = Counter()
        let (stream, release) = AsyncStream<Void>.makeStream()
        queue.isSuspended = true
        let work = RetryingOperation(host: "stub.test:80") { _ in
            running.increment()
            for await _ in stream { return }
        }
        let fetch = NetworkOperation(URLRequest(url: URL(string: "https://stub.test:80/") ?? URL(fileURLWithPath: "/")))
        queue.addOperations([work, fetch], waitUntilFinished: false)
        #expect(running.value == 0)
        queue.isSuspended = false
        await running.wait(for: 1)
        #expect(stage.transport.sent.isEmpty)
        release.yield()
        try await work.value
        await stage.transport.waitForSent(1)
        fetch.cancel()
    }

    @Test("the host's budget for retries counts the work's too")
    func budget() async {
        let queue = NetworkQueue(session: Stage().session) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 100)
            $0.retryBudget = RetryBudget(capacity: 30, cost: 10)
        }
        let operation = RetryingOperation<Int> { _ in throw Own() }
        queue.addOperation(operation)
        await operation.finished()
        #expect(operation.attempts.count == 4 && operation.attempts.last?.notRetried == .budget)
    }

    @Test("cancel ends it at once, and cancels the work's task")
    func cancel() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let began = Counter()
        let ended = Counter()
        let operation = RetryingOperation { _ in
            began.increment()
            while !Task.isCancelled { await Task.yield() }
            ended.increment()
        }
        queue.addOperation(operation)
        await began.wait(for: 1)
        operation.cancel()
        #expect(operation.result?.isCancelled == true)
        await ended.wait(for: 1)
        await operation.finished()
        #expect(operation.result?.isCancelled == true)

        let waiting = RetryingOperation<Int> { _ in throw Own() }
        queue.addOperation(waiting)
        await stage.time.waitForTimers(1)
        waiting.cancel()
        await waiting.finished()
        #expect(waiting.result?.isCancelled == true && waiting.attempts.count == 1)
    }

    @Test("timeout and attemptTimeout hold; an attempt that ends too late changes nothing")
    func timeouts() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let endless: RetryingOperation<Int>.Work = { _ in
            while !Task.isCancelled { await Task.yield() }
            return -1
        }
        let whole = RetryingOperation(work: endless)
        whole.timeout = .seconds(5)
        queue.addOperation(whole)
        await stage.time.waitForTimers(1)
        stage.time.advance(by: .seconds(5))
        await whole.finished()
        #expect(whole.result?.error?.name == "deadlineExceeded")

        let attempts = RetryingOperation { attempt in attempt == 1 ? try await endless(1) : attempt }
        attempts.attemptTimeout = .seconds(3)
        attempts.retryPolicy = .fixed(interval: .zero, maxRetries: 1)
        queue.addOperation(attempts)
        await stage.time.waitForTimers(2)
        stage.time.advance(by: .seconds(3))
        #expect(try await attempts.value == 2)
        #expect(attempts.attempts.count == 2)
    }

    @Test("an attempt that runs out of time has ended before its work is cancelled, whatever the work makes of that")
    func timeoutFirst() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let whole = Locked<RetryingOperation<Int>?>(nil)
        let attemptsWhenCancelled = Locked<Int?>(nil)
        let gate = AsyncGate()
        let operation = RetryingOperation { attempt in
            guard attempt == 1 else { return attempt }
            await withTaskCancellationHandler {
                await gate.pass()
            } onCancel: {
                let count = whole.withLock { $0 }?.attempts.count
                attemptsWhenCancelled.withLock { $0 = count }
                gate.open()
            }
            return -1
        }
        whole.withLock { $0 = operation }
        operation.attemptTimeout = .seconds(3)
        operation.retryPolicy = .fixed(interval: .zero, maxRetries: 1)
        queue.addOperation(operation)
        await stage.time.waitForTimers(1)
        stage.time.advance(by: .seconds(3))
        #expect(try await operation.value == 2)
        await gate.pass()
        #expect(attemptsWhenCancelled.withLock { $0 } ?? 0 >= 1)
        #expect(operation.attempts.count == 2)
        whole.withLock { $0 = nil }
    }

    @Test("a host that cannot be one fails with a reason")
    func invalidHost() async {
        let operation = RetryingOperation(host: "https://a.test", session: Stage().session) { _ in
            Issue.record("ran")
        }
        operation.start()
        await operation.finished()
        #expect(operation.result?.error?.name == "invalidRequest")
    }
}
