import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One request, from start to its one result, as an `Operation`.
///
/// It runs on a ``NetworkQueue``, on a plain `OperationQueue`, or by `start()`. It has one ``result``, set once; each
/// handler and each awaiting caller gets it exactly once. The order is always: result stored, handlers queued,
/// `isFinished` true, dependents start.
///
/// ```swift
/// let login = NetworkOperation(loginRequest)
/// let profile = NetworkOperation(after: login) { response in
///     let token = try response.decoded(as: Token.self).value
///     var request = URLRequest(url: profileURL)
///     request.setValue(
///         "Bearer \(token)", forHTTPHeaderField: "Authorization")
///     return request
/// }
/// queue.addOperations([profile, login], waitUntilFinished: false)
/// let response = try await profile.response
/// ```
///
/// Rules where `Operation` leaves a choice: a second `start()`, one by hand for an operation that a ``NetworkQueue`` is
/// about to start, and adding to a second ``NetworkQueue``, have no effect.
/// An operation that is started by hand before its dependencies have finished fails with
/// ``NetworkError/invalidRequest(_:)``. It never depends on itself: ``addDependency(_:)`` with itself is ignored.
/// Operations that depend on each other in a circle wait until one of them is cancelled, as with any `Operation`. Once
/// finished, it lets go of its dependencies.
open class NetworkOperation: Operation, @unchecked Sendable {
    enum Source {
        case request(URLRequest)
        case after(NetworkOperation, build: @Sendable (NetworkResponse) throws -> URLRequest)
    }

    /// Everything that changes, under one lock.
    struct Shared {
        var state = OperationState()
        var delivery = ResultDelivery()
        var dependencies = DependencyList()
        var settings = OperationSettings()
        var source: Source?
        /// What is sent with the request, unless that has a body of its own.
        var body: RequestBody?
        /// Where the response's body goes; nil for the memory.
        var destination: (any ResponseDestination)?
        /// The queue that took the operation, kept until it has finished.
        var queue: NetworkQueue?
        /// Kept until it has finished too; before that nil if the queue's is to be used.
        var session: NetworkSession?
        var configuration: ConfigurationBox?
        var isClaimed = false
        var isExecuting = false
        var isFinished = false
        /// Called when `isFinished` is true, until they have been told.
        var finishObservers: [@Sendable () -> Void] = []
        var hasToldFinish = false
        var running = RunningParts()
        var place: LinePlace?
        /// The credential of the attempt that is under way.
        var stamp: CredentialStamp?
        /// Whether the queue has handed the operation to Foundation, which will start it.
        var isPassed = false
        var wasCancelled = false
        var failure = FailedAttempt()
        var download = TransferProgress()
        var upload = TransferProgress()
        /// Whose transfer the operation waits for, if it is that of an equal request.
        var transfer: SharedTransfer?
        /// Whether others wait for the operation's transfer, and who is told of its bytes.
        var isLeader = false
        var mirror: (@Sendable (Int64, Int64, TransferDirection) -> Void)?
        /// Whether the caller has paused the progress, and so the transfer.
        var isTransferHeld = false
        var memory = EventMemory()
        var knownIdentifier: Int?
        /// How long the attempt that has a slot waited for it.
        var waited = Duration.zero
    }

    let shared: Locked<Shared>

    /// An operation that sends `request`.
    ///
    /// - Parameters:
    ///   - request: what to send; checked when the operation runs.
    ///   - body: what is sent with it, in place of a body that the request has itself.
    ///   - session: the session to send over; without one that of the operation's ``NetworkQueue``, else
    ///     ``NetworkSession/shared``.
    public init(_ request: URLRequest, body: RequestBody? = nil, session: NetworkSession? = nil) {
        var shared = Shared()
        shared.settings.renewing = Renewing.underWay
        shared.source = .request(request)
        shared.body = body
        shared.session = session
        self.shared = Locked(shared)
        super.init()
    }

    /// An operation that runs after another and makes its request from the other's response.
    ///
    /// - Parameters:
    ///   - dependency: added as a dependency. If it fails, this operation fails with
    ///     ``NetworkError/dependencyFailed(_:)`` and `request` is not called.
    ///   - session: as in ``init(_:body:session:)``.
    ///   - request: makes the request, on a queue that is not the main one. What it throws becomes the result: a
    ///     ``NetworkError`` as it is, anything else as ``NetworkError/generalError(_:)``.
    public init(
        after dependency: NetworkOperation, session: NetworkSession? = nil,
        request: @escaping @Sendable (NetworkResponse) throws -> URLRequest
    ) {
        var shared = Shared()
        shared.settings.renewing = Renewing.underWay
        shared.source = .after(dependency, build: request)
        shared.session = session
        self.shared = Locked(shared)
        super.init()
        addDependency(dependency)
    }

    deinit {
        let upstream = takeUpstream()
        // An operation that never ran still holds those before it; one let go of inside the other's end would overflow
        // the stack at the end of a long chain.
        if !upstream.isEmpty { Self.releases.async { _ = upstream } }
    }

    // MARK: Result

    /// The result, once there is one; it may be there before `isFinished` is true.
    public var result: Result<NetworkResponse, NetworkError>? {
        shared.withLock { $0.state.result }
    }

    /// The response, awaited. Cancelling the task that awaits cancels the operation.
    ///
    /// It comes when the operation has run: someone has to start it.
    public var response: NetworkResponse {
        get async throws(NetworkError) {
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    whenEnded { continuation.resume(returning: $0) }
                }
            } onCancel: {
                // Never into the session on the spot: this runs under a lock of the task.
                Self.cancellations.async { self.cancel() }
            }
            return try result.get()
        }
    }

    /// Calls `handler` once with the result, also if that is there already.
    ///
    /// Handlers run in the order in which they were added, on the queue's `callbackQueue`; on a private serial queue for
    /// an operation that is on no ``NetworkQueue``.
    public func onCompletion(_ handler: @escaping @Sendable (Result<NetworkResponse, NetworkError>) -> Void) {
        let isDue = shared.withLock { $0.delivery.add(handler) }
        if isDue { runHandlers() }
    }

    /// The attempts made so far, also of an operation that fails in the end.
    public var attempts: [NetworkAttempt] {
        shared.withLock { $0.state.attempts }
    }

    // MARK: Retry

    /// Whether a failed attempt is to be followed by another. Override to decide otherwise; call `super` to leave it to
    /// the policy.
    ///
    /// It may be called on any thread and must not block. The limits hold for what it says too: a method that is not
    /// idempotent, a body that cannot be read again, `maxRetries`, the budget and the timeout can each prevent the retry.
    open func shouldRetry(after error: NetworkError) -> Bool {
        switch shared.withLock({ $0.failure.policyDecision }) {
        case .retry, .retryAfter: true
        case .doNotRetry: false
        case .automatic, nil: error.shouldRetry
        }
    }

    /// Whether ``fault(of:)`` has something to say; it is asked off the session's queues.
    var inspectsResponse: Bool { false }

    /// Why a response that passed validation is a failure nevertheless, as its value cannot be read; nil if it is none.
    func fault(of response: NetworkResponse) -> NetworkError? { nil }

    /// Whether an attempt is work of the caller's in place of a request.
    var isWork: Bool { false }

    /// Does an attempt's work, and says with `workEnded` how it ended.
    func work(_ request: URLRequest, _ round: Int) {}

    /// What becomes of a failure, where the policy leaves it open.
    func usualDecision(after error: NetworkError) -> RetryDecision { .automatic }

    // MARK: Operation

    /// Always true: `start()` returns before the request has ended.
    open override var isAsynchronous: Bool { true }

    /// Whether the operation was started and has not finished.
    open override var isExecuting: Bool { shared.withLock { $0.isExecuting } }

    /// Whether the operation has finished; its result is there.
    open override var isFinished: Bool { shared.withLock { $0.isFinished } }

    /// Whether the operation was cancelled before it had its result.
    open override var isCancelled: Bool { super.isCancelled || shared.withLock { $0.wasCancelled } }

    /// Starts the request; called by the queue, or by hand for an operation that is on no queue.
    open override func start() {
        start(on: shared.withLock { $0.queue } ?? OperationQueue.current as? NetworkQueue)
    }

    /// Ends the operation with ``NetworkError/cancelled``, at once and in every state; nothing is sent after it returns, but
    /// for a request that `URLSession` on Linux was about to send at that moment.
    ///
    /// `isFinished` follows Foundation's rules: an operation that waits in a queue finishes when the queue starts it.
    /// Without effect once there is a result.
    open override func cancel() {
        let now = time.moment
        apply { shared in
            let isLate = shared.state.phase == .ended
            if !isLate { shared.wasCancelled = true }
            shared.time(shared.running.exchange?.timing)
            return shared.state.cancel(now: now)
        }
        super.cancel()
        shared.withLock { $0.queue }?.admit(self)
    }

    /// Makes the operation wait for another to finish; of effect before it starts.
    ///
    /// An operation never depends on itself: that call is ignored, where `Operation` on Linux waits for ever. Adding one
    /// twice counts once.
    open override func addDependency(_ operation: Operation) {
        let (isWatched, newGate) = note(dependency: operation)
        if let newGate { super.addDependency(newGate) }
        if isWatched { watch(operation) }
    }

    /// Makes the operation wait no longer for another, finished or not.
    open override func removeDependency(_ operation: Operation) {
        if !(operation is NetworkOperation) {
            FinishWatch.shared.remove(ObjectIdentifier(self), from: operation)
        }
        settle(ObjectIdentifier(operation), isRemoved: true)
    }

    /// What the operation depends on; empty once it has finished.
    open override var dependencies: [Operation] {
        shared.withLock { $0.dependencies.operations }
    }

    /// The place among waiting operations: in the operation queue until the start, and in line for a slot after that.
    open override var queuePriority: Operation.QueuePriority {
        get { super.queuePriority }
        set {
            super.queuePriority = newValue
            let (queue, transfer) = shared.withLock { ($0.queue, $0.transfer) }
            if let transfer { transfer.coalescer.adjustPriority(transfer.key) }
            if let queue { settlePriority(queue) }
        }
    }

    /// Tells the lane of the priority, and once more if that has changed meanwhile: who changed it may have told it before us.
    func settlePriority(_ queue: NetworkQueue) {
        var told: QueuePriority?
        while told != super.queuePriority {
            let priority = super.queuePriority
            queue.session.lane.setPriority(priority.rawValue, of: self)
            told = priority
        }
    }

    private static let releases = DispatchQueue(label: "carriageway.releases")
    static let cancellations = DispatchQueue(label: "carriageway.cancellations")
    static let callbacks = DispatchQueue(label: "carriageway.callbacks")
}
