import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What happens in the middle of something else: between what one decides and what comes of it.
struct MeanwhileTests {
    private let time = MeddlingTime()
    private let stub = StubTransport(maxConnectionsPerHost: 1) { _, _ in .none }
    private let session: NetworkSession

    init() {
        session = NetworkSession(stub: stub, source: time, random: 1)
    }

    private func isInLine(_ operation: NetworkOperation, _ queue: NetworkQueue) -> Bool {
        session.lane.clientsInLine(of: queue.laneMember, host: nil).contains { $0 === operation }
    }

    @Test("a queue that another thread suspends while it is resumed lets nothing out", arguments: 0..<4)
    func suspendedWhileResumed(call: Int) async {
        let queue = NetworkQueue(session: session)
        let first = queue.send(request("/first"))
        await stub.waitForSent(1)
        let second = queue.send(request("/second"))
        await becomesTrue { isInLine(second, queue) }
        queue.isSuspended = true
        time.atPresent(after: call) { DispatchQueue.elsewhere { queue.isSuspended = true } }
        queue.isSuspended = false
        let isSuspended = queue.isSuspended
        #expect(time.forget() == isSuspended)
        stub.complete(1, with: .status(200))
        await first.finished()
        stub.settled()
        #expect(stub.sent.count == (isSuspended ? 1 : 2), "suspended: \(isSuspended)")
        queue.isSuspended = false
        await stub.waitForSent(2)
        second.cancel()
        await queue.drained()
    }

    @Test("suspended and resumed by two threads, the lane and the observers have in the end what the queue has")
    func suspendedByTwo() async {
        for _ in 0..<50 {
            let stage = Stage(maxConnectionsPerHost: 1)
            let queue = NetworkQueue(session: stage.session)
            let held = Locked(false)
            let observation = queue.addObserver { event in
                switch event.kind {
                case .held(.suspended): held.withLock { $0 = true }
                case .resumed: held.withLock { $0 = false }
                default: break
                }
            }
            let first = queue.send(request("/first"))
            await stage.transport.waitForSent(1)
            let second = queue.send(request("/second"))
            await becomesTrue { queue.session.lane.counts(of: queue.laneMember).waiting == 1 }
            await withTaskGroup(of: Void.self) { group in
                for isFirst in [true, false] {
                    group.addTask {
                        for number in 0..<100 { queue.isSuspended = number.isMultiple(of: 2) == isFirst }
                    }
                }
            }
            let isSuspended = queue.isSuspended
            await becomesTrue { held.withLock { $0 } == isSuspended }
            stage.transport.complete(1, with: .status(200))
            await first.finished()
            stage.transport.settled()
            #expect(stage.transport.sent.count == (isSuspended ? 1 : 2))
            second.cancel()
            queue.isSuspended = false
            await queue.drained()
            observation.cancel()
        }
    }

    @Test("a circuit that opens while a request enters the line ends it", arguments: 0..<6)
    func circuitOpened(call: Int) async {
        let queue = NetworkQueue(session: session) {
            $0.retryPolicy = .never
            $0.circuitBreaker = CircuitBreaker(failures: 1, coolDown: .seconds(30))
        }
        let failing = queue.send(request("/failing"))
        await stub.waitForSent(1)
        let stub = stub
        time.atPresent(after: call) {
            queue.isSuspended = true
            stub.complete(1, with: .failure(.timedOut))
            failing.waitUntilFinished()
        }
        let operation = queue.send(request("/entering"))
        // Nobody is left in line behind an open circuit.
        if time.forget() { #expect(!isInLine(operation, queue)) }
        queue.cancelAllOperations()
        queue.isSuspended = false
        await queue.drained()
    }

    @Test("a priority that is set while the request enters the line counts there", arguments: 0..<6)
    func prioritySet(call: Int) async {
        let queue = NetworkQueue(session: session)
        queue.send(request("/first"))
        await stub.waitForSent(1)
        queue.send(request("/second"))
        let urgent = NetworkOperation(request("/urgent"))
        time.atPresent(after: call) { urgent.queuePriority = .veryHigh }
        queue.addOperation(urgent)
        await becomesTrue { queue.session.lane.counts(of: queue.laneMember).waiting == 2 }
        let isUrgent = time.forget()
        stub.complete(1, with: .status(200))
        await stub.waitForSent(2)
        #expect(stub.sent.last?.request.url?.path == (isUrgent ? "/urgent" : "/second"))
        queue.cancelAllOperations()
        await queue.drained()
    }

    @Test("a probe that goes back in line, and has its next slot before that is done, is the only probe still")
    func probeAdmittedAnew() async {
        let prepared = Counter()
        let gate = AsyncGate()
        let suspend = Locked<(@Sendable () -> Void)?>(nil)
        let queue = NetworkQueue(session: session) {
            $0.retryPolicy = .never
            $0.circuitBreaker = CircuitBreaker(failures: 1, coolDown: .seconds(30))
            $0.prepare = { _ in
                prepared.increment()
                switch prepared.value {
                case 1: break
                case 2: suspend.withLock { $0 }?()
                default: await gate.pass()
                }
            }
        }
        let failing = queue.send(request())
        await stub.waitForSent(1)
        stub.complete(1, with: .failure(.timedOut))
        await failing.finished()
        time.clock.advance(by: .seconds(30))
        // The connection that the probe gives back goes to another queue's request, which lets the first queue go on.
        let other = NetworkQueue(session: session)
        let meddler = Meddler(session.lane) { DispatchQueue.elsewhere { queue.isSuspended = false } }
        let lane = session.lane
        suspend.withLock {
            $0 = {
                queue.isSuspended = true
                lane.enter(
                    meddler, round: 1, member: other.laneMember, host: request().hostKey, needsCredential: false,
                    priority: 0)
            }
        }
        let probe = queue.send(request())
        await prepared.wait(for: 3)
        session.pipeline.sync {}
        let refusal = queue.configurationBox.circuits?.withLock {
            $0.refusal(of: request().hostKey, at: Moment(time.clock.now))
        }
        #expect(refusal != nil)
        gate.open()
        await stub.waitForSent(2)
        probe.cancel()
        await queue.drained()
        suspend.withLock { $0 = nil }
    }

    /// One that does something when it is admitted, and then leaves.
    private final class Meddler: LaneClient {
        private let lane: Lane
        private let action: @Sendable () -> Void

        init(_ lane: Lane, _ action: @escaping @Sendable () -> Void) { (self.lane, self.action) = (lane, action) }

        func laneAdmits(round: Int) {
            lane.leave(self, round: round)
            action()
        }
    }
}
