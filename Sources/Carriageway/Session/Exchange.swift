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
        let head: ReceivedHead
        let data: Data
        let request: URLRequest
        var redirects: [NetworkRedirect] = []
        /// Whether the body went to the destination; `data` is empty then.
        var isTaken = false
        /// The number of bytes of the body.
        var length: Int64 = 0
        /// The file that the body is in.
        var file: URL?

        var http: HTTPURLResponse { head.http }
    }

    /// How the exchange ended.
    struct Outcome: Sendable {
        let result: Result<Reply, NetworkError>
        /// Whether a byte of a response came.
        var hasBegunResponse: Bool { head != nil }
        /// The response as far as it came, also of a body that is too large.
        let head: ReceivedHead?
        /// The request as it was sent last.
        let request: URLRequest
        /// Whether it carried the credential of an ``Authentication``.
        let isAuthorized: Bool
        /// The method that was sent first, where a server has done what that asked and led on to a GET.
        let methodTaken: String?
        let timing: Timing

        /// An exchange that could not begin.
        static func failed(_ error: NetworkError, _ request: URLRequest, at now: Moment) -> Outcome {
            Outcome(
                result: .failure(error), head: nil, request: request, isAuthorized: false,
                methodTaken: nil, timing: Timing(start: now))
        }
    }

    /// What was measured so far.
    struct Timing: Sendable {
        /// When the first request was sent.
        var start: Moment
        var firstByte: Moment?
        var bytesReceived: Int64 = 0
        var bytesSent: Int64 = 0
        var redirects = 0
        /// By the transport, of the task that ended last.
        var transfer: TransferMetrics?
    }

    enum Phase {
        /// No task is alive: before the first, or between two of a redirect.
        case between
        case running(Int)
        /// No task will be started any more. Where there is a destination it puts the body in place, or cleans up.
        case closing
        /// Of no use to its owner any longer; its task has yet to end.
        case abandoned(Int, onRelease: @Sendable () -> Void)
        case ended
    }

    struct State {
        var phase = Phase.between
        /// What is to be sent, without the credential: so that cannot go along with a redirect.
        var request: URLRequest
        /// What was sent last.
        var sent: URLRequest?
        var isAuthorized = false
        /// Opened anew for each task.
        var body: TransportBody
        /// As it was when the body was last sent; -1 if it is not known.
        var bodyLength: Int64 = -1
        var response: ReceivedHead?
        var data = Data()
        var delivery = Delivery()
        /// The caller wants nothing read from the network.
        var isHeld = false
        /// Where the response leads; nil if it is the answer.
        var onward: Redirect?
        /// How many bytes have come of a body that is of no interest.
        var skipped = 0
        var redirects: [NetworkRedirect] = []
        var methodTaken: String?
        /// The origins whose challenge has been answered.
        var challengers: Set<String> = []
        /// Why the task was cancelled by us; what the transport says of it does not count.
        var failure: NetworkError?
        var lastActivity: Moment
        var measured: Timing
        var watches = Watches()

        var isOver: Bool {
            switch phase {
            case .between, .running, .closing: false
            case .abandoned, .ended: true
            }
        }

        var timing: Timing {
            var timing = measured
            timing.redirects = redirects.count
            return timing
        }

        /// Whether no task is alive and another may be started.
        var canGoOn: Bool {
            if case .between = phase { failure == nil } else { false }
        }
    }

    /// What goes on beside the task, and ends with the exchange.
    struct Watches {
        var idleTimer: ScheduledTimer?
        /// Counts the idle timers, so that one which is late does not replace the next.
        var lastIdleWatch = 0
        var attemptTimer: ScheduledTimer?
        /// The caller is being asked about a redirect.
        var question: Task<Void, Never>?

        func cancel() {
            idleTimer?.cancel()
            attemptTimer?.cancel()
            question?.cancel()
        }
    }

    let session: NetworkSession
    let settings: ExchangeSettings
    /// Where the body of a response goes; nil for the memory.
    let destination: (any ResponseDestination)?
    let state: Locked<State>
    /// The request that was sent first.
    let first: URLRequest
    /// Told how many bytes there are, and how many there will be, -1 if that is not known.
    let onBytes: @Sendable (_ bytes: Int64, _ total: Int64, _ direction: TransferDirection) -> Void
    private let onEnd: @Sendable (Outcome) -> Void

    /// An exchange that has not begun; `request` is a checked one, without the credential.
    ///
    /// - Parameter body: what is sent with it; nil for the body that the request has itself.
    init(
        request: URLRequest, body: TransportBody? = nil, destination: (any ResponseDestination)? = nil,
        session: NetworkSession,
        settings: ExchangeSettings = ExchangeSettings(),
        onBytes: @escaping @Sendable (_ bytes: Int64, _ total: Int64, _ direction: TransferDirection) -> Void,
        onEnd: @escaping @Sendable (Outcome) -> Void
    ) {
        self.session = session
        self.settings = settings
        self.destination = destination
        self.onBytes = onBytes
        self.onEnd = onEnd
        first = request
        let body = body ?? TransportBody(of: request)
        let request = request.adding(session.headers)
        let now = session.time.moment
        state = Locked(State(request: request, body: body, lastActivity: now, measured: Timing(start: now)))
    }

    /// What was measured so far.
    var timing: Timing { state.withLock { $0.timing } }

    /// Puts the request on the wire, unless the exchange was abandoned before.
    func start() {
        guard session.open(self) else { return fail(with: .sessionInvalidated) }
        if let destination { open(destination) } else { send() }
        // Only now: a destination must not be opened behind the end of its attempt.
        watchWholeTime()
        // Abandoned before it was opened: then nobody else closes it.
        let isEnded = state.withLock { state in
            if case .ended = state.phase { return true }
            return false
        }
        if isEnded { session.close(self) }
    }

    /// Starts a task for the request, unless the exchange is over.
    func send() {
        let request: URLRequest
        do throws(NetworkError) {
            request = try stamped()
        } catch {
            return fail(with: error)
        }
        if let refusal = session.transport.refusal(of: request) { return fail(with: refusal) }
        let body = state.withLock { $0.body }
        let bodyLength = (try? body.length()) ?? -1
        state.withLock { $0.bodyLength = bodyLength }
        let canSend = session.transport.start(request.withoutBody, body: body) { identifier in
            // Not before: the body may have taken its time to open.
            let now = session.time.moment
            let isWanted = state.withLock { state in
                guard state.canGoOn else { return false }
                state.phase = .running(identifier)
                state.lastActivity = now
                return true
            }
            // Registered in the same breath: the task cannot give an event before its owner is known.
            if isWanted { session.router.register(self, for: identifier) }
            return isWanted
        }
        guard canSend else { return fail(with: .sessionInvalidated) }
        if state.withLock({ $0.isHeld }) { settlePause() }
        if let timeout = session.transport.idleTimeoutToKeep(for: request) { watchIdleTime(timeout) }
    }

    /// The request with the credential, if that may go to where it goes.
    private func stamped() throws(NetworkError) -> URLRequest {
        var request = state.withLock { $0.request }
        if let stamp = settings.stamp {
            // Where a redirect may lead from https to http, the credential goes no further.
            let isExposed = first.url?.scheme?.lowercased() == "https" && request.url?.scheme?.lowercased() != "https"
            let isAuthorized = !isExposed && stamp.apply(&request)
            if isAuthorized {
                request = try RequestCheck.checked(request, takesIPv6: session.transport.takesIPv6Addresses)
            }
            state.withLock { $0.isAuthorized = isAuthorized }
        }
        let sent = request
        state.withLock { $0.sent = sent }
        return request
    }

    /// Ends the exchange without a word: its owner has no use for it any longer. No task starts after this returns.
    ///
    /// - Parameter onRelease: called once the task that runs has ended and its connection is free. Until then a further
    ///   task could be one too many for the transport, and wait inside it.
    /// - Returns: whether `onRelease` will be called; it is not if no task runs.
    func abandon(onRelease: @escaping @Sendable () -> Void) -> Bool {
        let (running, watches): (Int?, Watches) = state.withLock { state in
            state.data = Data()
            switch state.phase {
            case .running(let identifier):
                state.phase = .abandoned(identifier, onRelease: onRelease)
                return (identifier, state.watches)
            case .between, .closing, .abandoned, .ended:
                state.phase = .ended
                return (nil, state.watches)
            }
        }
        watches.cancel()
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
                state.phase = .closing
                return .end
            case .closing:
                // It counts when the exchange ends, which it is about to.
                state.failure = error
                return .nothing
            case .running(let identifier):
                state.failure = error
                return .cancel(identifier)
            }
        }
        switch step {
        case .nothing: break
        case .cancel(let identifier): session.transport.cancel(identifier)
        // Elsewhere: the lane may be giving out many slots in a row.
        case .end: session.pipeline.async { self.close(error) }
        }
    }

    /// Ends an exchange between two tasks with what has come, unless it ends already.
    func conclude() {
        let isGoingOn = state.withLock { state in
            guard case .between = state.phase else { return false }
            state.phase = .closing
            return true
        }
        if isGoingOn { close(nil) }
    }

    /// Ends an exchange that is closing, once its body is where it goes, or nothing is left of its place.
    func close(_ failure: NetworkError?) {
        guard let destination else { return finish(failure) }
        pauseIdleWatch()
        if state.withLock({ $0.delivery.isTaken }) {
            destination.close(failure) { self.finish($0) }
        } else {
            destination.abandon { self.finish(failure) }
        }
    }

    /// Ends the exchange with what has come or with a failure.
    private func finish(_ failure: NetworkError?) {
        let (outcome, watches): (Outcome?, Watches) = state.withLock { state in
            if state.isOver { return (nil, state.watches) }
            state.phase = .ended
            return (Self.outcome(of: &state, failure: state.failure ?? failure), state.watches)
        }
        watches.cancel()
        session.close(self)
        if let outcome { onEnd(outcome) }
    }

    private static func outcome(of state: inout State, failure: NetworkError?) -> Outcome {
        let result: Result<Reply, NetworkError> =
            if let failure {
                .failure(failure)
            } else if let response = state.response {
                .success(
                    Reply(
                        head: response, data: state.data, request: state.sent ?? state.request,
                        redirects: state.redirects, isTaken: state.delivery.isTaken,
                        length: state.delivery.isTaken ? state.delivery.received : Int64(state.data.count)))
            } else {
                .failure(.urlError(URLError(.badServerResponse)))
            }
        state.data = Data()
        return Outcome(
            result: result, head: state.response, request: state.sent ?? state.request,
            isAuthorized: state.isAuthorized, methodTaken: state.methodTaken, timing: state.timing)
    }
}
