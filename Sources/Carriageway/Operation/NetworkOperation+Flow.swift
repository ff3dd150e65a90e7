import Foundation

// What keeps a host from being flooded, or lets a retry go sooner: the signs that attempts give of it.
extension NetworkOperation {
    // MARK: Early retry

    /// Sleeps until a retry is due, unless there is a sign before that it may succeed.
    func sleep(until instant: Moment, _ round: Int) {
        let (mayGoEarly, host) = shared.withLock { shared in
            let isOn = shared.configuration?.value.retriesEarly ?? true
            return (isOn && shared.state.mayRetryEarly, shared.state.host)
        }
        let session = boundSession
        // Before the timer is set: who sees that knows that the operation can go early.
        if mayGoEarly { session.earlyRetries.wait(self, round: round, host: host) }
        let timer = time.schedule(at: instant) { self.wake(round) }
        guard mayGoEarly else { return keepRetryTimer(timer, round) }
        let identifier = ObjectIdentifier(self)
        let place = ScheduledTimer {
            timer.cancel()
            session.earlyRetries.leave(identifier, round: round)
        }
        keepRetryTimer(place, round)
    }

    private func keepRetryTimer(_ timer: ScheduledTimer, _ round: Int) {
        keep(timer, in: \.retryTimer) { $0.phase == .backingOff && $0.round == round }
    }

    /// The wait before a retry is over, or cut short.
    func wake(_ round: Int) {
        var timer: ScheduledTimer?
        apply { shared in
            if shared.state.phase == .backingOff, shared.state.round == round {
                timer = shared.running.retryTimer
                shared.running.retryTimer = nil
            }
            return shared.state.woke(round: round)
        }
        timer?.cancel()
    }

    // MARK: Signs of the host

    /// An attempt has succeeded: the host's budget gets back what the last retry took, and others may retry early.
    func hostSucceeded(status: Int) {
        let (host, cost, hasCircuit) = shared.withLock {
            ($0.state.host, $0.state.lastRetryCost, $0.configuration?.circuits != nil)
        }
        let session = boundSession
        if let budget { session.spending.withLock { $0.give(cost ?? budget.reward, to: host) } }
        session.earlyRetries.succeeded(host)
        // A status of 500 that this caller's validation accepts is no better a sign.
        if hasCircuit { tellCircuit(status >= 500 ? .failing : .alive, error: nil) }
    }

    /// Tells the queue's circuit how an attempt ended. If that opens it, those in line for the host fail at once.
    func tellCircuit(_ sign: Circuits.Sign, error: NetworkError?) {
        let (circuits, host, queue) = shared.withLock {
            ($0.configuration?.circuits, $0.state.host, $0.queue)
        }
        guard let circuits else { return }
        let now = time.moment
        let error = error ?? .urlError(URLError(.badServerResponse))
        let isOpened = circuits.withLock {
            $0.ended(ObjectIdentifier(self), to: host, sign: sign, error: error, now: now)
        }
        guard isOpened, let queue else { return }
        for client in queue.session.lane.clientsInLine(of: queue.laneMember, host: host) {
            client.circuitOpened()
        }
    }

    /// The attempt ends without a sign of the host: another may be the probe.
    func releaseProbe() {
        shared.withLock { $0.releaseProbe(of: self) }
    }

    /// Whether the circuit lets a retry go after its wait.
    func isCircuitOpen(at instant: Moment) -> Bool {
        let (circuits, host) = shared.withLock { ($0.configuration?.circuits, $0.state.host) }
        return circuits?.withLock { $0.refusal(of: host, at: instant) } != nil
    }

    /// The credential that the operation stands in line for cannot be had.
    func credentialLost(_ error: NetworkError) {
        apply { $0.state.credentialLost(error) }
    }

    /// The queue's circuit to the host of one in line has been opened.
    func circuitOpened() { _ = endIfCircuitIsOpen() }

    /// Ends the operation if it stands in line for a host to which the circuit is open.
    func endIfCircuitIsOpen() -> Bool {
        let now = time.moment
        var isOpen = false
        apply { shared in
            guard let circuits = shared.configuration?.circuits, shared.state.awaitsSlot(shared.state.round),
                let last = circuits.withLock({
                    $0.refusal(of: shared.state.host, at: now, for: ObjectIdentifier(self))
                })
            else { return [] }
            isOpen = true
            return shared.state.blocked(by: last, round: shared.state.round)
        }
        return isOpen
    }
}

extension NetworkOperation.Shared {
    /// Another may be the probe of the operation's host.
    func releaseProbe(of operation: NetworkOperation) {
        configuration?.circuits?.withLock { $0.release(ObjectIdentifier(operation), host: state.host) }
    }

    /// Why the queue's circuit lets an operation that has just got its slot not pass; if it does it may be the probe.
    func refusal(of operation: NetworkOperation, round: Int, now: Moment) -> NetworkError? {
        guard let circuits = configuration?.circuits, state.awaitsSlot(round) else { return nil }
        return circuits.withLock { $0.admit(ObjectIdentifier(operation), to: state.host, now: now) }
    }
}
