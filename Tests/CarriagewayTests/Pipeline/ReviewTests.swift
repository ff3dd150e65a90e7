import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Faults that a review found, each kept from coming back.
struct ReviewTests {
    @Test("an operation that starts after the queue was suspended is not sent, also if it was added before")
    func startAfterSuspension() async {
        final class Slow: NetworkOperation, @unchecked Sendable {
            let entered = Counter()
            let mayStart = DispatchSemaphore(value: 0)

            override func start() {
                entered.increment()
                mayStart.wait()
                super.start()
            }
        }
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let slow = Slow(request())
        queue.addOperation(slow)
        await slow.entered.wait(for: 1)
        queue.isSuspended = true
        slow.mayStart.signal()
        await becomesTrue { queue.session.lane.counts(of: queue.laneMember).waiting == 1 }
        #expect(stage.transport.sent.isEmpty)
        queue.isSuspended = false
        await slow.finished()
        #expect(stage.transport.sent.count == 1)
    }

    @Test(
        "a dependency that is added on a suspended queue is waited for, and no slot is kept meanwhile",
        arguments: [true, false])
    func dependencyAfterAdding(isForeign: Bool) async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session) { $0.maxConcurrentRequests = 1 }
        queue.isSuspended = true
        let first = NetworkOperation(request("/first"))
        let second = NetworkOperation(request("/second"))
        queue.addOperation(second)
        let between = BlockOperation {}
        between.addDependency(first)
        second.addDependency(isForeign ? between : first)
        queue.addOperation(first)
        if isForeign { queue.addOperation(between) }
        queue.isSuspended = false
        await second.finished()
        #expect(stage.transport.sent.compactMap { $0.request.url?.path } == ["/first", "/second"])
    }

    @Test("what a closure holds may end in any way when the operation lets go of the closure")
    func closureEndsOutsideTheLock() async {
        final class Owner: @unchecked Sendable {
            var operation: NetworkOperation?

            deinit { operation?.cancel() }
        }
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        for _ in 0..<50 {
            let first = NetworkOperation(request())
            let second: NetworkOperation
            do {
                let owner = Owner()
                second = NetworkOperation(after: first) { _ in
                    _ = owner
                    return request()
                }
                owner.operation = second
            }
            queue.addOperation(second)
            queue.addOperation(first)
            await second.finished()
        }
    }

    @Test("start and cancel at once, off every queue, leave no connection counted")
    func occupiedConnections() async throws {
        let stage = Stage(maxConnectionsPerHost: 1) { _, _ in .status(200) }
        for _ in 0..<3_000 {
            let operation = NetworkOperation(request(), session: stage.session)
            DispatchQueue.global().async { operation.start() }
            operation.cancel()
            await operation.finished()
        }
        let queue = NetworkQueue(session: stage.session)
        #expect(try await queue.response(for: request()).statusCode == 200)
    }

    @Test("isCancelled is true once an operation was cancelled, on the wire too, and stays false after a success")
    func isCancelled() async {
        let stage = Stage { request, _ in request.url?.path == "/quick" ? .status(200) : .none }
        let queue = NetworkQueue(session: stage.session)
        let operation = queue.send(request())
        await stage.transport.waitForSent(1)
        operation.cancel()
        #expect(operation.isCancelled)
        let quick = queue.send(request("/quick"))
        await quick.finished()
        quick.cancel()
        #expect(!quick.isCancelled && quick.result?.error == nil)
    }

    @Test("every operation that has not finished is in the list, at every moment")
    func unfinishedOperations() async {
        let stage = Stage()
        stage.session.invalidateAndCancel()
        for _ in 0..<2_000 {
            let queue = NetworkQueue(session: stage.session)
            let first = NetworkOperation(request())
            let second = NetworkOperation(request())
            second.addDependency(first)
            queue.addOperation(second)
            queue.addOperation(first)
            await queue.drained()
            #expect(second.isFinished)
        }
    }

    @Test("a barrier behind a barrier can be cancelled with the rest")
    func secondBarrier() async {
        let queue = NetworkQueue(session: Stage().session)
        let held = NetworkOperation(request())
        held.addDependency(BlockOperation {})
        queue.addOperation(held)
        let ran = Counter()
        queue.addBarrierBlock { ran.increment() }
        queue.addBarrierBlock { ran.increment() }
        #expect(queue.unfinishedOperations.count == 3)
        queue.cancelAllOperations()
        await queue.drained()
        #expect(ran.value == 0)
    }

    @Test("a long line whose file is gone fails one after the other, and not within each other")
    func longLineWithoutFile() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("body", Data("x".utf8))
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .never
            $0.maxConcurrentRequests = 1
        }
        let first = queue.send(request())
        await stage.transport.waitForSent(1)
        let others = (0..<5_000).map { _ in
            var form = MultipartForm()
            form.append(name: "file", file: file)
            return queue.send(request(method: "POST"), body: .multipart(form))
        }
        await becomesTrue { queue.session.lane.counts(of: queue.laneMember).waiting == 5_000 }
        try FileManager.default.removeItem(at: file)
        stage.transport.complete(1, with: .status(200))
        for operation in others {
            await operation.finished()
            #expect(operation.result?.error?.isFileError == true)
        }
        await first.finished()
        #expect(stage.transport.sent.count == 1)
    }

    @Test("retries that are cancelled while they wait give their tokens back")
    func budgetOfCancelled() async {
        let stage = Stage { _, _ in .failure(.timedOut) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .fixed(interval: .seconds(30), maxRetries: 1)
        }
        for number in 1...100 {
            let operation = queue.send(request())
            await stage.time.waitForTimers(number)
            operation.cancel()
            await operation.finished()
        }
        #expect(stage.session.spending.withLock { $0.spent.isEmpty })
    }

    @Test("a timeout of nothing sends nothing")
    func noTime() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session) { $0.timeout = .zero }
        for _ in 0..<50 {
            let error = await failure { () async throws(NetworkError) in try await queue.data(for: request()) }
            #expect(error?.name == "deadlineExceeded")
        }
        #expect(stage.transport.sent.isEmpty)
    }

    @Test("headers of the configuration that cannot be sent are left out", arguments: Wire.all)
    func configurationHeaders(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["X-Bad": "b\r\nX-Injected: 1", "Bad Name": "x", 5: "x", "X-Good": "g"]
        _ = try await wire.session(configuration).data(for: URLRequest(url: server.url()))
        let sent = try #require(server.requests.first)
        #expect(sent.header("X-Injected") == nil && sent.header("X-Bad") == nil)
        #expect(sent.header("X-Good") == "g")
    }

    @Test("a start by hand does not disturb what the queue is about to start")
    func startByHandOnQueue() async {
        let stage = Stage()
        stage.session.invalidateAndCancel()
        let queue = NetworkQueue(session: stage.session)
        for _ in 0..<300 {
            let operation = NetworkOperation(request())
            queue.addOperation(operation)
            operation.start()
            await operation.finished()
        }
        await queue.drained()
        #expect(queue.unfinishedOperations.isEmpty)
    }
}
