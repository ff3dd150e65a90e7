import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Where an operation waits for the transfer of an equal one.
struct SharedTransfer: Sendable {
    let coalescer: Coalescer
    let key: Coalescer.Key
}

extension NetworkOperation {
    /// Waits for the transfer of an equal request in place of a slot, if the queue wants that and nothing about the operation
    /// is special. False if it has to go by itself.
    func joinEqual(round: Int) -> Bool {
        // A subclass may decide otherwise than the leader.
        guard round == 1, !isOfCallersMaking, !isWork else { return false }
        let authorizer = shared.withLock { $0.authorizer }
        let logIns = authorizer?.logIns
        let (transfer, request, queue) = shared.withLock { shared -> (SharedTransfer?, URLRequest?, NetworkQueue?) in
            guard let queue = shared.queue, shared.configuration?.value.sharesEqualRequests == true, !shared.isLeader,
                shared.destination == nil, shared.body == nil, shared.settings.isPlain,
                shared.session === queue.session, let request = shared.state.request, shared.state.phase == .inLine,
                let key = Coalescer.Key(request, logIns: logIns)
            else { return (nil, nil, nil) }
            let transfer = SharedTransfer(coalescer: queue.coalescer, key: key)
            shared.transfer = transfer
            return (transfer, request, queue)
        }
        guard let transfer, let request, let queue else { return false }
        transfer.coalescer.join(self, round: round, request: request, key: transfer.key, on: queue)
        // Had it ended meanwhile, its leaving would have come before its joining.
        if shared.withLock({ $0.state.phase == .ended }) { transfer.coalescer.leave(self, key: transfer.key) }
        return true
    }

    /// The operation waits no longer.
    func leaveEqual() {
        let transfer = shared.withLock { shared in
            defer { shared.transfer = nil }
            return shared.transfer
        }
        if let transfer { transfer.coalescer.leave(self, key: transfer.key) }
    }

    /// The transfer that it waited for has brought this.
    func take(_ result: Result<NetworkResponse, NetworkError>, _ attempts: [NetworkAttempt], round: Int) {
        guard inspectsResponse, case .success(let response) = result else {
            return apply { $0.state.took(result, attempts, round: round) }
        }
        DispatchQueue.global().async {
            let read = self.fault(of: response).map { .failure($0) } ?? result
            self.apply { $0.state.took(read, attempts, round: round) }
        }
    }

    /// Makes the operation one whose bytes others count too.
    func mirrors(_ mirror: @escaping @Sendable (Int64, Int64, TransferDirection) -> Void) {
        shared.withLock { shared in
            shared.isLeader = true
            shared.mirror = mirror
        }
    }

    /// Bytes of the transfer that the operation waits for have gone by. The leader has told the queue.
    func mirror(_ bytes: Int64, of total: Int64, _ direction: TransferDirection) {
        let session = boundSession
        let now = session.time.moment
        let path = Self.path(direction)
        let isDue = shared.withLock { $0[keyPath: path].moved(bytes, of: total, at: now).isDue }
        if isDue { session.pipeline.async { self.shared.withLock { $0[keyPath: path].update() }?.perform() } }
    }
}
