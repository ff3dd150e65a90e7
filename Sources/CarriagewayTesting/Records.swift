import Foundation

/// What the server has seen. All state is guarded by `lock`; waiting callers are resumed outside it.
final class Records: @unchecked Sendable {
    private let lock = NSLock()
    private var state = RecordsState()

    func read<Value>(_ value: (RecordsState) -> Value) -> Value {
        lock.withLock { value(state) }
    }

    /// Changes the state, then resumes those who waited for that.
    @discardableResult
    func update<Value>(_ change: (inout RecordsState) -> Value) -> Value {
        let (value, met) = lock.withLock { (change(&state), state.takeMet()) }
        met.forEach { $0(.success(())) }
        return value
    }

    /// The server has stopped: nothing that is waited for can come any more.
    func stop() {
        let all = lock.withLock { state.stop() }
        all.forEach { $0(.failure(LoopbackServer.Failure.stopped)) }
    }

    func wait(for condition: RecordsState.Condition) async throws {
        try await suspendUntilResumed { identifier, resume in
            register(identifier, for: condition, resume: resume)
        } withdraw: { identifier in
            self.withdraw(identifier, with: CancellationError())
        }
    }

    /// Blocks the thread instead; false when the time is up or the server has stopped.
    func waitBlocking(for condition: RecordsState.Condition, timeout: Duration) -> Bool {
        let identifier = WaitIdentifier()
        let outcome = BlockingOutcome()
        register(identifier, for: condition) { outcome.set($0) }
        if !outcome.wait(until: Date(timeIntervalSinceNow: timeout.seconds)) {
            withdraw(identifier, with: CancellationError())
        }
        return outcome.isSuccess
    }

    private func register(
        _ identifier: WaitIdentifier, for condition: RecordsState.Condition,
        resume: @escaping WaitList<RecordsState.Condition>.Resume
    ) {
        let isStopped = lock.withLock {
            if !state.isStopped { state.waiters.add(identifier, for: condition, resume: resume) }
            return state.isStopped
        }
        if isStopped { resume(.failure(LoopbackServer.Failure.stopped)) } else { update { _ in } }
    }

    private func withdraw(_ identifier: WaitIdentifier, with error: any Error) {
        lock.withLock { state.waiters.take(identifier) }?(.failure(error))
    }
}

/// The outcome of a wait that blocks its thread. All state is guarded by `condition`.
private final class BlockingOutcome: @unchecked Sendable {
    private let condition = NSCondition()
    private var result: Result<Void, any Error>?

    func set(_ result: Result<Void, any Error>) {
        condition.withLock {
            self.result = result
            condition.broadcast()
        }
    }

    /// False when the time was up first.
    func wait(until deadline: Date) -> Bool {
        condition.withLock {
            while result == nil {
                guard condition.wait(until: deadline) else { return result != nil }
            }
            return true
        }
    }

    var isSuccess: Bool {
        condition.withLock {
            if case .success = result { true } else { false }
        }
    }
}

/// Counts and records, without the lock.
struct RecordsState {
    enum Condition {
        case requests(Int, path: String?)
        case openConnections(Int)
        case idle
    }

    private(set) var requests: [LoopbackServer.Request] = []
    private(set) var requestCount = 0
    private(set) var connectionCount = 0
    private(set) var openConnections = 0
    private(set) var peak = 0
    private(set) var peakByPath: [String: Int] = [:]
    private(set) var isStopped = false
    var keepsRequests = true
    var waiters = WaitList<Condition>()

    private var countByPath: [String: Int] = [:]
    private var lastNumber = 0
    private var unanswered = 0
    private var unansweredByPath: [String: Int] = [:]

    /// A request has been read to its end.
    mutating func arrived(_ parsed: ParsedRequest, on connection: Int) -> LoopbackServer.Request {
        lastNumber += 1
        let request = LoopbackServer.Request(
            method: parsed.method, target: parsed.target, path: RequestTarget(parsed.target).path,
            headers: parsed.headers, body: parsed.body, connection: connection, arrived: .now, number: lastNumber)
        requestCount += 1
        countByPath[request.path, default: 0] += 1
        unanswered += 1
        peak = max(peak, unanswered)
        let current = unansweredByPath[request.path, default: 0] + 1
        unansweredByPath[request.path] = current
        if current > peakByPath[request.path, default: 0] { peakByPath[request.path] = current }
        if keepsRequests { requests.append(request) }
        return request
    }

    /// A request has been answered to the end, or its connection is gone.
    mutating func ended(path: String) {
        unanswered -= 1
        let left = unansweredByPath[path, default: 1] - 1
        unansweredByPath[path] = left == 0 ? nil : left
    }

    /// Returns the number of the connection.
    mutating func connectionOpened() -> Int {
        connectionCount += 1
        openConnections += 1
        return connectionCount
    }

    mutating func connectionClosed() {
        openConnections -= 1
    }

    func requests(to path: String) -> [LoopbackServer.Request] {
        let path = RequestTarget.decoded(path)
        return requests.filter { $0.path == path }
    }

    /// Forgets the requests, their counts and the peaks. What is in flight stays in flight.
    mutating func reset() {
        requests = []
        requestCount = 0
        countByPath = [:]
        peak = unanswered
        peakByPath = unansweredByPath
    }

    mutating func stop() -> [WaitList<Condition>.Resume] {
        isStopped = true
        return waiters.take { _ in true }
    }

    mutating func takeMet() -> [WaitList<Condition>.Resume] {
        guard !waiters.isEmpty else { return [] }
        return waiters.take(where: isMet)
    }

    private func isMet(_ condition: Condition) -> Bool {
        switch condition {
        case .requests(let count, path: nil): requestCount >= count
        case .requests(let count, path: let path?): countByPath[RequestTarget.decoded(path), default: 0] >= count
        case .openConnections(let count): openConnections <= count
        case .idle: unanswered == 0
        }
    }
}

extension Duration {
    /// In seconds, as `Date` and `Thread` count.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
