import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The bytes of all requests of a queue, added up.
final class QueueTransfers: Sendable {
    fileprivate struct State {
        var download = Sum()
        var upload = Sum()
    }

    /// One direction.
    fileprivate struct Sum {
        var bytes: Int64 = 0
        var expected: Int64 = 0
        var transfer = TransferProgress()
    }

    private let state = Locked(State())

    /// The progress of a direction; what went by before it was first asked for counts too.
    func progress(_ direction: TransferDirection, of queue: NetworkQueue) -> Progress {
        state.withLock { state in
            state[direction].transfer.asked {
                let progress = Progress.discreteProgress(totalUnitCount: -1)
                progress.isPausable = true
                progress.cancellationHandler = { [weak queue] in queue?.cancelAllOperations() }
                progress.onPause { [weak queue] in queue?.isSuspended = $0 }
                return progress
            }
        }
    }

    /// Further bytes have gone by, and so many more are expected in all.
    func moved(_ bytes: Int64, _ expected: Int64, _ direction: TransferDirection, session: NetworkSession) {
        let now = session.time.moment
        let isDue = state.withLock { state in
            state[direction].bytes += bytes
            state[direction].expected += expected
            let sum = state[direction]
            return state[direction].transfer.moved(sum.bytes, of: max(sum.expected, sum.bytes), at: now).isDue
        }
        guard isDue else { return }
        session.pipeline.async { self.state.withLock { $0[direction].transfer.update() }?.perform() }
    }
}

extension QueueTransfers.State {
    fileprivate subscript(direction: TransferDirection) -> QueueTransfers.Sum {
        get {
            switch direction {
            case .down: download
            case .up: upload
            }
        }
        set {
            switch direction {
            case .down: download = newValue
            case .up: upload = newValue
            }
        }
    }
}

extension NetworkQueue {
    /// The bytes of the bodies of all requests of the queue so far, added up; otherwise as ``progress``.
    public var uploadProgress: Progress { transfers.progress(.up, of: self) }
}
