import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An `OperationQueue` for requests: slots on the wire, suspension, retry, and one session for all.
///
/// ```swift
/// let queue = NetworkQueue(session: session) {
///     $0.maxConcurrentRequests = 16
///     $0.retryPolicy = .default
/// }
/// ```
///
/// It takes any `Operation`. A ``NetworkOperation`` waits outside Foundation's list until its dependencies have finished,
/// so long chains and wide fans cost no more than independent requests, and no wake-up is lost. Where `OperationQueue`
/// traps, this queue has a rule: adding a request a second time, or one that another `NetworkQueue` has taken or that
/// has started, does nothing; a `maxConcurrentOperationCount` below -1 counts as -1. (An operation that waits in a plain
/// `OperationQueue` cannot be recognised: adding it here too ends in Foundation's trap.)
///
/// Letting go of a queue does not stop its work: what was added runs to its end, as with `OperationQueue`. A queue that is
/// let go of while suspended is kept by its operations; cancel them and set `isSuspended` to false first.
open class NetworkQueue: OperationQueue, @unchecked Sendable {
    /// The session over which the queue's requests go.
    public let session: NetworkSession

    let configurationBox: ConfigurationBox
    let laneMember: Lane.MemberID
    let transfers = QueueTransfers()
    let coalescer = Coalescer()
    let waitingRoom = Locked(WaitingRoom())
    /// Guards reading and writing the width in one step.
    private let widthLock = NSLock()
    /// Guards handing over those under way together with whether Foundation would start them.
    let handOverLock = NSLock()

    /// The settings that the queue was made with.
    public var configuration: Configuration { configurationBox.value }

    /// A queue over a session.
    ///
    /// - Parameters:
    ///   - session: may be shared by several queues; together they keep within its connections per host.
    ///   - configure: changes the settings from their defaults.
    public init(session: NetworkSession = .shared, configure: (inout Configuration) -> Void = { _ in }) {
        self.session = session
        (configurationBox, laneMember) = Self.setUp(over: session, authorizer: nil, configure)
        super.init()
    }

    /// A queue whose requests carry a credential, which is renewed when it has expired.
    ///
    /// - Parameters:
    ///   - session: may be shared by several queues; credentials are renewed over it, past every queue.
    ///   - authentication: may be shared by several queues, also of several sessions.
    ///   - configure: changes the settings from their defaults.
    public init<A: Authenticator>(
        session: NetworkSession = .shared, authentication: Authentication<A>,
        configure: (inout Configuration) -> Void = { _ in }
    ) {
        self.session = session
        (configurationBox, laneMember) = Self.setUp(over: session, authorizer: authentication, configure)
        super.init()
    }

    private static func setUp(
        over session: NetworkSession, authorizer: (any RequestAuthorizer)?, _ configure: (inout Configuration) -> Void
    ) -> (ConfigurationBox, Lane.MemberID) {
        var configuration = Configuration()
        configure(&configuration)
        let member = session.lane.join(
            limit: configuration.maxConcurrentRequests, limitPerHost: configuration.maxConcurrentRequestsPerHost,
            rate: configuration.rateLimit, ratePerHost: configuration.rateLimitPerHost)
        authorizer?.join(LaneMembership(session: session, member: member))
        let box = ConfigurationBox(
            value: configuration, authorizer: authorizer, observerCount: session.lane.observerCount)
        return (box, member)
    }

    /// A queue over ``NetworkSession/shared`` with the default settings.
    public override convenience init() {
        self.init(session: .shared) { _ in }
    }

    deinit {
        configurationBox.authorizer?.part(laneMember, of: session.lane)
        session.lane.part(laneMember)
    }

    // MARK: Adding

    /// Adds an operation; without effect for one that has been added, or has started.
    open override func addOperation(_ operation: Operation) {
        add(operation)
    }

    /// Adds operations, in any order of their dependencies.
    open override func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) {
        for operation in operations { add(operation) }
        guard wait else { return }
        for operation in operations { operation.waitUntilFinished() }
    }

    /// Adds a barrier: it runs when everything added before has finished, and what is added after waits for it.
    ///
    /// On a suspended queue it waits as everything does.
    open override func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
        let operation = BlockOperation(block: barrier)
        let before = unfinishedOperations
        for other in before { operation.addDependency(other) }
        let isFirst = waitingRoom.withLock { $0.addBarrier(operation) }
        if isFirst { pass(barrier: operation) }
    }

    private func add(_ operation: Operation) {
        if let request = operation as? NetworkOperation {
            guard request.claim(for: self) else { return }
            if configurationBox.events.isObserved { noteCreation(of: request) }
        }
        guard waitingRoom.withLock({ $0.enter(operation) }) else { return pass(operation) }
        if let request = operation as? NetworkOperation { admit(request) }
    }

    /// A request may have become ready, or was cancelled: lets it out of the waiting room, once.
    func admit(_ request: NetworkOperation) {
        let isCancelled = request.result != nil
        guard isCancelled || request.hasFinishedDependencies else { return }
        if waitingRoom.withLock({ $0.leave(request, isCancelled: isCancelled) }) {
            pass(request)
        } else {
            // One that Foundation has may have got a dependency since, which is settled now.
            lookAgain()
        }
    }

    /// A request was started by hand: it is no longer the queue's to start.
    func dismiss(_ request: NetworkOperation) {
        waitingRoom.withLock { room in
            _ = room.leave(request, isCancelled: true)
            room.forget(request)
        }
    }

    private func pass(barrier: BlockOperation) {
        super.addOperation(barrier)
        waitingRoom.withLock { $0.forget(barrier) }
        FinishWatch.shared.observe(barrier, by: ObjectIdentifier(barrier)) { self.barrierEnded() }
        lookAgain()
    }

    /// Makes Foundation look again for operations that are ready; see `OperationQueue.scheduleAgain()`.
    func lookAgain() {
        #if canImport(FoundationNetworking)
            // Under the lock, so that a width that is set at the same time is not lost. Foundation only dispatches here.
            widthLock.withLock { super.maxConcurrentOperationCount = super.maxConcurrentOperationCount }
        #endif
    }

    private func barrierEnded() {
        let next = waitingRoom.withLock { $0.barrierEnded() }
        for operation in next.passed {
            if let request = operation as? NetworkOperation { admit(request) } else { pass(operation) }
        }
        if let barrier = next.barrier { pass(barrier: barrier) }
    }

    // MARK: Suspension and width

    /// Whether the queue is suspended: nothing new goes on the wire, be it an operation that has not started, an attempt
    /// in line, or a retry that comes due. Requests that are on the wire run on.
    open override var isSuspended: Bool {
        get { super.isSuspended }
        set {
            if newValue {
                session.lane.hold(.suspended, member: laneMember)
                handOverUnderWay({ $0.takeUnderWay() }, then: { super.isSuspended = true })
                settleSuspension()
            } else {
                if isOfAnyWidth { beginInOrder() }
                super.isSuspended = false
                settleSuspension()
                if waitingRoom.withLock({ $0.watch() }) { lookLater() }
            }
            noteHolds()
        }
    }

    /// Another thread may have set it in between: the lane follows what Foundation has, and once more if that has changed
    /// meanwhile.
    private func settleSuspension() {
        var told: Bool?
        while told != super.isSuspended {
            let isSuspended = super.isSuspended
            if isSuspended {
                session.lane.hold(.suspended, member: laneMember)
            } else {
                session.lane.release(.suspended, member: laneMember)
            }
            told = isSuspended
        }
    }

    /// Tells the observers what is held, or is so no longer.
    private func noteHolds() {
        guard configurationBox.events.isObserved else { return }
        for case let request as NetworkOperation in unfinishedOperations { request.noteHold() }
    }

    private func noteCreation(of request: NetworkOperation) {
        request.noteCreation()
        if super.isSuspended { request.noteHold() }
    }

    /// The queue is about to be resumed: the requests that wait for it get in line in the order in which they were added.
    private func beginInOrder() {
        for case let request as NetworkOperation in super.operations where request.isReadyToBegin {
            request.begin(on: self)
        }
    }

    /// How many operations may be executing at once, in line for a slot or waiting for a retry; any number by default.
    /// A value below -1 counts as -1, the default.
    open override var maxConcurrentOperationCount: Int {
        get { super.maxConcurrentOperationCount }
        set {
            let width = max(newValue, OperationQueue.defaultMaxConcurrentOperationCount)
            #if canImport(FoundationNetworking)
                // It is to count those that are under way already.
                handOverUnderWay({ $0.takeUnderWay() }) {
                    widthLock.withLock { super.maxConcurrentOperationCount = width }
                }
                if startsAtOnce, waitingRoom.withLock({ $0.watch() }) { lookLater() }
            #else
                super.maxConcurrentOperationCount = width
            #endif
        }
    }

    /// The bytes of the responses of all requests of the queue so far, added up: how many have come, and of how many as far
    /// as is known; see ``NetworkOperation/progress``. Requests that have yet to be answered are not in the total.
    ///
    /// Bytes, where `OperationQueue` counts operations. Cancelling it cancels all operations, pausing and resuming it suspends
    /// and resumes the queue.
    open override var progress: Progress { transfers.progress(.down, of: self) }

    // MARK: All operations

    /// Every operation that was added and has not finished, at this moment.
    ///
    /// Foundation's `operations` and `operationCount`, which cannot be overridden, leave out requests that wait for their
    /// dependencies. On Linux they also leave out requests that have set out within the last 10 to 20 ms.
    public var unfinishedOperations: [Operation] {
        // The waiting room first: what leaves it meanwhile is found in Foundation's list, perhaps in both.
        let waiting = waitingRoom.withLock { $0.operations }
        guard !waiting.isEmpty else { return super.operations }
        var known = Set(waiting.map(ObjectIdentifier.init))
        return super.operations.filter { known.insert(ObjectIdentifier($0)).inserted } + waiting
    }

    /// Cancels every operation that has not finished. None of them is sent to the network to be cancelled there.
    open override func cancelAllOperations() {
        session.lane.hold(.cancelling, member: laneMember)
        for operation in unfinishedOperations { operation.cancel() }
        session.lane.release(.cancelling, member: laneMember)
    }

    /// Blocks the thread until everything that was added has finished. Never call it from one of the queue's operations.
    open override func waitUntilAllOperationsAreFinished() {
        while true {
            let unfinished = unfinishedOperations
            guard !unfinished.isEmpty else { return }
            for operation in unfinished { operation.waitUntilFinished() }
        }
    }
}
