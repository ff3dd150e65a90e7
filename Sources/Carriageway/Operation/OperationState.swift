import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The life of one request, from start to its one result: pure, without lock, timer or I/O.
///
/// An event is a mutating method; it returns what is to be done, in order, once the lock is released. Events that come
/// late, for a round that is over, change nothing.
struct OperationState {
    enum Phase: Equatable {
        /// Not started.
        case idle
        /// Started; the request is being made, from a dependency's response if need be.
        case building
        /// Waits for a slot.
        case inLine
        /// Has a slot; `prepare` is working on the request.
        case preparing
        /// Prepared, and asks the lane whether the slot still holds. If not it stands in line again.
        case confirming
        /// The request is out.
        case onWire
        /// The attempt failed; the policy and the caller are being asked.
        case judging
        /// Waits for its retry, without a slot.
        case backingOff
        /// Has its result.
        case ended
    }

    enum Action: Sendable {
        case armDeadline(Moment)
        case build
        case enterLine(round: Int)
        /// Give up the slot or the place in line.
        case leaveLine(round: Int)
        /// Give up the slot and stand where the operation stood in line, as its next round.
        case giveBack(round: Int, next: Int)
        case prepare(URLRequest, round: Int)
        /// Ask the lane whether the slot still holds, and say so with `confirmed` if it does.
        case confirm(URLRequest, round: Int)
        case send(URLRequest, round: Int)
        case judge(NetworkError, round: Int)
        case sleep(until: Moment, round: Int)
        /// Stop what runs: the exchange, `prepare`, timers.
        case stop
        /// The result is there: wake who awaits it, queue the handlers; then say that it is `delivered`.
        case deliver
        /// A retry that was paid for is not made: give this back to the host's budget.
        case refund(Int)
        /// Signal `isFinished`.
        case finish
    }

    private(set) var phase = Phase.idle
    /// Counts the times that the operation went in line; tells events of one attempt from those of the next.
    private(set) var round = 0
    /// The last round that got a slot.
    private(set) var admittedRound = 0
    /// Counts the slots, of which a round may have several; it begins anew at the end of its numbers.
    private(set) var admissions: UInt16 = 0
    private(set) var hasStarted = false
    /// Whether the operation must not finish before it is started: Foundation has it, or may get it.
    private(set) var awaitsStart = true
    private var isHandedOver = false
    /// Whether the caller starts it by hand, so that Foundation must not get it.
    private var isTaken = false
    private(set) var result: Result<NetworkResponse, NetworkError>?
    private(set) var attempts: [NetworkAttempt] = []
    /// The request that each attempt begins from.
    private(set) var request: URLRequest?
    /// The request's host and port; see ``URLRequest/hostKey``.
    private(set) var host = ""
    private(set) var deadline: Moment?
    /// What the last retry took from the host's budget.
    private(set) var lastRetryCost: Int?
    private(set) var hasRetriedIdleConnection = false
    /// Whether the retry that is waited for may be made sooner.
    private(set) var mayRetryEarly = false
    /// How often the request was sent again for a new credential; these attempts are no retries.
    private(set) var resends = 0
    private var isDelivered = false
    private var hasFinished = false
    private(set) var attemptStart: (instant: Moment, date: Date)?
    /// What has been measured of the attempt that is about to end.
    var timing: NetworkAttempt.Timing?

    // Made once: every request has them.
    private static let justBuild: [Action] = [.build]
    private static let justFinish: [Action] = [.finish]
}

// MARK: - Events

extension OperationState {
    /// The operation sets out. A queue may have it do so before it is started, and before Foundation knows of it; then it
    /// may finish without.
    mutating func begin(deadline: Moment?) -> [Action] {
        guard phase == .idle else { return [] }
        phase = .building
        awaitsStart = isHandedOver && !hasStarted
        self.deadline = deadline
        return deadline.map { [.armDeadline($0), .build] } ?? Self.justBuild
    }

    /// The queue, or the caller, starts the operation. A second start has no effect.
    mutating func start(deadline: Moment?) -> [Action] {
        guard !hasStarted else { return [] }
        hasStarted = true
        awaitsStart = false
        guard phase == .ended else { return begin(deadline: deadline) }
        // The handlers are queued before `isFinished` is true, also if the end and the start come together.
        return finish()
    }

    /// The handlers have been queued.
    mutating func delivered() -> [Action] {
        guard !isDelivered else { return [] }
        isDelivered = true
        return finish()
    }

    /// The operation is handed to Foundation, which takes an end before it has started it badly. False if that comes too
    /// late: the operation finishes without Foundation, or has started.
    mutating func handOver() -> Bool {
        guard !hasStarted, !isTaken else { return false }
        guard awaitsStart || phase != .ended else { return false }
        awaitsStart = true
        isHandedOver = true
        return true
    }

    /// The caller is about to start the operation by hand. False if that comes too late: it has set out, or Foundation has it,
    /// or gets it.
    mutating func take() -> Bool {
        guard awaitsStart, !isHandedOver else { return false }
        isTaken = true
        return true
    }

    /// Once, when the handlers have been queued and no start is to come.
    private mutating func finish() -> [Action] {
        guard isDelivered, !awaitsStart, !hasFinished else { return [] }
        hasFinished = true
        return Self.justFinish
    }

    /// The request was made, or cannot be.
    mutating func built(_ request: Result<URLRequest, NetworkError>) -> [Action] {
        guard phase == .building else { return [] }
        switch request {
        case .success(let request):
            self.request = request
            host = request.hostKey
            return goInLine()
        case .failure(let error):
            return end(.failure(error))
        }
    }

    /// The lane gave a slot.
    mutating func admitted(
        round: Int, needsPreparation: Bool, now: Moment, date: Date
    ) -> [Action] {
        guard awaitsSlot(round), let request else {
            return [.leaveLine(round: round)]
        }
        admittedRound = round
        admissions &+= 1
        attemptStart = (now, date)
        if needsPreparation {
            phase = .preparing
            return [.prepare(request, round: round)]
        }
        phase = .onWire
        return [.send(request, round: round)]
    }

    /// `prepare` has done its work.
    mutating func prepared(_ request: Result<URLRequest, NetworkError>, round: Int, now: Moment)
        -> [Action]
    {
        guard phase == .preparing, round == self.round else { return [] }
        switch request {
        case .success(let request):
            phase = .confirming
            return [.confirm(request, round: round)]
        case .failure(let error):
            return failed(with: error, now: now)
        }
    }

    /// The credential is being renewed: back to the place in line until that is over.
    mutating func postponed(round: Int) -> [Action] {
        guard phase == .preparing, round == self.round else { return [] }
        return goBack()
    }

    /// There is no credential to be had.
    mutating func refused(with error: NetworkError, round: Int) -> [Action] {
        guard phase == .preparing, round == self.round else { return [] }
        return end(.failure(error))
    }

    /// There is no credential for those who stand in line for it.
    mutating func credentialLost(_ error: NetworkError) -> [Action] {
        guard awaitsSlot(round) else { return [] }
        return end(.failure(error))
    }

    /// Whether word of a slot for the round is not late.
    func awaitsSlot(_ round: Int) -> Bool {
        (phase == .inLine || phase == .confirming) && round == self.round
    }

    /// The queue's circuit to the host is open: nothing is sent. A retry that was paid for is not made.
    mutating func blocked(by last: NetworkError, round: Int) -> [Action] {
        guard awaitsSlot(round) else { return [.leaveLine(round: round)] }
        if !attempts.isEmpty { attempts[attempts.count - 1].notRetried = .circuitOpen }
        return end(.failure(.inaccessible(after: attempts.count, last: last)), refunding: lastRetryCost)
    }

    /// The slot still holds after `prepare`. If instead the queue or the host was held meanwhile the lane has put the
    /// operation back to its place in line, and `admitted` comes once more, to prepare anew.
    mutating func confirmed(_ request: URLRequest, round: Int) -> [Action] {
        guard phase == .confirming, round == self.round else { return [] }
        phase = .onWire
        return [.send(request, round: round)]
    }

    /// A response came and passed validation.
    mutating func succeeded(_ reply: Exchange.Reply, round: Int, now: Moment) -> [Action] {
        guard phase == .onWire, round == self.round else { return [] }
        record(.succeeded(statusCode: reply.head.statusCode), now: now)
        let response = NetworkResponse(
            data: reply.data, head: reply.head, request: reply.request, attempts: attempts,
            redirects: reply.redirects, fileURL: reply.file)
        return end(.success(response))
    }

    /// The transfer of an equal request, which the operation waited for, has ended with this.
    mutating func took(
        _ result: Result<NetworkResponse, NetworkError>, _ attempts: [NetworkAttempt], round: Int
    ) -> [Action] {
        guard phase == .inLine, round == self.round else { return [] }
        self.attempts = attempts
        return end(result)
    }

    /// The exchange failed, or its response did not pass validation.
    mutating func failed(with error: NetworkError, round: Int, now: Moment) -> [Action] {
        guard phase == .onWire, round == self.round else { return [] }
        return failed(with: error, now: now)
    }

    /// The server turned the credential down, and there may be another: the request is sent again, from its old place in
    /// line. Nil if it has been sent again too often, so that the response is its answer.
    mutating func unauthorized(_ error: NetworkError, round: Int, now: Moment) -> [Action]? {
        guard phase == .onWire, round == self.round else { return [] }
        guard resends < RenewalRule.resends else { return nil }
        resends += 1
        record(.failed(error), now: now)
        return goBack()
    }

    /// The decision over a failed attempt.
    mutating func judged(
        _ verdict: RetryVerdict, of error: NetworkError, round: Int, isIdleConnectionRetry: Bool,
        mayRetryEarly: Bool = false, now: Moment
    ) -> [Action] {
        guard phase == .judging, round == self.round else { return [] }
        switch verdict {
        case .giveUp(let reason):
            attempts[attempts.count - 1].notRetried = reason
            let isUsedUp = reason == .noAttemptsLeft && attempts.count > 1 + resends || reason == .circuitOpen
            return end(.failure(isUsedUp ? .inaccessible(after: attempts.count, last: error) : error))
        case .retry(let delay, let cost):
            lastRetryCost = cost
            self.mayRetryEarly = mayRetryEarly
            if isIdleConnectionRetry { hasRetriedIdleConnection = true }
            guard delay > .zero else { return goInLine() }
            phase = .backingOff
            return [.sleep(until: now.advanced(by: delay), round: round)]
        }
    }

    /// The caller has answered in the stead of the response that was refused.
    mutating func recovered(
        _ result: Result<NetworkResponse, NetworkError>, notRetried reason: NotRetriedReason, round: Int
    ) -> [Action] {
        guard phase == .judging, round == self.round else { return [] }
        attempts[attempts.count - 1].notRetried = reason
        return end(result)
    }

    /// The wait before a retry is over.
    mutating func woke(round: Int) -> [Action] {
        guard phase == .backingOff, round == self.round else { return [] }
        return goInLine()
    }

    /// The caller has no use for the result any longer.
    mutating func cancel(now: Moment) -> [Action] {
        abort(with: .cancelled, now: now)
    }

    /// The operation's timeout ran out.
    mutating func deadlineCame(now: Moment) -> [Action] {
        abort(with: .deadlineExceeded, now: now)
    }
}

// MARK: - Transitions

extension OperationState {
    private mutating func goInLine() -> [Action] {
        round += 1
        phase = .inLine
        return [.enterLine(round: round)]
    }

    private mutating func goBack() -> [Action] {
        let last = round
        round += 1
        phase = .inLine
        return [.giveBack(round: last, next: round)]
    }

    private mutating func failed(with error: NetworkError, now: Moment) -> [Action] {
        record(.failed(error), now: now)
        phase = .judging
        return [.leaveLine(round: round), .judge(error, round: round)]
    }

    private mutating func abort(with error: NetworkError, now: Moment) -> [Action] {
        guard phase != .ended else { return [] }
        if phase == .onWire { record(.failed(error), now: now) }
        if !attempts.isEmpty {
            attempts[attempts.count - 1].notRetried = error.isCancelled ? .cancelled : .deadline
        }
        return end(.failure(error))
    }

    private mutating func end(
        _ result: Result<NetworkResponse, NetworkError>, refunding unmade: Int? = nil
    ) -> [Action] {
        let refund = phase == .backingOff ? lastRetryCost : unmade
        let wasOutside: Bool
        switch phase {
        case .inLine, .preparing, .confirming, .onWire: wasOutside = true
        case .idle, .building, .judging, .backingOff, .ended: wasOutside = false
        }
        phase = .ended
        self.result = result
        request = nil
        guard let refund, refund > 0 else {
            return wasOutside ? [.stop, .leaveLine(round: round), .deliver] : [.stop, .deliver]
        }
        return [.stop, .refund(refund)] + (wasOutside ? [.leaveLine(round: round), .deliver] : [.deliver])
    }

    private mutating func record(_ outcome: NetworkAttempt.Outcome, now: Moment) {
        guard let start = attemptStart else { return }
        attemptStart = nil
        attempts.append(
            NetworkAttempt(
                number: attempts.count + 1, started: start.date, duration: now - start.instant, outcome: outcome,
                timing: timing))
        timing = nil
    }
}

extension NetworkError {
    var isCancelled: Bool {
        if case .cancelled = self { return true }
        return false
    }
}
