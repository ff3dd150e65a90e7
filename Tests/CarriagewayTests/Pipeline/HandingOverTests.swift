import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// When Foundation's queue gets an operation that has set out before it was started.
@Suite("Handing over to Foundation")
struct HandingOverTests {
    @Test("one that is under way is in some list at every moment, and gets into Foundation's when it takes long")
    func late() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let operation = queue.send(request())
        while queue.operations.isEmpty {
            #expect(queue.unfinishedOperations.contains(operation))
            await Task.yield()
        }
        #expect(queue.unfinishedOperations == [operation] && operation.isExecuting)
        stage.transport.complete(1, with: .status(200))
        await operation.finished()
        await queue.drained()
        #expect(queue.operations.isEmpty && !operation.isExecuting)
    }

    @Test("one that has ended before is never handed over, and finishes all the same")
    func quick() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        for _ in 0..<100 {
            let operation = queue.send(request())
            await operation.finished()
            #expect(operation.isFinished && !operation.isExecuting)
        }
        await queue.drained()
        #expect(queue.unfinishedOperations.isEmpty)
    }

    @Test(
        "what was on the wire when its queue was suspended, or narrowed, finishes before that is taken back",
        arguments: [true, false])
    func whileSuspended(isSuspended: Bool) async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session) {
            ($0.maxConcurrentRequests, $0.maxConcurrentRequestsPerHost) = (20, 20)
        }
        let operations = (0..<20).map { _ in queue.send(request()) }
        await stage.transport.waitForSent(20)
        if isSuspended { queue.isSuspended = true } else { queue.maxConcurrentOperationCount = 1 }
        for identifier in 1...20 { stage.transport.complete(identifier, with: .status(200)) }
        // Foundation may have had some of them before, as it happens.
        for operation in operations {
            while !operation.isFinished, !queue.operations.contains(operation) { await Task.yield() }
        }
        queue.isSuspended = false
        await queue.drained()
        #expect(operations.allSatisfy { $0.isFinished })
    }

    @Test("a width that is set later counts those under way, which Foundation has not seen", arguments: [false, true])
    func narrowed(isSuspendedFirst: Bool) async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let first = queue.send(request())
        if isSuspendedFirst { queue.isSuspended = true }
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = false
        let ranEarly = Locked<Bool?>(nil)
        queue.addOperation { ranEarly.withLock { $0 = !first.isFinished } }
        // Time for it to run where it must not.
        try await Task.sleep(for: .milliseconds(50))
        stage.transport.complete(1, with: .status(200))
        await queue.drained()
        #expect(ranEarly.withLock { $0 } == false)
    }

    @Test("one that has its result and is about to finish is in the list until it has")
    func aboutToFinish() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let operation = NetworkOperation(request())
        let wasListed = Locked<Bool?>(nil)
        operation.whenEnded { _ in
            // The queue looks for those under way, and again, as it does when time passes.
            for _ in 1...2 { queue.handOverUnderWay { $0.overdue() } }
            wasListed.withLock { $0 = queue.unfinishedOperations.contains(operation) }
        }
        queue.addOperation(operation)
        stage.transport.complete(1, with: .status(200))
        await operation.finished()
        #expect(wasListed.withLock { $0 } == true)
        await queue.drained()
    }

    @Test("one that is under way stays the queue's when it is started by hand, and finishes once")
    func startedByHand() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let finishes = Counter()
        for number in 1...50 {
            let operation = queue.send(request())
            operation.completionBlock = { finishes.increment() }
            operation.start()
            #expect(queue.unfinishedOperations == [operation])
            stage.transport.complete(number, with: .status(200))
            operation.start()
            await operation.finished()
            operation.start()
        }
        await finishes.wait(for: 50)
        await queue.drained()
        #expect(finishes.value == 50 && queue.unfinishedOperations.isEmpty)
    }

    @Test("a barrier waits for those under way, and plain operations that depend on them start when they finish")
    func barrier() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let log = Locked<[String]>([])
        let first = queue.send(request())
        let dependents = Counter()
        let dependent = BlockOperation { dependents.increment() }
        dependent.addDependency(first)
        OperationQueue().addOperation(dependent)
        queue.addBarrierBlock { log.withLock { $0.append("barrier") } }
        let behind = queue.send(request()) { _ in log.withLock { $0.append("behind") } }
        await stage.transport.waitForSent(1)
        #expect(log.withLock { $0 }.isEmpty)
        stage.transport.complete(1, with: .status(200))
        await stage.transport.waitForSent(2)
        stage.transport.complete(2, with: .status(200))
        await behind.finished()
        #expect(log.withLock { $0.contains("barrier") })
        await dependents.wait(for: 1)
    }

    @Test("cancelled at any moment it finishes once, whether Foundation has it or not")
    func cancelled() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let ends = Counter()
        for number in 0..<200 {
            let operation = queue.send(request()) { _ in ends.increment() }
            if number.isMultiple(of: 20) {
                while !queue.operations.contains(operation) { await Task.yield() }
            }
            operation.cancel()
            await operation.finished()
        }
        await ends.wait(for: 200)
        await queue.drained()
        #expect(ends.value == 200 && queue.unfinishedOperations.isEmpty)
    }

    @Test("a queue with requests under way goes away with the last of them")
    func life() async {
        let stage = Stage()
        weak var weakQueue: NetworkQueue?
        let operation: NetworkOperation
        do {
            let queue = NetworkQueue(session: stage.session)
            weakQueue = queue
            operation = queue.send(request())
        }
        #expect(weakQueue != nil)
        stage.transport.complete(1, with: .status(200))
        await operation.finished()
        while weakQueue != nil { await Task.yield() }
    }
}
