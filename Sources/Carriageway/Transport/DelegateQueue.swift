#if canImport(FoundationNetworking)
    import Foundation

    /// The delegate queue of a `URLSession` on Linux, which makes the session wait while too much waits in it.
    ///
    /// Foundation there reads from the network as fast as that gives, and puts each piece, of up to 16 KB, into the delegate
    /// queue as a block. When the disk or a busy machine makes the delegate slower, the pieces pile up: hundreds of
    /// megabytes of a gigabyte were seen. There is no way to pause a task; but the blocks are added on the queue on which
    /// Foundation reads, so that it reads no more while `addOperation(_:)` does not return.
    ///
    /// All sessions of the process share that queue. It is therefore held only for what has come already to be dealt with,
    /// never for a reader, for `longestWait` at most for each piece, and not while a session of this package needs it, or the
    /// delegate waits for one that does: both say so by ``Hold/urgently(_:)``.
    ///
    /// Its blocks run on a dispatch queue, one after the other: to make an `Operation` of each, as `OperationQueue` does, and to
    /// start and end it costs more than all that is done in most of them. Foundation adds nothing but blocks.
    ///
    /// `@unchecked Sendable` as every `OperationQueue`: what it adds is guarded by the condition of `hold`.
    package final class DelegateQueue: OperationQueue, @unchecked Sendable {
        /// From how many blocks on Foundation waits, and up to how many it may go on.
        private let (high, low): (Int, Int)
        private let longestWait: TimeInterval
        private let hold: Hold
        private let blocks = DispatchQueue(label: "carriageway.delegate")
        private static let owner = DispatchSpecificKey<ObjectIdentifier>()
        private var count = 0
        private var isHolding = false

        /// - Parameters:
        ///   - high: how many blocks may wait: 2 MB of a body unless given.
        ///   - longestWait: in seconds. It bounds what a disk that hangs does to the other requests of the process.
        package init(high: Int = 128, longestWait: TimeInterval = 0.05, hold: Hold = .shared) {
            (self.high, self.low) = (high, high / 2)
            self.longestWait = longestWait
            self.hold = hold
            super.init()
            maxConcurrentOperationCount = 1
            blocks.setSpecific(key: Self.owner, value: ObjectIdentifier(self))
        }

        private var isCurrent: Bool { DispatchQueue.getSpecific(key: Self.owner) == ObjectIdentifier(self) }

        package override func addOperation(_ block: @escaping @Sendable () -> Void) {
            hold.condition.withLock {
                count += 1
                if count > high, !isCurrent { wait() }
            }
            blocks.async {
                block()
                self.ended()
            }
        }

        /// Does something once the blocks that are there have run; the caller does not wait, and nobody for it.
        package func afterAll(_ action: @escaping @Sendable () -> Void) { blocks.async(execute: action) }

        /// How many blocks there are that have not run, and whether Foundation waits for them.
        package var backlog: (count: Int, isHeld: Bool) { hold.condition.withLock { (count, isHolding) } }

        private func wait() {
            let deadline = Date(timeIntervalSinceNow: longestWait)
            isHolding = true
            defer { isHolding = false }
            while count > low, hold.urgentCalls == 0, hold.condition.wait(until: deadline) {}
        }

        private func ended() {
            hold.condition.withLock {
                count -= 1
                if isHolding, count <= low { hold.condition.broadcast() }
            }
        }

        /// What the delegate queues of a process share, as they share the queue that they hold.
        package final class Hold: @unchecked Sendable {
            package static let shared = Hold()

            fileprivate let condition = NSCondition()
            /// Guarded by `condition`.
            fileprivate var urgentCalls = 0

            package init() {}

            /// Does what takes the queue that Foundation reads on: nobody holds it until then.
            package func urgently<Result>(_ body: () -> Result) -> Result {
                condition.withLock {
                    urgentCalls += 1
                    condition.broadcast()
                }
                defer { condition.withLock { urgentCalls -= 1 } }
                return body()
            }
        }
    }
#endif
