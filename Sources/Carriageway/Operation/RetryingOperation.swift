import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Any asynchronous work as an `Operation` with the retry, budget, slots, timeout and dependencies of a request.
///
/// ```swift
/// let host = "storage.example.com"
/// let upload = RetryingOperation(host: host) { attempt in
///     try await storage.put(file)    // a library of somebody else's
/// }
/// upload.retryPolicy = .fixed(interval: .seconds(2), maxRetries: 5)
/// let report = NetworkOperation(after: upload) { _ in reportRequest }
/// queue.addOperations([report, upload], waitUntilFinished: false)
/// let receipt = try await upload.value
/// ```
///
/// It is a ``NetworkOperation`` whose attempts are calls of a closure in place of requests: what queues, dependencies,
/// policies and handlers do with a request they do with it. Its ``NetworkOperation/result`` has a response without body and
/// of status 200; the value is in ``value``. `prepare`, credentials and validation, which are for requests, have no part.
///
/// An error that the work throws is followed by another attempt, unless it is a ``NetworkError`` or `URLError` that is not
/// transient, a `CancellationError`, or a ``WorkFailure`` that says no. Off a queue it has no slot and its own pace.
public final class RetryingOperation<Value: Sendable>: NetworkOperation, OwnOperation, @unchecked Sendable {
    /// What an attempt does. It gets the number of the attempt, from 1. The task it runs in is cancelled when the operation
    /// is, or runs out of time.
    public typealias Work = @Sendable (_ attempt: Int) async throws -> Value

    /// The same with a callback, to be called once; nil means no data. A call after the first has no effect. If it is let go
    /// of without a call that is no data too.
    public typealias CallbackWork =
        @Sendable (_ attempt: Int, _ done: @escaping @Sendable (Result<Value?, any Error>) -> Void) -> Void

    private let attempt: Work
    private let ends = Locked(Ends())

    /// What the attempts have come to. Each round ends once: what comes of it later, as behind its timeout, counts for nothing.
    private struct Ends {
        var lastRound = 0
        /// That of the last round, if it has one.
        var value: Value?

        /// - Returns: whether the round had not ended before.
        mutating func end(_ round: Int, with value: Value?) -> Bool {
            guard round > lastRound else { return false }
            (lastRound, self.value) = (round, value)
            return true
        }
    }

    /// An operation that does `work`.
    ///
    /// - Parameters:
    ///   - host: whose slots, budget and rate it shares, with the requests to it; without one it counts as one to a host
    ///     named "work". One that cannot be a host fails with ``NetworkError/invalidRequest(_:)``.
    ///   - session: as in ``NetworkOperation/init(_:body:session:)``.
    ///   - work: what an attempt does.
    public init(host: String = "work", session: NetworkSession? = nil, work: @escaping Work) {
        attempt = work
        do throws(NetworkError) {
            super.init(URLRequest(url: try EndpointURL.base(scheme: "https", host: host)), session: session)
        } catch {
            super.init(URLRequest(url: URL(fileURLWithPath: "/")), body: .failing(with: error), session: session)
        }
        isAuthenticated = false
    }

    /// An operation that does work with a callback.
    public convenience init(
        host: String = "work", session: NetworkSession? = nil, callback work: @escaping CallbackWork
    ) {
        self.init(host: host, session: session) { attempt in
            try await withCheckedThrowingContinuation { continuation in
                let completion = Completion(continuation)
                work(attempt) { completion.complete($0) }
            }
        }
    }

    /// Adds handlers and starts the operation: on a queue, or by itself.
    ///
    /// - Parameters:
    ///   - retryCount: how many retries there are at most, by the operation's policy otherwise; nil leaves that too.
    ///   - queue: where it runs; nil for no queue.
    ///   - failure: called once if it fails for good.
    ///   - success: called once with the value.
    /// - Returns: itself, to cancel it or to depend on it.
    @discardableResult
    public func run(
        retryCount: Int? = nil, on queue: NetworkQueue? = nil,
        failure: @escaping @Sendable (NetworkError) -> Void = { _ in }, success: @escaping @Sendable (Value) -> Void
    ) -> Self {
        if let retryCount {
            var policy = retryPolicy
            policy.maxRetries = retryCount
            retryPolicy = policy
        }
        onValue { result in
            switch result {
            case .success(let value): success(value)
            case .failure(let error): failure(error)
            }
        }
        if let queue { queue.addOperation(self) } else { start() }
        return self
    }

    // MARK: Value

    /// The value, awaited. Cancelling the task that awaits cancels the operation.
    ///
    /// It comes when the operation has run: someone has to start it.
    public var value: Value {
        get async throws(NetworkError) {
            _ = try await response
            return try Self.last(of: ends).get()
        }
    }

    /// Calls `handler` once with the value; see ``NetworkOperation/onCompletion(_:)``.
    public func onValue(_ handler: @escaping @Sendable (Result<Value, NetworkError>) -> Void) {
        let ends = ends
        onCompletion { result in
            handler(result.flatMap { _ in Self.last(of: ends) })
        }
    }

    private static func last(of ends: Locked<Ends>) -> Result<Value, NetworkError> {
        ends.withLock { $0.value }.map { .success($0) } ?? .failure(.generalError(WorkFailure.noData))
    }

    // MARK: Attempts

    override var isWork: Bool { true }

    override func work(_ request: URLRequest, _ round: Int) {
        let number = attempts.count + 1
        let start = time.moment
        let task = Task {
            let outcome: Result<Value, any Error>
            do {
                outcome = .success(try await attempt(number))
            } catch {
                outcome = .failure(error)
            }
            // Off the task, which the operation cancels when it ends.
            DispatchQueue.global().async { self.ended(outcome, of: request, since: start, round) }
        }
        let isWanted = shared.withLock { shared in
            guard shared.state.phase == .onWire, shared.state.round == round else { return false }
            shared.running.preparation = task
            return true
        }
        guard isWanted else { return task.cancel() }
        watch(task, request, since: start, round)
    }

    /// Ends an attempt that takes too long, as one of a request is ended.
    private func watch(
        _ task: Task<Void, Never>, _ request: URLRequest, since start: Moment, _ round: Int
    ) {
        guard let limit = attemptTimeout else { return }
        let timer = time.schedule(at: start.advanced(by: limit.saturated)) { [weak self] in
            guard let self else { return task.cancel() }
            DispatchQueue.global().async {
                // In this order: what the work makes of being cancelled comes too late.
                self.end(.failure(.urlError(URLError(.timedOut))), with: nil, of: request, since: start, round)
                task.cancel()
            }
        }
        keep(timer, in: \.retryTimer) { $0.phase == .onWire && $0.round == round }
    }

    private func ended(
        _ outcome: Result<Value, any Error>, of request: URLRequest, since start: Moment, _ round: Int
    ) {
        takeTimer(of: round)?.cancel()
        switch outcome {
        case .success(let value):
            guard let url = request.url,
                let http = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
            else {
                let error = NetworkError.invalidRequest("the host makes no URL")
                return end(.failure(error), with: nil, of: request, since: start, round)
            }
            let reply = Exchange.Reply(head: ReceivedHead(http), data: Data(), request: request)
            end(.success(reply), with: value, of: request, since: start, round)
        case .failure(let error):
            end(.failure(NetworkError(thrown: error)), with: nil, of: request, since: start, round)
        }
    }

    private func end(
        _ result: Result<Exchange.Reply, NetworkError>, with value: Value?, of request: URLRequest, since start: Moment,
        _ round: Int
    ) {
        let last = ends.withLock { ends in
            // What was there before must not end under the lock.
            let before = ends.value
            return (isFirst: ends.end(round, with: value), before)
        }
        if last.isFirst { workEnded(result, of: request, since: start, round) }
    }

    private func takeTimer(of round: Int) -> ScheduledTimer? {
        shared.withLock { shared in
            guard shared.state.phase == .onWire, shared.state.round == round else { return nil }
            defer { shared.running.retryTimer = nil }
            return shared.running.retryTimer
        }
    }

    override func usualDecision(after error: NetworkError) -> RetryDecision {
        guard case .generalError(let error) = error else { return .automatic }
        return switch error as? WorkFailure {
        case .tryAgain(let delay, _): .retryAfter(delay)
        case .final, .noData: .doNotRetry
        case nil: .retry
        }
    }
}

/// The end of a work with a callback: the first call counts, and if there is none that is no data.
private final class Completion<Value: Sendable>: Sendable {
    private let continuation: Locked<CheckedContinuation<Value, any Error>?>

    init(_ continuation: CheckedContinuation<Value, any Error>) {
        self.continuation = Locked(continuation)
    }

    deinit {
        complete(.success(nil))
    }

    func complete(_ result: Result<Value?, any Error>) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        switch result {
        case .success(let value?): waiting?.resume(returning: value)
        case .success(nil): waiting?.resume(throwing: WorkFailure.noData)
        case .failure(let error): waiting?.resume(throwing: error)
        }
    }
}
