import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One attempt on the wire: its task, the tasks of the redirects it follows, and what has come so far.
///
/// It ends once, on one of the session's queues, unless its owner abandons it before. At most one of its tasks is
/// alive at any time.
final class Exchange: Sendable {
    /// A complete response, and the request that got it.
    struct Reply: Sendable {
        let http: HTTPURLResponse
        let data: Data
        let request: URLRequest
    }

    /// How the exchange ended.
    struct Outcome: Sendable {
        let result: Result<Reply, NetworkError>
        /// Whether a byte of a response came.
        let hasBegunResponse: Bool
        /// The request as it was sent last.
        let request: URLRequest
    }

    private enum Phase {
        /// No task is alive: before the first, between two of a redirect, after the last.
        case between
        case running(Int)
        /// Of no use to its owner any longer; its task has yet to end.
        case abandoned(Int, onRelease: @Sendable () -> Void)
        case ended
    }

    private struct State {
        var phase = Phase.between
        var request: URLRequest
        /// Opened anew for each task.
        var body: TransportBody
        var redirects = 0
        var response: HTTPURLResponse?
        var data = Data()
        /// Why the task was cancelled by us; what the transport says of it does not count.
        var failure: NetworkError?
        var lastActivity: ContinuousClock.Instant
        var idleTimer: ScheduledTimer?

        var isOver: Bool {
            switch phase {
            case .between, .running: false
            case .abandoned, .ended: true
            }
        }
    }

    private let session: NetworkSession
    private let state: Locked<State>
    private let onBytes: @Sendable (_ received: Int64, _ response: HTTPURLResponse?) -> Void
    private let onEnd: @Sendable (Outcome) -> Void

    /// An exchange that has not begun; `request` is a checked one.
    ///
    /// - Parameter body: what is sent with it; nil for the body that the request has itself.
    init(
        request: URLRequest, body: TransportBody? = nil, session: NetworkSession,
        onBytes: @escaping @Sendable (_ received: Int64, _ response: HTTPURLResponse?) -> Void,
        onEnd: @escaping @Sendable (Outcome) -> Void
    ) {
        self.session = session
        self.onBytes = onBytes
        self.onEnd = onEnd
        let body = body ?? TransportBody(of: request)
        state = Locked(State(request: request, body: body, lastActivity: session.time.now))
    }

    /// Puts the request on the wire, unless the exchange was abandoned before.
    func start() {
        guard session.open(self) else { return fail(with: .sessionInvalidated) }
        send()
        // Abandoned before it was opened: then nobody else closes it.
        let isEnded = state.withLock { state in
            if case .ended = state.phase { return true }
            return false
        }
        if isEnded { session.close(self) }
    }

    private func send() {
        let (request, body) = state.withLock { ($0.request, $0.body) }
        let canSend = session.transport.start(request.withoutBody, body: body) { identifier in
            let isWanted = state.withLock { state in
                guard case .between = state.phase else { return false }
                state.phase = .running(identifier)
                return true
            }
            // Registered in the same breath: the task cannot give an event before its owner is known.
            if isWanted { session.router.register(self, for: identifier) }
            return isWanted
        }
        guard canSend else { return fail(with: .sessionInvalidated) }
        if let timeout = session.transport.idleTimeoutToKeep(for: request) { watchIdleTime(timeout) }
    }

    /// Ends the exchange without a word: its owner has no use for it any longer. No task starts after this returns.
    ///
    /// - Parameter onRelease: called once the task that runs has ended and its connection is free. Until then a further
    ///   task could be one too many for the transport, and wait inside it.
    /// - Returns: whether `onRelease` will be called; it is not if no task runs.
    func abandon(onRelease: @escaping @Sendable () -> Void) -> Bool {
        let (running, timer): (Int?, ScheduledTimer?) = state.withLock { state in
            state.data = Data()
            switch state.phase {
            case .running(let identifier):
                state.phase = .abandoned(identifier, onRelease: onRelease)
                return (identifier, state.idleTimer)
            case .between, .abandoned, .ended:
                state.phase = .ended
                return (nil, state.idleTimer)
            }
        }
        timer?.cancel()
        guard let running else {
            session.close(self)
            return false
        }
        session.transport.cancel(running)
        return true
    }

    /// Ends the exchange with a failure of ours, once its task has ended.
    func fail(with error: NetworkError) {
        enum Step {
            case nothing
            case cancel(Int)
            case end
        }
        let step: Step = state.withLock { state in
            guard state.failure == nil else { return .nothing }
            switch state.phase {
            case .abandoned, .ended: return .nothing
            case .between:
                state.failure = error
                return .end
            case .running(let identifier):
                state.failure = error
                return .cancel(identifier)
            }
        }
        switch step {
        case .nothing: break
        case .cancel(let identifier): session.transport.cancel(identifier)
        case .end: end(failure: error)
        }
    }
}

// MARK: - Events of the transport, by way of the router

extension Exchange {
    func received(_ response: HTTPURLResponse, by identifier: Int) {
        record(by: identifier) { state in
            // A second response, as after a challenge, replaces the first: no byte of one is ever in the other's body.
            state.response = response
            state.data = Data()
        }
    }

    func received(_ data: Data, by identifier: Int) {
        let progress: (received: Int64, response: HTTPURLResponse?)? = record(by: identifier) { state in
            if state.data.isEmpty { state.data = data } else { state.data.append(data) }
            return (Int64(state.data.count), state.response)
        }
        if let progress { onBytes(progress.received, progress.response) }
    }

    func sent() {
        let now = session.time.now
        state.withLock { $0.lastActivity = now }
    }

    func completed(by identifier: Int, error: NetworkError?) {
        enum Step {
            case nothing
            case hop
            case end(NetworkError?)
            case release(@Sendable () -> Void)
        }
        let step: Step = state.withLock { state in
            if case .abandoned(identifier, let onRelease) = state.phase {
                state.phase = .ended
                return .release(onRelease)
            }
            guard case .running(identifier) = state.phase else { return .nothing }
            state.phase = .between
            if let failure = state.failure { return .end(failure) }
            if let error { return .end(error) }
            guard let response = state.response else { return .end(.urlError(URLError(.badServerResponse))) }
            switch Redirect(of: response, to: state.request, followed: state.redirects) {
            case .stay: return .end(nil)
            case .refuse(let code): return .end(.urlError(URLError(code)))
            case .follow(let next):
                // A redirect that changes the method, to GET, leaves the body behind.
                if next.httpMethod != state.request.httpMethod { state.body = .none }
                state.request = next
                state.redirects += 1
                state.response = nil
                state.data = Data()
                return .hop
            }
        }
        switch step {
        case .nothing: break
        case .hop: session.pipeline.async { self.hop() }
        // On the spot: nothing of the caller's runs in it, and a hop to another queue costs more than all the rest.
        case .end(let error): finish(failure: error)
        case .release(let onRelease):
            session.close(self)
            onRelease()
        }
    }

    /// Sends the request that a redirect led to; it is checked as the first one was.
    private func hop() {
        do throws(NetworkError) {
            let checked = try RequestCheck.checked(
                state.withLock { $0.request }, takesIPv6: session.transport.takesIPv6Addresses)
            state.withLock { $0.request = checked }
            send()
        } catch {
            // The server sent us to a place that there cannot be.
            fail(with: .urlError(URLError(.badURL)))
        }
    }

    @discardableResult
    private func record<Result>(by identifier: Int, _ change: (inout State) -> Result) -> Result? {
        let now = session.time.now
        return state.withLock { state in
            guard case .running(identifier) = state.phase, state.failure == nil else { return nil }
            state.lastActivity = now
            return change(&state)
        }
    }

    /// Ends an exchange that has no task. Elsewhere: the lane may be giving out many slots in a row.
    private func end(failure: NetworkError?) {
        session.pipeline.async { self.finish(failure: failure) }
    }

    private func finish(failure: NetworkError?) {
        let (outcome, timer): (Outcome?, ScheduledTimer?) = state.withLock { state in
            if state.isOver { return (nil, state.idleTimer) }
            state.phase = .ended
            return (Self.outcome(of: &state, failure: failure), state.idleTimer)
        }
        timer?.cancel()
        session.close(self)
        if let outcome { onEnd(outcome) }
    }

    private static func outcome(of state: inout State, failure: NetworkError?) -> Outcome {
        let result: Result<Reply, NetworkError> =
            if let failure {
                .failure(failure)
            } else if let response = state.response {
                .success(Reply(http: response, data: state.data, request: state.request))
            } else {
                .failure(.urlError(URLError(.badServerResponse)))
            }
        state.data = Data()
        return Outcome(result: result, hasBegunResponse: state.response != nil, request: state.request)
    }
}

// MARK: - Idle timeout, where the transport's own is too coarse

extension Exchange {
    private func watchIdleTime(_ timeout: Duration) {
        let timer = session.time.schedule(at: state.withLock { $0.lastActivity }.advanced(by: timeout)) {
            [weak self] in self?.idleTimeCameUp(timeout)
        }
        // The one before, as of the request that a redirect answered, is over.
        let unwanted = state.withLock { state in
            guard !state.isOver else { return timer as ScheduledTimer? }
            defer { state.idleTimer = timer }
            return state.idleTimer
        }
        unwanted?.cancel()
    }

    private func idleTimeCameUp(_ timeout: Duration) {
        let now = session.time.now
        let isIdle: Bool? = state.withLock { state in
            state.isOver ? nil : state.lastActivity.advanced(by: timeout) <= now
        }
        switch isIdle {
        case nil: break
        case true?: fail(with: .urlError(URLError(.timedOut)))
        case false?: watchIdleTime(timeout)
        }
    }
}

extension HTTPURLResponse {
    /// The length of the body in bytes; -1 if it is not known, as under a content encoding.
    var bodyLength: Int64 {
        let coding = value(forHTTPHeaderField: "Content-Encoding") ?? "identity"
        return coding == "identity" ? expectedContentLength : -1
    }
}
