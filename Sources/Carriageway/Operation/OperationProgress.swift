import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The `Progress` of an operation, made when someone asks for it, and what was last said to it.
struct OperationProgress {
    let progress: Progress
    var received: Int64 = 0
    var expected: Int64 = -1
    /// Whether an update is on its way; the bytes of one do not queue up behind the other.
    var isUpdating = false
}

extension NetworkOperation {
    /// The bytes of the response's body: how many have come, and of how many where that is known.
    ///
    /// It never falls back, also when a retry begins anew. `totalUnitCount` is -1 while the length is not known, as under
    /// a content encoding. Cancelling it cancels the operation.
    public var progress: Progress {
        shared.withLock { shared in
            if let known = shared.progress { return known.progress }
            let progress = Progress.discreteProgress(totalUnitCount: -1)
            progress.isPausable = false
            progress.cancellationHandler = { [weak self] in self?.cancel() }
            shared.progress = OperationProgress(progress: progress)
            return progress
        }
    }

    /// Bytes have come. Runs on the session's delegate queue; the progress itself is told elsewhere, since it calls out.
    func received(_ received: Int64, of total: Int64, session: NetworkSession) {
        let isDue = shared.withLock { shared in
            guard var progress = shared.progress else { return false }
            progress.received = max(progress.received, received)
            progress.expected = total
            defer { shared.progress = progress }
            defer { progress.isUpdating = true }
            return !progress.isUpdating
        }
        if isDue { session.pipeline.async { self.updateProgress() } }
    }

    func updateProgress() {
        let update: OperationProgress? = shared.withLock { shared in
            shared.progress?.isUpdating = false
            return shared.progress
        }
        guard let update else { return }
        if update.expected >= update.received { update.progress.totalUnitCount = update.expected }
        update.progress.completedUnitCount = update.received
    }

    /// The operation has ended: the progress of a success is complete.
    func completeProgress() {
        let (progress, length) = shared.withLock { shared in
            let response = try? shared.state.result?.get()
            let received = shared.destination == nil ? 0 : shared.progress?.received ?? 0
            return (shared.progress?.progress, response.map { max(Int64($0.data.count), received) })
        }
        guard let progress, let length else { return }
        progress.totalUnitCount = max(length, 1)
        progress.completedUnitCount = progress.totalUnitCount
    }
}
