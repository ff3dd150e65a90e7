import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Answers requests in place of a network, and remembers them: for tests of code that uses a `NetworkSession`.
///
/// ```swift
/// let stub = StubTransport()
/// stub.on(.get, "/users/1", .json(User(name: "Ada")))
/// stub.on(
///     "/flaky", .status(503), .failure(.timedOut),
///     .text("third time lucky"))
/// let client = APIClient(
///     baseURL: "https://api.example.com",
///     queue: NetworkQueue(session: NetworkSession(stub: stub)))
/// try await code(under: client)
/// #expect(stub.requests.map(\.httpMethod) == ["GET"])
/// #expect(stub.unexpectedRequests.isEmpty)
/// ```
///
/// All above the wire is the real thing: queue, retry, credentials, redirects, validation, decoding. A request that
/// nothing was said about fails with `NetworkError.invalidRequest`, which is not tried again, and is kept in
/// ``unexpectedRequests``.
public final class StubTransport: Sendable {
    /// What comes back for a request.
    public enum Answer: Sendable {
        /// A response.
        case status(Int, headers: [String: String] = [:], body: Data = Data())
        /// The transfer fails.
        case failure(URLError.Code)
        /// Nothing, until the test answers with ``StubTransport/complete(_:with:)`` or the request is cancelled.
        case none

        /// A value as JSON. One that cannot be encoded becomes a 500 whose text says why.
        public static func json(_ value: some Encodable, status: Int = 200) -> Answer {
            do {
                let body = try JSONEncoder().encode(value)
                return .status(status, headers: ["Content-Type": "application/json"], body: body)
            } catch {
                return .text("StubTransport cannot encode this answer as JSON: \(error)", status: 500)
            }
        }

        /// Text in UTF-8.
        public static func text(_ text: String, status: Int = 200) -> Answer {
            .status(status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Data(text.utf8))
        }
    }

    /// A request that was sent: an attempt, or a hop of a redirect.
    public struct Sent: Sendable {
        /// Names it for ``StubTransport/complete(_:with:)``.
        public let identifier: Int
        /// The request, without its body.
        public let request: URLRequest
        package let body: TransportBody
    }

    private struct Alive {
        let request: URLRequest
        let events: any TransportEvents
    }

    private struct State {
        var routes = StubRoutes()
        var nextIdentifier = 0
        var sent: [Sent] = []
        var unexpected: [Int] = []
        var alive: [Int: Alive] = [:]
        var peak = 0
        var paused: Set<Int> = []
        var waiters: [(count: Int, resume: @Sendable () -> Void)] = []
        var invalidations = 0
    }

    let maxConnectionsPerHost: Int
    private let state = Locked(State())
    private let queue = DispatchQueue(label: "carriageway.stub")
    private let answer: (@Sendable (URLRequest, Int) -> Answer)?

    /// A stub whose answers are told with ``on(_:_:)`` and ``on(_:where:)``.
    public convenience init() {
        self.init(maxConnectionsPerHost: 0, answering: nil)
    }

    /// A stub that a closure answers for: it gets the request, without its body, and the number of requests so far.
    ///
    /// - Parameters:
    ///   - maxConnectionsPerHost: how many requests a host takes at once; 0 for any number.
    ///   - answer: runs on the thread that sends.
    public convenience init(
        maxConnectionsPerHost: Int = 0, answer: @escaping @Sendable (_ request: URLRequest, _ number: Int) -> Answer
    ) {
        self.init(maxConnectionsPerHost: maxConnectionsPerHost, answering: answer)
    }

    private init(maxConnectionsPerHost: Int, answering answer: (@Sendable (URLRequest, Int) -> Answer)?) {
        self.maxConnectionsPerHost = maxConnectionsPerHost
        self.answer = answer
    }

    // MARK: Answers

    /// Answers requests to a path, one after the other; the last answer holds for all that follow.
    ///
    /// What was said later goes before what was said earlier.
    ///
    /// - Parameters:
    ///   - path: the path of the URL, decoded; with `*` at its end every path that begins so.
    ///   - answers: in order; without any, ``Answer/none``.
    public func on(_ path: String, _ answers: Answer...) {
        add(answers, method: nil, path)
    }

    /// The same for one method.
    public func on(_ method: HTTPMethod, _ path: String, _ answers: Answer...) {
        add(answers, method: method, path)
    }

    private func add(_ answers: [Answer], method: HTTPMethod?, _ path: String) {
        let isPrefix = path.hasSuffix("*")
        let path = isPrefix ? String(path.dropLast()) : path
        add(answers) { request in
            guard method.map({ $0.rawValue == request.httpMethod ?? "GET" }) ?? true else { return false }
            let asked = request.url?.path ?? ""
            let plain = asked.isEmpty ? "/" : asked
            return isPrefix ? plain.hasPrefix(path) : plain == path
        }
    }

    /// Answers the requests that `isMatch` picks. It gets each with its body and must not block.
    public func on(_ answers: Answer..., where isMatch: @escaping @Sendable (URLRequest) -> Bool) {
        add(answers, isMatch)
    }

    func add(_ answers: [Answer], _ isMatch: @escaping @Sendable (URLRequest) -> Bool) {
        state.withLock { $0.routes.add(isMatch, answers) }
    }

    // MARK: What was sent

    /// Every request that was sent, in order, with its body as `httpBody`.
    public var requests: [URLRequest] { sent.map { Self.whole($0.request, $0.body) } }

    /// Those that nothing was said about.
    public var unexpectedRequests: [URLRequest] {
        let (sent, unexpected) = state.withLock { ($0.sent, $0.unexpected) }
        return sent.filter { unexpected.contains($0.identifier) }.map { Self.whole($0.request, $0.body) }
    }

    /// Every request that was sent, in order.
    public var sent: [Sent] { state.withLock { $0.sent } }

    /// How many are unanswered.
    public var aliveCount: Int { state.withLock { $0.alive.count } }

    /// How many were unanswered at once, at most.
    public var peak: Int { state.withLock { $0.peak } }

    /// Returns once so many requests have been sent in all.
    public func waitForSent(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sent.count < count { state.waiters.append((count, { continuation.resume() })) }
                return state.sent.count >= count
            }
            if isThere { continuation.resume() }
        }
    }

    /// The requests whose responses are not read further for now.
    package var paused: Set<Int> { state.withLock { $0.paused } }

    /// Whether a session over this stub has ended.
    package var isInvalidated: Bool { state.withLock { $0.invalidations > 0 } }

    // MARK: Answering by hand

    /// Answers a request that is unanswered.
    public func complete(_ identifier: Int, with answer: Answer) {
        guard let alive = state.withLock({ $0.alive.removeValue(forKey: identifier) }) else { return }
        queue.async {
            switch answer {
            case .none: break
            case .failure(let code): alive.events.task(identifier, completedWith: .urlError(URLError(code)))
            case .status(let status, let headers, let body):
                Self.tell(alive, identifier, status, headers, body)
                alive.events.task(identifier, completedWith: nil)
            }
        }
    }

    /// Gives an unanswered request the head of its response, or a part of the body, without ending it.
    public func give(_ identifier: Int, status: Int? = nil, headers: [String: String] = [:], body: Data = Data()) {
        guard let alive = state.withLock({ $0.alive[identifier] }) else { return }
        queue.async { Self.tell(alive, identifier, status, headers, body) }
    }

    /// Ends a request whose response has been given.
    public func finish(_ identifier: Int) {
        guard let alive = state.withLock({ $0.alive.removeValue(forKey: identifier) }) else { return }
        queue.async { alive.events.task(identifier, completedWith: nil) }
    }

    /// Returns once all that was answered so far has been told.
    public func settled() {
        queue.sync {}
    }

    private static func tell(
        _ alive: Alive, _ identifier: Int, _ status: Int?, _ headers: [String: String], _ body: Data
    ) {
        if let status, let url = alive.request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
        {
            alive.events.task(identifier, received: response)
        }
        if !body.isEmpty { alive.events.task(identifier, received: body) }
    }
}

// MARK: - The session's side

extension StubTransport {
    func start(
        _ request: URLRequest, body: TransportBody, for events: any TransportEvents, claim: (_ identifier: Int) -> Bool,
        isOpen: () -> Bool
    ) -> Bool {
        let (sent, ready): (Sent?, [@Sendable () -> Void]) = state.withLock { state in
            guard isOpen() else { return (nil, []) }
            state.nextIdentifier += 1
            guard claim(state.nextIdentifier) else { return (nil, []) }
            let sent = Sent(identifier: state.nextIdentifier, request: request, body: body)
            state.sent.append(sent)
            state.alive[sent.identifier] = Alive(request: request, events: events)
            state.peak = max(state.peak, state.alive.count)
            let ready = state.waiters.filter { $0.count <= state.sent.count }.map(\.resume)
            state.waiters.removeAll { $0.count <= state.sent.count }
            return (sent, ready)
        }
        for resume in ready { resume() }
        if let sent { answer(sent) }
        return isOpen()
    }

    private func answer(_ sent: Sent) {
        let given = answer.map { $0(sent.request, sent.identifier) } ?? scripted(sent)
        switch given {
        case .none?: break
        case let given?: complete(sent.identifier, with: given)
        case nil: refuse(sent)
        }
    }

    /// What the routes say to a request; nil if none says anything.
    private func scripted(_ sent: Sent) -> Answer? {
        let request = Self.whole(sent.request, sent.body)
        // The matchers are the caller's: they run outside the lock.
        let routes = state.withLock { $0.routes.routes }
        guard let route = routes.last(where: { $0.isMatch(request) }) else { return nil }
        return state.withLock { $0.routes.take(route.number) }
    }

    private func refuse(_ sent: Sent) {
        let alive = state.withLock { state in
            state.unexpected.append(sent.identifier)
            return state.alive.removeValue(forKey: sent.identifier)
        }
        let what = "\(sent.request.httpMethod ?? "GET") \(sent.request.url?.path ?? "")"
        queue.async {
            alive?.events.task(
                sent.identifier, completedWith: .invalidRequest("StubTransport has no answer for \(what)"))
        }
    }

    func pause(_ identifier: Int) { state.withLock { _ = $0.paused.insert(identifier) } }

    func unpause(_ identifier: Int) { state.withLock { _ = $0.paused.remove(identifier) } }

    func invalidated() { state.withLock { $0.invalidations += 1 } }

    private static func whole(_ request: URLRequest, _ body: TransportBody) -> URLRequest {
        var whole = request
        whole.httpBody = body.contents
        return whole
    }
}
