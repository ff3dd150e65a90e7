import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension Scenario {
    private static func idleQueue() -> NetworkQueue {
        let session = NetworkSession.probed()
        session.invalidateAndCancel()
        return NetworkQueue(session: session)
    }

    private static func operation(_ url: URL = URL(fileURLWithPath: "/")) -> NetworkOperation {
        NetworkOperation(URLRequest(url: url))
    }

    /// K18: cancelled while queued, many times, in a suspended queue; also between others that are sent.
    static func cancelQueued() async throws {
        let queue = idleQueue()
        for _ in 0..<20 {
            queue.isSuspended = true
            let operations = (0..<500).map { _ in operation() }
            for operation in operations { queue.addOperation(operation) }
            for operation in operations { operation.cancel() }
            try Fault.unless(operations.allSatisfy { !$0.isFinished }, "finished before it was started")
            queue.isSuspended = false
            await finish(queue)
            try Fault.unless(operations.allSatisfy { $0.isFinished }, "not finished")
        }
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        let live = NetworkQueue(session: NetworkSession.probed())
        for _ in 0..<20 {
            live.isSuspended = true
            let operations = (0..<500).map { _ in operation(server.url()) }
            for operation in operations { live.addOperation(operation) }
            for (index, operation) in operations.enumerated() where index % 10 > 0 { operation.cancel() }
            try Fault.unless(operations.allSatisfy { !$0.isFinished }, "finished before it was started")
            live.isSuspended = false
            for (index, operation) in operations.enumerated() where index % 10 == 0 {
                try Fault.unless(try await operation.response.data == Data("x".utf8), "not the server's text")
            }
            await finish(live)
        }
        try Fault.unless(server.requestCount == 1_000, "\(server.requestCount) requests for 1,000")
    }

    /// K19: the release of a chain of 200,000, on a dispatch thread with its small stack.
    static func longChain() async throws {
        let queue = idleQueue()
        var last: NetworkOperation?
        for _ in 0..<200_000 {
            let next = operation()
            if let last { next.addDependency(last) }
            queue.addOperation(next)
            last = next
        }
        await finish(queue)
        var unused: NetworkOperation? = operation()
        for _ in 0..<200_000 {
            let next = operation()
            if let unused { next.addDependency(unused) }
            unused = next
        }
        let chain = unused
        unused = nil
        await release(chain)
        try await liveChain()
    }

    /// A chain whose first thousand go over the wire, and whose next finds nothing there: the rest fails with it.
    private static func liveChain() async throws {
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        let queue = NetworkQueue(session: NetworkSession.probed()) { $0.retryPolicy = .never }
        let first = operation(server.url())
        queue.addOperation(first)
        var last = first
        for index in 1..<100_000 {
            let next = operation(server.url(index == 1_000 ? "/missing" : "/"))
            next.addDependency(last)
            queue.addOperation(next)
            last = next
        }
        await finish(queue)
        try Fault.unless(try await first.response.data == Data("x".utf8), "not the server's text")
        guard case .failure(.dependencyFailed) = last.result else {
            throw Fault(description: "the end of the chain ended with \(String(describing: last.result))")
        }
        try Fault.unless(server.requestCount == 1_001, "\(server.requestCount) requests for 1,001")
        let end: NetworkOperation? = last
        last = first
        await release(end)
    }

    /// Lets go of it on a dispatch thread.
    private static func release(_ chain: NetworkOperation?) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                _ = chain
                continuation.resume()
            }
        }
    }

    /// K20, H8: an operation added twice, to two queues, started twice, started early, depending on itself; odd widths.
    static func addedTwice() async throws {
        let queue = idleQueue()
        let other = idleQueue()
        let first = operation()
        queue.isSuspended = true
        queue.addOperation(first)
        queue.addOperation(first)
        other.addOperation(first)
        queue.addOperations([first, first], waitUntilFinished: false)
        queue.isSuspended = false
        await finish(queue)
        queue.addOperation(first)
        first.start()
        let early = operation()
        early.addDependency(operation())
        early.addDependency(early)
        early.start()
        early.start()
        try Fault.unless(early.isFinished, "an operation that was started early has not finished")
        queue.maxConcurrentOperationCount = -7
        queue.addOperation(operation())
        await finish(queue)
    }

    /// H9: a barrier that waits, and an operation that is cancelled before it is added.
    static func barrierAndCancelled() async throws {
        let queue = idleQueue()
        let before = BlockOperation {}
        let held = operation()
        held.addDependency(before)
        queue.addOperation(held)
        queue.addBarrierBlock {}
        for _ in 0..<100 {
            let cancelled = operation()
            cancelled.cancel()
            queue.addOperation(cancelled)
            let block = BlockOperation {}
            block.cancel()
            queue.addOperation(block)
        }
        before.start()
        await finish(queue)
    }

    /// A queue that is let go of with work in flight and in line: everything still ends.
    static func releasedQueue() async throws {
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        var operations: [NetworkOperation] = []
        for _ in 0..<50 {
            let queue = NetworkQueue(session: NetworkSession.probed()) { $0.maxConcurrentRequests = 2 }
            for _ in 0..<10 { operations.append(queue.send(URLRequest(url: server.url()))) }
        }
        for operation in operations { _ = try await operation.response }
    }
}
