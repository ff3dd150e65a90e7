import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Equal GETs share one transfer, if the queue is told so.
struct CoalescingTests {
    private let stage = Stage()

    private func makeQueue(_ configure: @escaping (inout NetworkQueue.Configuration) -> Void = { _ in }) -> NetworkQueue
    {
        NetworkQueue(session: stage.session) {
            $0.sharesEqualRequests = true
            $0.retryPolicy = .never
            configure(&$0)
        }
    }

    private func settle() {
        stage.transport.settled()
        stage.session.pipeline.sync {}
    }

    @Test("wanted next: equal GETs in flight are one transfer, and each caller is called once")
    func shared() async throws {
        let queue = makeQueue()
        let ended = Counter()
        let operations = (0..<20).map { _ in queue.send(request("/a")) { _ in ended.increment() } }
        let other = queue.send(request("/b"))
        await stage.transport.waitForSent(2)
        for sent in stage.transport.sent {
            stage.transport.complete(sent.identifier, with: .status(200, body: Data("x".utf8)))
        }
        await ended.wait(for: 20)
        for operation in operations + [other] {
            #expect(try await operation.response.data == Data("x".utf8))
            #expect(operation.attempts.count == 1)
        }
        #expect(stage.transport.sent.count == 2)
        // What has ended is not given to those who come later.
        queue.send(request("/a"))
        await stage.transport.waitForSent(3)
        await cleanUp(queue)
    }

    @Test("a failure is everybody's, and is forgotten then")
    func failed() async throws {
        let queue = makeQueue()
        let operations = (0..<5).map { _ in queue.send(request("/a")) }
        await stage.transport.waitForSent(1)
        stage.transport.complete(stage.transport.sent[0].identifier, with: .failure(.badServerResponse))
        for operation in operations {
            await operation.finished()
            #expect(operation.result?.error?.urlErrorCode == .badServerResponse)
        }
        let again = queue.send(request("/a"))
        await stage.transport.waitForSent(2)
        stage.transport.complete(stage.transport.sent[1].identifier, with: .status(200))
        _ = try await again.response
        #expect(stage.transport.sent.count == 2)
    }

    @Test("one who leaves takes nothing from the others; with the last the transfer ends")
    func leaving() async throws {
        let queue = makeQueue()
        let operations = (0..<3).map { _ in queue.send(request("/a")) }
        await stage.transport.waitForSent(1)
        operations[0].cancel()
        await operations[0].finished()
        #expect(operations[0].result?.isCancelled == true && stage.transport.aliveCount == 1)
        operations[1].cancel()
        #expect(stage.transport.aliveCount == 1)
        operations[2].cancel()
        await queue.drained()
        settle()
        #expect(stage.transport.aliveCount == 0)
        queue.send(request("/a"))
        await stage.transport.waitForSent(2)
        await cleanUp(queue)
    }

    @Test("each keeps its own timeout")
    func timeouts() async throws {
        let queue = makeQueue()
        let hasty = NetworkOperation(request("/a"))
        hasty.timeout = .seconds(1)
        let patient = NetworkOperation(request("/a"))
        queue.addOperations([hasty, patient], waitUntilFinished: false)
        await stage.transport.waitForSent(1)
        stage.time.advance(by: .seconds(2))
        await hasty.finished()
        #expect(hasty.result?.error?.name == "deadlineExceeded" && patient.result == nil)
        stage.transport.complete(stage.transport.sent[0].identifier, with: .status(200))
        _ = try await patient.response
        #expect(stage.transport.sent.count == 1)
    }

    @Test("the highest priority counts, also one that joins or changes later")
    func priority() async throws {
        let queue = makeQueue { $0.maxConcurrentRequests = 1 }
        let first = queue.send(request("/first"))
        await stage.transport.waitForSent(1)
        let low = queue.send(request("/low"))
        let middle = queue.send(request("/middle"))
        let joiner = NetworkOperation(request("/low"))
        joiner.queuePriority = .veryHigh
        queue.addOperation(joiner)
        let waiting = [low, middle, joiner]
        while waiting.contains(where: { $0.shared.withLock { $0.transfer } == nil }) {
            try await Task.sleep(for: .milliseconds(2))
        }
        // The leader is told outside every lock, a moment later.
        let key = try #require(joiner.shared.withLock { $0.transfer?.key })
        while queue.coalescer.leader(of: key)?.queuePriority != .veryHigh {
            try await Task.sleep(for: .milliseconds(2))
        }
        stage.transport.complete(stage.transport.sent[0].identifier, with: .status(200))
        await stage.transport.waitForSent(2)
        #expect(stage.transport.sent[1].request.url?.path == "/low")
        stage.transport.complete(stage.transport.sent[1].identifier, with: .status(200))
        await stage.transport.waitForSent(3)
        stage.transport.complete(stage.transport.sent[2].identifier, with: .status(200))
        for operation in [first, low, middle, joiner] { _ = try await operation.response }
    }

    @Test("what is not equal, commands, and what is special are not shared", arguments: 0..<7)
    func notShared(kind: Int) async throws {
        let queue = makeQueue()
        queue.send(request("/a"))
        await stage.transport.waitForSent(1)
        var other = request("/a")
        let operation: NetworkOperation
        switch kind {
        case 0: other.setValue("de", forHTTPHeaderField: "Accept-Language")
        case 1: other.url = URL(string: "http://stub.test/a?x=1")
        case 2: other.httpMethod = "POST"
        case 3: other.httpMethod = "HEAD"
        default: break
        }
        switch kind {
        case 4:
            operation = NetworkOperation(other)
            operation.validation = .none
        case 5:
            operation = NetworkOperation(other)
            operation.retryPolicy = .never
        case 6:
            operation = Subclass(other)
        default: operation = NetworkOperation(other)
        }
        queue.addOperation(operation)
        await stage.transport.waitForSent(2)
        await cleanUp(queue)
    }

    @Test("without being told the queue shares nothing")
    func off() async {
        let queue = NetworkQueue(session: stage.session)
        for _ in 0..<2 { queue.send(request("/a")) }
        await stage.transport.waitForSent(2)
        await cleanUp(queue)
    }

    @Test("a suspended queue sends nothing, and shares when it is resumed; dependents of each come after it")
    func suspended() async throws {
        let queue = makeQueue()
        queue.isSuspended = true
        let operations = (0..<3).map { _ in queue.send(request("/a")) }
        let dependent = NetworkOperation(after: operations[1]) { _ in request("/next") }
        queue.addOperation(dependent)
        queue.isSuspended = false
        await stage.transport.waitForSent(1)
        stage.transport.complete(stage.transport.sent[0].identifier, with: .status(200))
        await stage.transport.waitForSent(2)
        #expect(stage.transport.sent[1].request.url?.path == "/next")
        stage.transport.complete(stage.transport.sent[1].identifier, with: .status(200))
        _ = try await dependent.response
    }

    @Test("each has its own progress, and the queue counts the bytes once")
    func progress() async throws {
        let queue = makeQueue()
        let total = queue.progress
        let operations = (0..<3).map { _ in queue.send(request("/a")) }
        let own = operations.map(\.progress)
        while operations.contains(where: { $0.shared.withLock { $0.transfer } == nil }) {
            try await Task.sleep(for: .milliseconds(2))
        }
        await stage.transport.waitForSent(1)
        let task = stage.transport.sent[0].identifier
        stage.transport.give(task, status: 200, headers: ["Content-Length": "100"], body: Data(count: 60))
        settle()
        #expect(own.map(\.completedUnitCount) == [60, 60, 60] && total.completedUnitCount == 60)
        stage.transport.give(task, body: Data(count: 40))
        stage.transport.finish(task)
        for operation in operations { _ = try await operation.response }
        settle()
        #expect(total.completedUnitCount == 100)
    }

    @Test("at random: joining, leaving and ending at the same time loses nobody")
    func random() async throws {
        let stage = Stage { _, _ in .status(200, body: Data("x".utf8)) }
        let queue = NetworkQueue(session: stage.session) { $0.sharesEqualRequests = true }
        let ended = Counter()
        for index in 0..<3_000 {
            let operation = queue.send(request("/\(index % 7)")) { _ in ended.increment() }
            if index.isMultiple(of: 3) { DispatchQueue.global().async { operation.cancel() } }
        }
        await ended.wait(for: 3_000)
        await queue.drained()
        #expect(queue.coalescer.isEmpty)
    }

    @Test("cancelled while it joins, it leaves no transfer behind that nobody waits for")
    func cancelledWhileJoining() async throws {
        let time = MeddlingTime()
        let session = NetworkSession(stub: StubTransport { _, _ in .none }, source: time, random: 1)
        var hits = 0
        for call in 0..<8 {
            let queue = NetworkQueue(session: session) { $0.sharesEqualRequests = true }
            let operation = NetworkOperation(request())
            let isHit = Locked(false)
            time.atPresent(after: call) {
                // The transfer has just been made. As if the cancel had come a moment before, when it was known but not joined.
                guard !queue.coalescer.isEmpty, operation.result == nil else { return }
                isHit.withLock { $0 = true }
                operation.shared.withLock { $0.transfer = nil }
                operation.cancel()
            }
            queue.addOperation(operation)
            time.forget()
            if isHit.withLock({ $0 }) {
                hits += 1
                #expect(queue.coalescer.isEmpty)
            }
            await cleanUp(queue)
        }
        #expect(hits > 0)
    }

    @Test("the operation that makes the transfer goes away when that has ended")
    func released() async throws {
        let stage = Stage { _, _ in .none }
        let queue = NetworkQueue(session: stage.session) { $0.sharesEqualRequests = true }
        let operation = queue.send(request())
        await stage.transport.waitForSent(1)
        weak var leader: NetworkOperation?
        do {
            let key = try #require(operation.shared.withLock { $0.transfer?.key })
            leader = queue.coalescer.leader(of: key)
            #expect(leader != nil)
        }
        stage.transport.complete(stage.transport.sent[0].identifier, with: .status(200))
        _ = try await operation.response
        await becomesTrue { leader == nil }
    }

    private func cleanUp(_ queue: NetworkQueue) async {
        queue.cancelAllOperations()
        await queue.drained()
    }

    private final class Subclass: NetworkOperation, @unchecked Sendable {}
}
