import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// The operation runs: events go to its state, and what that decides is done.

extension NetworkOperation {
    /// The session that the request goes over; known once the operation has started.
    var boundSession: NetworkSession { shared.withLock { $0.session ?? $0.queue?.session } ?? .shared }

    var time: any TimeSource { shared.withLock { $0.session ?? $0.queue?.session }?.time ?? SystemTime.shared }

    /// The operation is started, by its queue or by hand.
    func start(on queue: NetworkQueue?) {
        if let queue, queue !== OperationQueue.current {
            // Foundation may start it too, and would take a second start, or an end before its own, badly. On the main
            // thread the current queue is always the main one, so that a start by a queue that runs there cannot be told.
            let (isTaken, isPassed) = shared.withLock { ($0.state.take(), $0.isPassed) }
            guard isTaken || isPassed && Thread.isMainThread && queue.underlyingQueue != nil else { return }
            if isTaken { queue.dismiss(self) }
        }
        let deadline = bind(to: queue)
        willChangeValue(forKey: "isExecuting")
        let actions = shared.withLock { shared in
            let actions = shared.state.start(deadline: deadline)
            shared.isExecuting = shared.state.phase != .ended
            return actions
        }
        didChangeValue(forKey: "isExecuting")
        perform(actions)
    }

    /// The operation sets out before its queue has started it.
    ///
    /// - Returns: whether it finishes without being started; not if it was cancelled just before, or if Foundation has it.
    @discardableResult
    func begin(on queue: NetworkQueue) -> Bool {
        let deadline = bind(to: queue)
        apply { shared in
            let actions = shared.state.begin(deadline: deadline)
            // Foundation refuses elsewhere what is executing before it has it.
            if NetworkQueue.handsOverLate { shared.isExecuting = shared.state.phase != .ended }
            return actions
        }
        return shared.withLock { !$0.state.awaitsStart }
    }

    /// Settles what the operation runs on, unless that is settled.
    ///
    /// - Returns: when it has to end.
    private func bind(to queue: NetworkQueue?) -> Moment? {
        let timeout: Duration? = shared.withLock { shared in
            guard shared.state.phase == .idle, !shared.state.hasStarted else { return nil }
            shared.queue = queue
            shared.configuration = queue?.configurationBox
            shared.session = shared.session ?? queue?.session ?? .shared
            shared.isClaimed = true
            return shared.settings.timeout ?? shared.configuration?.value.timeout
        }
        return timeout.map { time.moment.advanced(by: $0.saturated) }
    }

    /// Feeds an event to the state under the lock, and does outside what it decides.
    func apply(_ event: (inout Shared) -> [OperationState.Action]) {
        let (actions, observers) = shared.withLock { shared in
            let phase = shared.state.phase
            let actions = event(&shared)
            if case .giveBack(_, let next)? = actions.first { shared.place?.round = next }
            let observers = shared.observers
            if let observers { shared.note(actions, after: phase, in: observers) }
            return (actions, observers)
        }
        observers?.handOn()
        perform(actions)
    }

    private func perform(_ actions: [OperationState.Action]) {
        var isSlotHeldByTask = false
        for action in actions {
            switch action {
            case .armDeadline(let instant): armDeadline(instant)
            case .build: build()
            case .enterLine(let round): enterLine(round)
            case .leaveLine(let round): if !isSlotHeldByTask { leaveLine(round) }
            case .giveBack(let round, let next):
                releaseProbe()
                giveBack(round, next)
            case .prepare(let request, let round): prepare(request, round)
            case .confirm(let request, let round): confirm(request, round)
            case .send(let request, let round): send(request, round)
            case .judge(let error, let round): judge(error, round)
            case .sleep(let instant, let round): sleep(until: instant, round)
            case .stop: isSlotHeldByTask = stop()
            case .deliver:
                deliver()
                apply { $0.state.delivered() }
            case .refund(let tokens): refund(tokens)
            case .finish: finish()
            }
        }
    }

    /// Stops what runs. True if the slot is given up later, when the task that is on the wire has ended.
    private func stop() -> Bool {
        let (parts, place, destination, hasCircuit) = shared.withLock {
            ($0.running.takeAll(), $0.place, $0.destination, $0.configuration?.circuits != nil)
        }
        defer { destination?.abandon {} }
        leaveEqual()
        if hasCircuit { releaseProbe() }
        return parts.stop { place?.leave(self) }
    }

    private func armDeadline(_ instant: Moment) {
        let now = time.moment
        guard instant > now else { return apply { $0.state.deadlineCame(now: now) } }
        let timer = time.schedule(at: instant) { [weak self] in
            guard let self else { return }
            let now = self.time.moment
            self.apply { shared in
                shared.time(shared.running.exchange?.timing)
                return shared.state.deadlineCame(now: now)
            }
        }
        keep(timer, in: \.deadlineTimer) { $0.phase != .ended }
    }

    func keep(
        _ timer: ScheduledTimer, in part: WritableKeyPath<RunningParts, ScheduledTimer?>,
        if isWanted: (OperationState) -> Bool
    ) {
        let isKept = shared.withLock { shared in
            guard isWanted(shared.state) else { return false }
            shared.running[keyPath: part] = timer
            return true
        }
        if !isKept { timer.cancel() }
    }

    private func finish() {
        completeProgress()
        willChangeValue(forKey: "isExecuting")
        willChangeValue(forKey: "isFinished")
        shared.withLock { shared in
            shared.isExecuting = false
            shared.isFinished = true
        }
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
        // Only now: a dependent that is let go here finds this operation finished in Foundation's books too.
        let (observers, released, isPassed) = shared.withLock { shared in
            defer {
                shared.finishObservers = []
                shared.hasToldFinish = true
                shared.queue = nil
                shared.session = nil
                shared.place = nil
                shared.stamp = nil
            }
            let released = (shared.queue, shared.session, shared.place, shared.stamp)
            return (shared.finishObservers, released, shared.isPassed)
        }
        if !isPassed { released.0?.forget(self) }
        let upstream = takeUpstream()
        if observers.count > 8 {
            // Not here: this may be the session's delegate queue, which many dependents must not keep busy.
            DispatchQueue.global().async { for observer in observers { observer() } }
        } else {
            for observer in observers { observer() }
        }
        // These may end here, and must not do so under the lock.
        _ = (released, upstream)
    }
}
