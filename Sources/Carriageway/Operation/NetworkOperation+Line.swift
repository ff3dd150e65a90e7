import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// In line for a slot, and out of it.

extension NetworkOperation {
    func enterLine(_ round: Int) {
        if joinEqual(round: round) { return }
        let (queue, session, host, request, hasCircuit) = shared.withLock { shared in
            (
                shared.queue, shared.session, shared.state.host, shared.state.request,
                shared.configuration?.circuits != nil
            )
        }
        guard let session, let request else { return }
        let place = LinePlace(queue: queue, session: session, host: host, round: round, entered: session.time.moment)
        if hasCircuit, endIfCircuitIsOpen() { return }
        let authorizer = authorizer(for: request)
        if let loss = authorizer?.loss { return credentialLost(loss) }
        // Off a queue it counts among the connections before it can be taken back.
        if place.queue == nil { place.session.lane.occupy(host: place.host) }
        let isWanted = shared.withLock { shared in
            guard shared.state.phase != .ended, shared.state.round == round else { return false }
            shared.place = place
            return true
        }
        guard let queue = place.queue else {
            return isWanted ? laneAdmits(round: round) : place.leave(self)
        }
        guard isWanted else { return }
        let priority = queuePriority
        queue.session.lane.enter(
            self, round: round, member: queue.laneMember, host: place.host,
            needsCredential: authorizer != nil, priority: priority.rawValue)
        if queuePriority != priority { settlePriority(queue) }
        catchUp(in: queue, authorizer)
        leaveIfEnded(place)
    }

    /// Back to the place in line, for the next round.
    func giveBack(_ round: Int, _ next: Int) {
        let now = time.moment
        let place = shared.withLock { shared in
            shared.place?.entered = now
            return shared.place
        }
        guard let place, let queue = place.queue else { return }
        queue.session.lane.giveBack(self, round: round, next: next)
        catchUp(in: queue, shared.withLock { $0.state.request }.flatMap { authorizer(for: $0) })
        leaveIfEnded(place)
    }

    /// What those in line were told while the operation got there has not reached it.
    func catchUp(in queue: NetworkQueue, _ authorizer: (any RequestAuthorizer)?) {
        if queue.configurationBox.events.isObserved { noteHold() }
        // Most have got a slot at once.
        guard shared.withLock({ $0.state.awaitsSlot($0.state.round) }) else { return }
        if queue.configurationBox.circuits != nil { _ = endIfCircuitIsOpen() }
        if let loss = authorizer?.loss { credentialLost(loss) }
    }

    /// Had the operation ended meanwhile without a slot, its leaving would have come before its entering.
    private func leaveIfEnded(_ place: LinePlace) {
        let round = place.round
        if shared.withLock({ $0.state.phase == .ended && $0.state.admittedRound != round }) { place.leave(self) }
    }

    func leaveLine(_ round: Int) {
        let (place, hasCircuit) = shared.withLock { shared in
            guard shared.place?.round == round else { return (nil as LinePlace?, false) }
            defer { shared.place = nil }
            return (shared.place, shared.configuration?.circuits != nil)
        }
        if hasCircuit { releaseProbe() }
        place?.leave(self)
    }
}

extension NetworkOperation: LaneClient {
    func laneAdmits(round: Int) {
        let time = time
        let (now, date) = (time.moment, time.date)
        var last: CredentialStamp?
        var refusal: NetworkError?
        apply { shared in
            // An operation that has opted out since asks for none: it must not go with that of the attempt before.
            (last, shared.stamp) = (shared.stamp, nil)
            let isPlain =
                isWork || shared.configuration?.value.prepare == nil && shared.authorizer == nil
            refusal = shared.refusal(of: self, round: round, now: now)
            guard refusal == nil else { return [] }
            if let entered = shared.place?.entered, shared.place?.round == round { shared.waited = now - entered }
            return shared.state.admitted(round: round, needsPreparation: !isPlain, now: now, date: date)
        }
        // It holds the caller's credential, which must not end under the lock.
        _ = last
        guard let refusal else { return }
        // Elsewhere: its slot goes to the next, who may be refused too, and so on to the end of a long line.
        boundSession.pipeline.async { self.apply { $0.state.blocked(by: refusal, round: round) } }
    }
}
