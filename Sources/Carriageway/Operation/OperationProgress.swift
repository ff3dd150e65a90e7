import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Which way bytes go.
enum TransferDirection: Sendable {
    case down
    case up
}

extension NetworkOperation {
    /// The bytes of the response's body: how many have come, and of how many where that is known.
    ///
    /// It never falls back, also when a retry begins anew; a download that goes on from an earlier run begins with what is
    /// there. `totalUnitCount` is -1 while the length is not known, as under a content encoding. Its
    /// `bytesPerSecond` is the speed. Cancelling it cancels the operation; pausing it pauses the
    /// transfer where `isPausable` says so, which it does not over `URLSession` on Linux.
    public var progress: Progress { progress(\.download) }

    /// The bytes of the request's body: how many have been handed to the network, and of how many where that is known.
    /// Otherwise as ``progress``.
    public var uploadProgress: Progress { progress(\.upload) }

    private func progress(_ direction: WritableKeyPath<Shared, TransferProgress>) -> Progress {
        shared.withLock { shared in
            let canPause = (shared.session ?? shared.queue?.session)?.transport.canPause ?? false
            return shared[keyPath: direction].asked {
                let progress = Progress.discreteProgress(totalUnitCount: -1)
                progress.isPausable = canPause
                progress.cancellationHandler = { [weak self] in self?.cancel() }
                progress.onPause { [weak self] in self?.holdTransfer($0) }
                return progress
            }
        }
    }

    /// Nothing more is read from the network until it is taken back. Of effect where the transport can.
    private func holdTransfer(_ isHeld: Bool) {
        let exchange = shared.withLock { shared in
            shared.isTransferHeld = isHeld
            return shared.running.exchange
        }
        if let exchange { settleHold(of: exchange, told: nil) }
    }

    /// Tells an exchange whether the caller holds the transfer, and once more if that has changed meanwhile.
    func settleHold(of exchange: Exchange, told: Bool?) {
        var told = told
        while case let isHeld = shared.withLock({ $0.isTransferHeld }), isHeld != told {
            exchange.hold(isHeld)
            told = isHeld
        }
    }

    /// The session is known: so is whether a transfer can be paused.
    func settlePausing(_ session: NetworkSession) {
        guard session.transport.canPause else { return }
        let known = shared.withLock { [$0.download.progress, $0.upload.progress] }
        for progress in known { progress?.isPausable = true }
    }

    /// Bytes have gone by. Runs on the session's delegate queue; the progress itself is told elsewhere, since it calls out.
    func moved(_ bytes: Int64, of total: Int64, _ direction: TransferDirection, session: NetworkSession) {
        let now = session.time.moment
        let path = Self.path(direction)
        let (moved, queue, mirror) = shared.withLock { shared in
            (shared[keyPath: path].moved(bytes, of: total, at: now), shared.queue, shared.mirror)
        }
        mirror?(bytes, total, direction)
        if moved.isDue { session.pipeline.async { self.shared.withLock { $0[keyPath: path].update() }?.perform() } }
        queue?.transfers.moved(moved.bytes, moved.expected, direction, session: session)
    }

    /// The operation has ended: the progress of a success is complete.
    func completeProgress() {
        let (down, up): (TransferProgress.Update?, TransferProgress.Update?) = shared.withLock { shared in
            guard case .success = shared.state.result else { return (nil, nil) }
            return (shared.download.completed(), shared.upload.completed())
        }
        down?.perform()
        up?.perform()
    }

    static func path(_ direction: TransferDirection) -> WritableKeyPath<Shared, TransferProgress> & Sendable {
        switch direction {
        case .down: \.download
        case .up: \.upload
        }
    }
}
