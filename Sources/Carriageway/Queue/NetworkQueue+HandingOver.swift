import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// When a request sets out, and when Foundation gets it.

extension NetworkQueue {
    /// Lets an operation out of the waiting room: a request sets out at once if it can, everything else is Foundation's to
    /// start.
    func pass(_ operation: Operation) {
        if let request = operation as? NetworkOperation, setOut(request), Self.handsOverLate {
            return handOverLater(request)
        }
        handOver(operation)
    }

    /// Hands an operation to Foundation. Until that has it, the waiting room keeps it, so that it is always in one of both.
    private func handOver(_ operation: Operation) {
        if let request = operation as? NetworkOperation, !request.markPassed() {
            // It has ended by itself, or does so now, and is unfinished until then.
            if request.isFinished { forget(request) }
            return
        }
        super.addOperation(operation)
        waitingRoom.withLock { $0.forget(operation) }
        if !operation.dependencies.isEmpty { lookAgain() }
    }

    /// Lets a request set out before Foundation starts it: so requests go in the order in which they were added, not in
    /// that in which Foundation's threads happen to start them.
    ///
    /// Not on a suspended queue, nor where the width is limited: there it begins when it is started.
    private func setOut(_ request: NetworkOperation) -> Bool {
        guard !super.isSuspended, isOfAnyWidth, request.isReadyToBegin else { return false }
        return request.begin(on: self)
    }

    var isOfAnyWidth: Bool {
        super.maxConcurrentOperationCount == OperationQueue.defaultMaxConcurrentOperationCount
    }

    /// A request that has set out needs nothing of Foundation, and most have ended before anybody could see them in its list.
    /// On Linux to start and to end one more operation there costs two threads a wake-up, and more time than all of ours.
    #if canImport(FoundationNetworking)
        static let handsOverLate = true
    #else
        static let handsOverLate = false
    #endif

    private func handOverLater(_ request: NetworkOperation) {
        if waitingRoom.withLock({ $0.setOut(request) }) { lookLater() }
        // It may have ended before it could be watched.
        if request.isFinished { forget(request) }
    }

    func lookLater() {
        // Not by `asyncAfter`: where no descriptor is left, the first timer of a process ends it, and the system's time has
        // had its own from the start.
        // Nor weakly: that would make every use of the queue dearer, for the 10 ms that it may live longer.
        _ = SystemTime.shared.schedule(at: .now.advanced(by: .milliseconds(10))) {
            Self.handOvers.async { self.handOverLate() }
        }
    }

    /// Hands those over to Foundation that have been under way for 10 to 20 ms, but not while it would not start them: their
    /// end would have to wait for that.
    private func handOverLate() {
        handOverUnderWay { $0.overdue() }
        waitingRoom.withLock { $0.stopWatching() }
        // Only now: who makes the queue start operations again meanwhile leaves the watching to us.
        if startsAtOnce, waitingRoom.withLock({ $0.watch() }) { lookLater() }
    }

    /// Hands over those under way that `choice` takes out, and does then what may keep Foundation from starting them.
    func handOverUnderWay(_ choice: (inout WaitingRoom) -> [Operation], then change: () -> Void = {}) {
        // Apple's queues call out when they change.
        guard Self.handsOverLate else { return change() }
        handOverLock.withLock {
            if startsAtOnce { for operation in waitingRoom.withLock(choice) { handOver(operation) } }
            change()
        }
    }

    /// Whether Foundation starts what it is given.
    var startsAtOnce: Bool { !super.isSuspended && isOfAnyWidth }

    /// A request has ended without Foundation.
    func forget(_ request: NetworkOperation) {
        waitingRoom.withLock { $0.forget(request) }
    }

    private static let handOvers = DispatchQueue(label: "carriageway.handovers")
}
