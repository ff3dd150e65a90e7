import Foundation

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A second transport, without a network: tests answer its tasks by hand, or by a closure on a queue of its own.
final class StubTransport: Transport {
    enum Answer {
        case status(Int, headers: [String: String] = [:], body: Data = Data())
        case failure(URLError.Code)
        /// No answer, until the test gives one.
        case none
    }

    struct Sent: Sendable {
        let identifier: Int
        let request: URLRequest
        let body: TransportBody
    }

    private struct State {
        var nextIdentifier = 0
        var sent: [Sent] = []
        var alive: [Int: URLRequest] = [:]
        var peak = 0
        var isInvalidated = false
        var paused: Set<Int> = []
        var waiters: [(count: Int, resume: @Sendable () -> Void)] = []
    }

    let maxConnectionsPerHost: Int
    let takesIPv6Addresses = true
    private let state = Locked(State())
    private let events: any TransportEvents
    private let queue = DispatchQueue(label: "stub")
    private let answer: @Sendable (URLRequest, Int) -> Answer

    init(
        maxConnectionsPerHost: Int = 0, events: any TransportEvents,
        answer: @escaping @Sendable (URLRequest, Int) -> Answer = { _, _ in .none }
    ) {
        self.maxConnectionsPerHost = maxConnectionsPerHost
        self.events = events
        self.answer = answer
    }

    var sent: [Sent] { state.withLock { $0.sent } }
    var peak: Int { state.withLock { $0.peak } }
    var aliveCount: Int { state.withLock { $0.alive.count } }
    var isInvalidated: Bool { state.withLock { $0.isInvalidated } }

    func idleTimeoutToKeep(for request: URLRequest) -> Duration? { nil }

    func start(_ request: URLRequest, body: TransportBody, claim: (_ identifier: Int) -> Bool) -> Bool {
        let (sent, ready): (Sent?, [@Sendable () -> Void]) = state.withLock { state in
            guard !state.isInvalidated else { return (nil, []) }
            state.nextIdentifier += 1
            guard claim(state.nextIdentifier) else { return (nil, []) }
            let sent = Sent(identifier: state.nextIdentifier, request: request, body: body)
            state.sent.append(sent)
            state.alive[sent.identifier] = request
            state.peak = max(state.peak, state.alive.count)
            let ready = state.waiters.filter { $0.count <= state.sent.count }.map(\.resume)
            state.waiters.removeAll { $0.count <= state.sent.count }
            return (sent, ready)
        }
        for resume in ready { resume() }
        if let sent {
            switch answer(request, sent.identifier) {
            case .none: break
            case let given: complete(sent.identifier, with: given)
            }
        }
        return !isInvalidated
    }

    let canPause = true

    func pause(_ identifier: Int) {
        state.withLock { _ = $0.paused.insert(identifier) }
    }

    func unpause(_ identifier: Int) {
        state.withLock { _ = $0.paused.remove(identifier) }
    }

    /// The tasks that are paused.
    var paused: Set<Int> { state.withLock { $0.paused } }

    func cancel(_ identifier: Int) {
        complete(identifier, with: .failure(.cancelled))
    }

    func invalidate() {
        state.withLock { $0.isInvalidated = true }
    }

    /// Answers a task that is alive.
    func complete(_ identifier: Int, with answer: Answer) {
        let request = state.withLock { $0.alive.removeValue(forKey: identifier) }
        guard let request, let url = request.url else { return }
        queue.async {
            switch answer {
            case .none: break
            case .failure(let code):
                self.events.task(identifier, completedWith: .urlError(URLError(code)))
            case .status(let status, let headers, let body):
                guard
                    let response = HTTPURLResponse(
                        url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
                else { return }
                self.events.task(identifier, received: response)
                if !body.isEmpty { self.events.task(identifier, received: body) }
                self.events.task(identifier, completedWith: nil)
            }
        }
    }

    /// Returns once so many requests have been sent in all.
    func waitForSent(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sent.count < count { state.waiters.append((count, { continuation.resume() })) }
                return state.sent.count >= count
            }
            if isThere { continuation.resume() }
        }
    }
}

/// A session over a stub transport and a virtual clock.
struct Stage {
    let time = VirtualTime()
    let session: NetworkSession
    let transport: StubTransport

    init(
        maxConnectionsPerHost: Int = 0, random: Double = 1,
        answer: @escaping @Sendable (URLRequest, Int) -> StubTransport.Answer = { _, _ in .none }
    ) {
        let made = Locked<StubTransport?>(nil)
        session = NetworkSession(time: time, random: { random }) { events in
            let transport = StubTransport(
                maxConnectionsPerHost: maxConnectionsPerHost, events: events, answer: answer)
            made.withLock { $0 = transport }
            return transport
        }
        transport = made.withLock { $0 } ?? StubTransport(events: session.router)
    }
}
