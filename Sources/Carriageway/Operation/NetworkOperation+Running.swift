import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What runs for an operation now, and must be stopped when it ends.
struct RunningParts {
    var exchange: Exchange?
    var preparation: Task<Void, Never>?
    var deadlineTimer: ScheduledTimer?
    var retryTimer: ScheduledTimer?

    mutating func takeAll() -> RunningParts {
        defer { self = RunningParts() }
        return self
    }

    /// Whether the round's result is still wanted is the state's to say; this only ends what works for it.
    ///
    /// - Returns: whether `onRelease` will be called, when the task that is on the wire has ended.
    func stop(onRelease: @escaping @Sendable () -> Void) -> Bool {
        preparation?.cancel()
        deadlineTimer?.cancel()
        retryTimer?.cancel()
        return exchange?.abandon(onRelease: onRelease) ?? false
    }
}

/// Where an operation stands in line, or has its slot: on its queue's lane, or, without a queue, just counted among the
/// session's connections to the host.
struct LinePlace {
    let queue: NetworkQueue?
    let session: NetworkSession
    let host: String
    var round: Int
    var entered: Moment

    func leave(_ operation: NetworkOperation) {
        if let queue {
            queue.session.lane.leave(operation, round: round)
        } else {
            session.lane.vacate(host: host)
        }
    }
}

extension NetworkOperation {
    /// The session that the request goes over; known once the operation has started.
    var boundSession: NetworkSession { shared.withLock { $0.session ?? $0.queue?.session } ?? .shared }

    var time: any TimeSource { shared.withLock { $0.session ?? $0.queue?.session }?.time ?? SystemTime.shared }

    /// The operation is started, by its queue or by hand.
    func start(on queue: NetworkQueue?) {
        if let queue, queue !== OperationQueue.current {
            // Foundation will start it too, and would take a second start, or an end before its own, badly. On the main
            // thread the current queue is always the main one, so that a start by the queue cannot be told there.
            guard Thread.isMainThread || !shared.withLock({ $0.isPassed }) else { return }
            queue.dismiss(self)
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
    func begin(on queue: NetworkQueue) {
        let deadline = bind(to: queue)
        apply { shared in
            let actions = shared.state.begin(deadline: deadline)
            // Foundation refuses elsewhere what is executing before it has it.
            if NetworkQueue.handsOverLate { shared.isExecuting = shared.state.phase != .ended }
            return actions
        }
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
        defer { destination?.abandon() }
        leaveEqual()
        if hasCircuit { releaseProbe() }
        return parts.stop { place?.leave(self) }
    }

    // MARK: Making the request

    private func build() {
        // Without a timeout to speak of it has ended already.
        guard shared.withLock({ $0.state.phase == .building }) else { return }
        let request: Result<URLRequest, NetworkError>
        do throws(NetworkError) {
            request = .success(try check(try makeRequest()))
        } catch {
            request = .failure(error)
        }
        apply { $0.state.built(request) }
    }

    private func check(_ request: URLRequest) throws(NetworkError) -> URLRequest {
        try RequestCheck.checked(request, body: body, takesIPv6: boundSession.transport.takesIPv6Addresses)
    }

    private func makeRequest() throws(NetworkError) -> URLRequest {
        try checkDependencies()
        let source = shared.withLock { $0.source }
        var request: URLRequest
        switch source {
        case .request(let given): request = given
        case .after(let dependency, let build): request = try Self.request(after: dependency, build)
        case nil: throw .cancelled
        }
        try body?.attach(to: &request)
        let policy = retryPolicy
        if policy.generatesIdempotencyKey, !MethodRule.isIdempotent(request.httpMethod ?? "GET"),
            request.value(forHTTPHeaderField: "Idempotency-Key") == nil
        {
            request.setValue(UUID().uuidString, forHTTPHeaderField: "Idempotency-Key")
        }
        return request
    }

    private static func request(
        after dependency: NetworkOperation, _ build: @Sendable (NetworkResponse) throws -> URLRequest
    ) throws(NetworkError) -> URLRequest {
        switch dependency.result {
        case .success(let response):
            do { return try build(response) } catch { throw NetworkError(thrown: error) }
        case .failure(let error): throw .dependencyFailed(error.innermostCause)
        case nil: throw .invalidRequest("started before the operation that it depends on has ended")
        }
    }

    // MARK: In line

    private func enterLine(_ round: Int) {
        if joinEqual(round: round) { return }
        let (place, request, hasCircuit) = shared.withLock { shared in
            let place = shared.session.map {
                LinePlace(
                    queue: shared.queue, session: $0, host: shared.state.host, round: round, entered: $0.time.moment)
            }
            return (place, shared.state.request, shared.configuration?.circuits != nil)
        }
        guard let place, let request else { return }
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
        queue.session.lane.enter(
            self, round: round, member: queue.laneMember, host: place.host,
            needsCredential: authorizer != nil, priority: queuePriority.rawValue)
        if queue.configurationBox.events.isObserved { noteHold() }
        leaveIfEnded(place)
    }

    /// Back to the place in line, for the next round.
    private func giveBack(_ round: Int, _ next: Int) {
        let now = time.moment
        let place = shared.withLock { shared in
            shared.place?.entered = now
            return shared.place
        }
        guard let place, let queue = place.queue else { return }
        queue.session.lane.giveBack(self, round: round, next: next)
        if queue.configurationBox.events.isObserved { noteHold() }
        leaveIfEnded(place)
    }

    /// Had the operation ended meanwhile without a slot, its leaving would have come before its entering.
    private func leaveIfEnded(_ place: LinePlace) {
        let round = place.round
        if shared.withLock({ $0.state.phase == .ended && $0.state.admittedRound != round }) { place.leave(self) }
    }

    private func leaveLine(_ round: Int) {
        let (place, hasCircuit) = shared.withLock { shared in
            guard shared.place?.round == round else { return (nil as LinePlace?, false) }
            defer { shared.place = nil }
            return (shared.place, shared.configuration?.circuits != nil)
        }
        if hasCircuit { releaseProbe() }
        place?.leave(self)
    }

    // MARK: On the wire

    private func prepare(_ request: URLRequest, _ round: Int) {
        guard let prepare = shared.withLock({ $0.configuration?.value.prepare }), !boundSession.isInvalidated else {
            return authorize(request, round)
        }
        let task = Task {
            var request = request
            let prepared: Result<URLRequest, NetworkError>
            do {
                try await prepare(&request)
                prepared = .success(try self.check(request))
            } catch {
                prepared = .failure(NetworkError(thrown: error))
            }
            self.boundSession.pipeline.async { self.prepared(prepared, round) }
        }
        let isWanted = shared.withLock { shared in
            guard shared.state.phase == .preparing, shared.state.round == round else { return false }
            shared.running.preparation = task
            return true
        }
        if !isWanted { task.cancel() }
    }

    private func prepared(_ request: Result<URLRequest, NetworkError>, _ round: Int) {
        switch request {
        case .success(let request): authorize(request, round)
        case .failure:
            let now = time.moment
            apply { shared in
                shared.failure = FailedAttempt()
                return shared.state.prepared(request, round: round, now: now)
            }
        }
    }

    /// Asks for the credential that goes into the attempt, where there is one.
    private func authorize(_ request: URLRequest, _ round: Int) {
        let session = boundSession
        guard let authorizer = authorizer(for: request), !session.isInvalidated else {
            return authorized(request, nil, round)
        }
        authorizer.authorize(over: session) { authorization in
            switch authorization {
            case .send(let stamp): self.authorized(request, stamp, round)
            case .wait: self.postpone(round)
            case .fail(let error):
                self.returnTurn(round)
                self.apply { $0.state.refused(with: error, round: round) }
            }
        }
    }

    /// Back in line, unless the line is gone with the queue's session: an operation with a session of its own, which lives,
    /// would come back at once, over and over, as long as the renewal takes.
    private func postpone(_ round: Int) {
        returnTurn(round)
        let isLineGone = shared.withLock { $0.queue }?.session.isInvalidated ?? false
        apply { shared in
            isLineGone
                ? shared.state.refused(with: .sessionInvalidated, round: round) : shared.state.postponed(round: round)
        }
    }

    /// Nothing is sent in the slot: it costs nothing of the rates.
    private func returnTurn(_ round: Int) {
        shared.withLock { $0.queue }?.session.lane.returnTurn(self, round: round)
    }

    private func authorized(_ request: URLRequest, _ stamp: CredentialStamp?, _ round: Int) {
        let now = time.moment
        apply { shared in
            if shared.state.round == round { shared.stamp = stamp }
            return shared.state.prepared(.success(request), round: round, now: now)
        }
    }

    /// Who gives the request its credential; nil if it needs none.
    private func authorizer(for request: URLRequest) -> (any RequestAuthorizer)? {
        guard let authorizer = shared.withLock({ $0.authorizer }), let url = request.url, authorizer.covers(url) else {
            return nil
        }
        return authorizer
    }

    private func confirm(_ request: URLRequest, _ round: Int) {
        let queue = shared.withLock { $0.queue }
        guard queue?.session.lane.confirm(self, round: round) ?? true else {
            releaseProbe()
            return noteHold()
        }
        apply { $0.state.confirmed(request, round: round) }
    }

    private func send(_ request: URLRequest, _ round: Int) {
        if isWork { return work(request, round) }
        let session = boundSession
        let stamp = shared.withLock { $0.stamp }
        let body: TransportBody
        do throws(NetworkError) {
            body = try transportBody(of: request)
        } catch {
            return validate(.failed(error, request, at: time.moment), round)
        }
        var settings = exchangeSettings
        settings.stamp = stamp
        settings.onSight = sightObserver(of: round)
        let destination = shared.withLock { $0.destination }
        let exchange = Exchange(
            request: request, body: body, destination: destination, session: session, settings: settings
        ) { bytes, total, direction in
            self.moved(bytes, of: total, direction, session: session)
        } onEnd: { outcome in
            self.exchangeEnded(outcome, stamp, round)
        }
        let isWanted = shared.withLock { shared in
            guard shared.state.phase == .onWire, shared.state.round == round else { return false }
            shared.running.exchange = exchange
            return true
        }
        guard isWanted else { return }
        settlePausing(session)
        if shared.withLock({ $0.isTransferHeld }) { exchange.hold(true) }
        exchange.start()
    }

    /// The body of one attempt, measured anew. What `prepare` has put into the request goes first.
    private func transportBody(of request: URLRequest) throws(NetworkError) -> TransportBody {
        guard request.httpBody == nil, request.httpBodyStream == nil, let body else {
            return TransportBody(of: request)
        }
        return try body.transportBody() ?? .none
    }

    private func exchangeEnded(_ outcome: Exchange.Outcome, _ stamp: CredentialStamp?, _ round: Int) {
        let (authorizer, wasResent) = shared.withLock { ($0.configuration?.authorizer, $0.state.resends > 0) }
        guard outcome.isAuthorized, let stamp, let authorizer, let (response, data) = outcome.answer else {
            return validate(outcome, round)
        }
        authorizer.review(response, data, generation: stamp.generation, wasResent: wasResent) { review in
            switch review {
            case .leave: self.validate(outcome, round)
            case .sendAgain: self.sendAgain(after: .endpointError(response, data), outcome, round)
            }
        }
    }

    /// The server turned the credential down: once more with another, unless that has been tried often enough.
    private func sendAgain(after error: NetworkError, _ outcome: Exchange.Outcome, _ round: Int) {
        let now = time.moment
        let (stream, destination) = shared.withLock { ($0.state.request?.httpBodyStream, $0.destination) }
        // What a server has acted on before it led on to the 401 must not be asked for twice, nor may a reader that has
        // got the rejection get another response behind it.
        guard outcome.methodTaken == nil, destination?.forbidsRetry != true else { return validate(outcome, round) }
        // A redirect may have left the stream behind; it has been read all the same.
        guard outcome.request.httpBodyStream == nil, stream == nil else {
            let error = NetworkError.authenticationFailed(AuthenticationError.bodyNotReplayable)
            return attemptFailed(error, outcome, round, now)
        }
        var isLast = false
        tellCircuit(.alive, error: nil)
        apply { shared in
            shared.time(outcome.timing)
            let actions = shared.state.unauthorized(error, round: round, now: now)
            isLast = actions == nil
            return actions ?? []
        }
        if isLast { validate(outcome, round) }
    }

    /// The work of an attempt that is no request has ended.
    func workEnded(
        _ result: Result<Exchange.Reply, NetworkError>, of request: URLRequest, since start: Moment,
        _ round: Int
    ) {
        guard shared.withLock({ $0.state.phase == .onWire && $0.state.round == round }) else { return }
        let outcome = Exchange.Outcome(
            result: result, head: nil, request: request, isAuthorized: false, methodTaken: nil,
            timing: Exchange.Timing(start: start))
        switch result {
        case .success(let reply): succeed(reply, outcome, round)
        case .failure(let error): attemptFailed(error, outcome, round, time.moment)
        }
    }

    private func validate(_ outcome: Exchange.Outcome, _ round: Int) {
        let validation = validation
        if validation.callsOut || inspectsResponse {
            DispatchQueue.global().async { self.attemptEnded(outcome, validation, round) }
        } else {
            attemptEnded(outcome, validation, round)
        }
    }

    private func attemptEnded(_ outcome: Exchange.Outcome, _ validation: ResponseValidation, _ round: Int) {
        let now = time.moment
        switch outcome.result {
        case .failure(let error):
            attemptFailed(error, outcome, round, now)
        case .success(let reply):
            let destination = shared.withLock { $0.destination }
            let failure =
                validation.failure(of: reply.head, reply.data, isElsewhere: reply.isTaken)
                ?? emptyDataFailure(reply) ?? missedDestination(reply, destination) ?? fault(in: reply)
            if reply.isTaken, let destination {
                settle(destination, reply, failure, outcome, round)
            } else if let failure {
                attemptFailed(failure, outcome, round, now)
            } else {
                succeed(reply, outcome, round)
            }
        }
    }

    /// A redirect, say, that the caller wants as the answer is no file.
    private func missedDestination(
        _ reply: Exchange.Reply, _ destination: (any ResponseDestination)?
    ) -> NetworkError? {
        guard destination != nil, !reply.isTaken else { return nil }
        return .unacceptableResponse(reply.http, reply.data, reason: "status \(reply.http.statusCode)")
    }

    /// The body is not in memory: it comes to its place before the result is there.
    private func settle(
        _ destination: any ResponseDestination, _ reply: Exchange.Reply, _ failure: NetworkError?,
        _ outcome: Exchange.Outcome, _ round: Int
    ) {
        destination.settle(isGood: failure == nil) { settled in
            let now = self.time.moment
            if let failure { return self.attemptFailed(failure, outcome, round, now) }
            switch settled {
            case .success(let file):
                var reply = reply
                reply.file = file
                self.succeed(reply, outcome, round)
            case .failure(let error): self.attemptFailed(error, outcome, round, now)
            }
        }
    }

    private func succeed(_ reply: Exchange.Reply, _ outcome: Exchange.Outcome, _ round: Int) {
        let now = time.moment
        hostSucceeded(status: reply.head.statusCode)
        apply { shared in
            shared.time(outcome.timing)
            return shared.state.succeeded(reply, round: round, now: now)
        }
    }

    private func attemptFailed(
        _ error: NetworkError, _ outcome: Exchange.Outcome, _ round: Int, _ now: Moment
    ) {
        // Before the slot is free: what the server said holds also for the next in line.
        holdHost(of: outcome.request, after: error, now: now)
        tellCircuit(error.sign, error: error)
        apply { shared in
            shared.failure = FailedAttempt(
                request: outcome.request, hasBegunResponse: outcome.hasBegunResponse,
                methodTaken: outcome.methodTaken)
            shared.time(outcome.timing)
            return shared.state.failed(with: error, round: round, now: now)
        }
    }

    private func emptyDataFailure(_ reply: Exchange.Reply) -> NetworkError? {
        reply.length == 0 && !allowsEmptyData ? .noResponseData(reply.http) : nil
    }

    // MARK: Time

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

    // MARK: The end

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

extension NetworkOperation: LaneClient {
    func laneAdmits(round: Int) {
        let time = time
        let (now, date) = (time.moment, time.date)
        var last: CredentialStamp?
        apply { shared in
            // An operation that has opted out since asks for none: it must not go with that of the attempt before.
            (last, shared.stamp) = (shared.stamp, nil)
            let isPlain =
                isWork || shared.configuration?.value.prepare == nil && shared.authorizer == nil
            if let last = shared.refusal(of: self, round: round, now: now) {
                return shared.state.blocked(by: last, round: round)
            }
            if let entered = shared.place?.entered, shared.place?.round == round { shared.waited = now - entered }
            return shared.state.admitted(round: round, needsPreparation: !isPlain, now: now, date: date)
        }
        // It holds the caller's credential, which must not end under the lock.
        _ = last
    }
}

extension NetworkOperation.Shared {
    /// Who gives the operation's requests their credential, wherever they go; nil if it wants none.
    var authorizer: (any RequestAuthorizer)? {
        guard settings.isAuthenticated, let authorizer = configuration?.authorizer,
            settings.renewing.isEmpty || !settings.renewing.contains(ObjectIdentifier(authorizer))
        else { return nil }
        return authorizer
    }
}

extension Exchange.Outcome {
    /// What the server says of the credential: also with a text that is too large, which is no part of it then.
    fileprivate var answer: (HTTPURLResponse, Data)? {
        switch result {
        case .success(let reply): (reply.http, reply.data)
        case .failure(.responseTooLarge): head.map { ($0.http, Data()) }
        case .failure: nil
        }
    }
}
