/// Who gets the result of an operation, each exactly once: pure, without lock.
struct ResultDelivery {
    typealias Handler = @Sendable (Result<NetworkResponse, NetworkError>) -> Void

    private var handlers: [Handler] = []
    /// A run of the handlers is scheduled or under way, and will take those that are added meanwhile: so their order
    /// holds also for one that is added at the very moment of the result.
    private var isRunning = false
    /// The result has been delivered. Until then there may be one, but those who wait for it are not called by others:
    /// their run is scheduled before the operation finishes.
    private var isDelivered = false
    private var waiters: [Handler] = []

    /// Adds a handler. True if the caller is to schedule a run.
    mutating func add(_ handler: @escaping Handler) -> Bool {
        handlers.append(handler)
        return isDelivered && beginRun()
    }

    /// The result is there for everybody. True if the caller is to schedule a run.
    mutating func deliver() -> Bool {
        isDelivered = true
        return beginRun()
    }

    /// Marks a run as scheduled. False if one is already, or nobody waits.
    private mutating func beginRun() -> Bool {
        guard !isRunning, !handlers.isEmpty else { return false }
        isRunning = true
        return true
    }

    /// The handlers to call next; none ends the run.
    mutating func next() -> [Handler] {
        defer { handlers = [] }
        if handlers.isEmpty { isRunning = false }
        return handlers
    }

    /// Adds one that is called at once when the result is there, on whatever thread.
    mutating func add(waiter: @escaping Handler) {
        waiters.append(waiter)
    }

    mutating func takeWaiters() -> [Handler] {
        defer { waiters = [] }
        return waiters
    }
}

extension NetworkOperation {
    /// Calls `waiter` once with the result, on whatever thread brings it; at once if it is there.
    func whenEnded(_ waiter: @escaping ResultDelivery.Handler) {
        let result = shared.withLock { shared in
            if shared.state.result == nil { shared.delivery.add(waiter: waiter) }
            return shared.state.result
        }
        if let result { waiter(result) }
    }

    /// The result is stored: wakes those who await it, and queues the handlers.
    func deliver() {
        let (result, waiters, isDue) = shared.withLock { shared in
            (shared.state.result, shared.delivery.takeWaiters(), shared.delivery.deliver())
        }
        guard let result else { return }
        if isDue { runHandlers() }
        for waiter in waiters { waiter(result) }
    }

    func runHandlers() {
        let queue = shared.withLock { $0.configuration?.value.callbackQueue } ?? Self.callbacks
        queue.async {
            while true {
                let (result, handlers) = self.shared.withLock { ($0.state.result, $0.delivery.next()) }
                guard let result, !handlers.isEmpty else { return }
                for handler in handlers { handler(result) }
            }
        }
    }
}
