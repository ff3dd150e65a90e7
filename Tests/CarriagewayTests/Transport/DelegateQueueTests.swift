#if canImport(FoundationNetworking)
    import Foundation
    import Testing

    @testable import Carriageway

    /// The delegate queue that holds `URLSession` on Linux while too much waits in it.
    @Suite(.timeLimit(.minutes(10)))
    struct DelegateQueueTests {
        /// Keeps the queue busy until it is opened.
        private final class Barrier: Sendable {
            private let semaphore = DispatchSemaphore(value: 0)
            func pass() { semaphore.wait() }
            func open() { semaphore.signal() }
        }

        /// Adds blocks on a thread of its own.
        private func add(_ count: Int, to queue: DelegateQueue, _ block: @escaping @Sendable () -> Void) -> Counter {
            let hasAdded = Counter()
            Thread.detachNewThread {
                for _ in 0..<count {
                    queue.addOperation(block)
                    hasAdded.increment()
                }
            }
            return hasAdded
        }

        private func untilHeld(_ queue: DelegateQueue) async throws {
            while !queue.backlog.isHeld { try await Task.sleep(for: .milliseconds(1)) }
        }

        @Test("who adds more than may wait is held until half of it has run; all of it runs, in order")
        func held() async throws {
            let queue = DelegateQueue(high: 10, longestWait: 600, hold: .init())
            let (barrier, ran) = (Barrier(), Counter())
            queue.addOperation { barrier.pass() }
            let hasAdded = add(20, to: queue) { ran.increment() }
            try await untilHeld(queue)
            #expect(hasAdded.value == 9 && queue.backlog.count == 11 && ran.value == 0)
            barrier.open()
            await hasAdded.wait(for: 10)
            #expect(ran.value >= 5)
            await ran.wait(for: 20)
        }

        @Test("it is not held while somebody needs it, nor from its own blocks, nor for longer than it may be")
        func released() async throws {
            let hold = DelegateQueue.Hold()
            let queue = DelegateQueue(high: 2, longestWait: 600, hold: hold)
            let barrier = Barrier()
            queue.addOperation { barrier.pass() }
            let hasAdded = add(2, to: queue) {}
            try await untilHeld(queue)
            #expect(hasAdded.value == 1)
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    // As a task that is started: it waits for the queue that adds.
                    hold.urgently { while hasAdded.value < 2 { usleep(1_000) } }
                    continuation.resume()
                }
            }
            barrier.open()
            let own = Counter()
            queue.addOperation { for _ in 0..<10 { queue.addOperation { own.increment() } } }
            await own.wait(for: 10)

            let impatient = DelegateQueue(high: 2, longestWait: 0.001, hold: .init())
            let second = Barrier()
            impatient.addOperation { second.pass() }
            await add(20, to: impatient) {}.wait(for: 20)
            second.open()
        }

        @Test("URLSession reads no more than may wait while its delegate is busy, and all of it in the end")
        func boundsFoundation() async throws {
            // In a process of its own: there the queue that all sessions share is held.
            let trial = try #require(TrialProcess.executable())
            let outcome = try await TrialProcess.run(trial.path, ["busy-delegate"])
            #expect(outcome.status == 0, "\(outcome.text)")
        }
    }
#endif
