import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The credential that the requests of one or more queues are sent with, and its renewal.
///
/// ```swift
/// let authentication = Authentication(
///     authenticator, credential: token)
/// let queue = NetworkQueue(authentication: authentication)
/// ```
///
/// Requests to the authenticator's hosts get the credential; a request can opt out with
/// ``NetworkOperation/isAuthenticated``. When the credential is about to expire, or a server answers 401 to it, it is
/// renewed once, however many requests fail. While that goes on, requests that need it stay in line and hold no slot;
/// those on the wire finish, and others go through. With the new credential they leave in the order of their arrival. A
/// request is sent again at most twice for a new credential, with its whole body, whatever its method: a server that
/// answers 401 has not acted on it. These sends are no retries, and cost no budget.
///
/// | the renewal | the waiting requests | the credential |
/// |---|---|---|
/// | succeeds | are sent | is the new one, once ``onCredentialChange`` has returned |
/// | is refused | fail with ``NetworkError/authenticationFailed(_:)`` | is dropped; ``onSignedOut`` is called, and nothing is sent or renewed until a credential is set |
/// | finds nobody, three times or within 30 s | fail with ``NetworkError/authenticationFailed(_:)`` | is kept; the next request that needs it renews it, after a second |
///
/// There are at most five renewals in 30 s whose credential no server takes. After that a 401 is the request's result.
/// A request that needs a credential when there is none fails with ``AuthenticationError/missingCredential``.
///
/// The authenticator's functions are called one at a time, on a queue of this object's own, except for
/// ``Authenticator/refresh(_:over:)`` and, for the way of a redirect, ``Authenticator/apply(_:to:)``. None of them may
/// block for long.
public final class Authentication<A: Authenticator>: Sendable {
    private typealias State = AuthenticationState<A.Credential>

    /// What works for the renewal in flight.
    private struct Work {
        var task: Task<Void, Never>?
        var timers: [ScheduledTimer] = []
        var session: NetworkSession?

        func stop() {
            task?.cancel()
            for timer in timers { timer.cancel() }
        }
    }

    private struct Shared {
        var state: State
        /// The lanes to hold, by the queues that are their members.
        var places: [LaneMembership] = []
        var work = Work()
        var onCredentialChange: (@Sendable (A.Credential) async -> Void)?
        var onSignedOut: (@Sendable (any Error) async -> Void)?
    }

    /// How requests get the credential, and how it is renewed.
    public let authenticator: A

    private let hosts: HostPatterns
    private let time: any TimeSource
    private let shared: Locked<Shared>
    /// Gives authorizations, holds and releases one order: so nobody is let through before a hold is in place.
    private let queue = DispatchQueue(label: "carriageway.authentication")

    /// The credential of one account, with the authenticator that sends and renews it.
    ///
    /// - Parameters:
    ///   - authenticator: its `hosts` are read once.
    ///   - credential: nil while nobody is logged in.
    public convenience init(_ authenticator: A, credential: A.Credential? = nil) {
        self.init(authenticator, credential: credential, time: SystemTime.shared)
    }

    package init(_ authenticator: A, credential: A.Credential?, time: any TimeSource) {
        self.authenticator = authenticator
        self.time = time
        hosts = HostPatterns(authenticator.hosts)
        shared = Locked(Shared(state: AuthenticationState(credential: credential)))
    }

    /// The credential. Set it to log in, to nil to log out; a renewal in flight then comes to nothing, and the requests
    /// that waited for it go on with what was set.
    ///
    /// Requests that are on the wire keep what they were sent with.
    public var credential: A.Credential? {
        get { shared.withLock { $0.state.credential } }
        set {
            let (old, (actions, work)) = shared.withLock { shared in
                (shared.state.credential, decide(&shared) { $0.set(newValue) })
            }
            // Not released under the lock: it may be an object of the caller's.
            _ = old
            work?.stop()
            guard !actions.isEmpty else { return }
            queue.async { self.perform(actions) }
        }
    }

    /// Called, and awaited, with each renewed credential before any request leaves with it: store it here, so that a
    /// rotated refresh token is not lost. Not called for a credential that is set.
    public var onCredentialChange: (@Sendable (A.Credential) async -> Void)? {
        get { shared.withLock { $0.onCredentialChange } }
        set { replace(\.onCredentialChange, with: newValue) }
    }

    /// Called once when a renewal of the current credential was refused and the credential dropped, with the error.
    public var onSignedOut: (@Sendable (any Error) async -> Void)? {
        get { shared.withLock { $0.onSignedOut } }
        set { replace(\.onSignedOut, with: newValue) }
    }

    private func replace<Value>(_ part: WritableKeyPath<Shared, Value>, with value: Value) {
        let old = shared.withLock { shared in
            defer { shared[keyPath: part] = value }
            return shared[keyPath: part]
        }
        _ = old
    }
}

// MARK: - What queues and operations ask of it

extension Authentication: RequestAuthorizer {
    func covers(_ url: URL) -> Bool { hosts.cover(url) }

    var fault: NetworkError? {
        // Not named: a URL may have a password in it.
        hosts.isFaulty
            ? .invalidRequest(
                "the authenticator's hosts have something else in them than a name, with a port or not, or *.name")
            : nil
    }

    var loss: NetworkError? {
        let now = time.now
        return shared.withLock { $0.state.loss(at: now) }.map { .authenticationFailed($0) }
    }

    var logIns: Int { shared.withLock { $0.state.logIns } }

    func join(_ place: LaneMembership) {
        shared.withLock { $0.places.append(place) }
        queue.async { self.updateHolds() }
    }

    func part(_ member: Lane.MemberID, of lane: Lane) {
        shared.withLock { $0.places.removeAll { $0.member == member && $0.lane === lane } }
    }

    func authorize(over session: NetworkSession, report: @escaping @Sendable (Authorization) -> Void) {
        queue.async {
            let (credential, generation) = self.shared.withLock { ($0.state.credential, $0.state.generation) }
            let now = self.time.now
            let isExpiring = credential.map { self.authenticator.needsRefresh($0, now: now) } ?? false
            let (answer, actions) = self.shared.withLock { shared in
                let (answer, actions) = shared.state.authorize(expiring: isExpiring ? generation : nil, now: now)
                if !actions.isEmpty { shared.work.session = session }
                return (answer, actions)
            }
            self.perform(actions)
            switch answer {
            case .send(let credential, let generation):
                report(.send(self.stamp(credential, generation)))
            case .wait: report(.wait)
            case .fail(let error): report(.fail(.authenticationFailed(error)))
            }
        }
    }

    private func stamp(_ credential: A.Credential, _ generation: Int) -> CredentialStamp {
        CredentialStamp(generation: generation) { request in
            // Wherever the request goes, be it by a redirect: elsewhere the credential is not the server's to see.
            guard let url = request.url, self.hosts.cover(url) else { return false }
            self.authenticator.apply(credential, to: &request)
            return true
        }
    }

    func review(
        _ response: HTTPURLResponse, _ data: Data, generation: Int, wasResent: Bool,
        report: @escaping @Sendable (CredentialReview) -> Void
    ) {
        queue.async {
            let review: CredentialReview
            if self.authenticator.isUnauthorized(response, data) {
                let now = self.time.now
                let isWorthIt = self.shared.withLock {
                    $0.state.rejected(generation, wasResent: wasResent, now: now)
                }
                review = isWorthIt ? .sendAgain : .leave
            } else {
                self.shared.withLock { $0.state.accepted(generation) }
                review = .leave
            }
            report(review)
        }
    }
}

// MARK: - Renewal

extension Authentication {
    /// Feeds an event to the state, under the lock.
    ///
    /// - Returns: what is to be done, and what worked for the renewal that is over.
    private func decide(_ shared: inout Shared, _ event: (inout State) -> [State.Action]) -> ([State.Action], Work?) {
        let actions = event(&shared.state)
        guard !shared.state.isHeld, !actions.isEmpty else { return (actions, nil) }
        defer { shared.work = Work() }
        return (actions, shared.work)
    }

    /// Feeds an event to the state and does what it decides; on `queue`.
    private func apply(_ event: (inout State) -> [State.Action]) {
        let (old, (actions, work)) = shared.withLock { ($0.state, decide(&$0, event)) }
        // Nor are credential and errors of the caller's released under the lock.
        _ = old
        work?.stop()
        perform(actions)
    }

    private func perform(_ actions: [State.Action]) {
        for action in actions {
            switch action {
            case .updateHolds: updateHolds()
            case .renew(let credential, let renewal): renew(credential, renewal)
            case .armDeadline(let instant, let renewal):
                schedule(at: instant, renewal) { $0.deadlineCame(renewal: renewal, now: $1) }
            case .sleep(let instant, let renewal):
                schedule(at: instant, renewal) { state, _ in state.woke(renewal: renewal) }
            case .store(let credential, let renewal): store(credential, renewal)
            case .signOut(let error):
                guard let onSignedOut else { continue }
                Task { await onSignedOut(error) }
            }
        }
    }

    /// As the state is now, not as it was when the action was decided: a credential may have been set since.
    private func updateHolds() {
        let (isHeld, places) = shared.withLock { ($0.state.isHeld, $0.places) }
        let loss = loss
        for place in places {
            if isHeld {
                place.lane.hold(.renewing, member: place.member)
            } else {
                // Those who wait fail at once, also where no slot is free to tell them so.
                if let loss {
                    for client in place.lane.clientsWithoutCredential(of: place.member) { client.credentialLost(loss) }
                }
                place.lane.release(.renewing, member: place.member)
            }
        }
    }

    private func renew(_ credential: A.Credential, _ renewal: Int) {
        // Without a session the renewal is over: a credential was set in the meantime.
        let (first, places) = shared.withLock { ($0.work.session, $0.places) }
        guard let first else { return }
        // Its session may have ended since, while requests wait on another.
        let session = first.isInvalidated ? places.map(\.session).first { !$0.isInvalidated } ?? first : first
        work(for: renewal) {
            let result: Result<A.Credential, State.Failure>
            do {
                result = .success(try await self.authenticator.refresh(credential, over: session))
            } catch {
                result = .failure(self.failure(error))
            }
            return { $0.tried(result, renewal: renewal, now: $1) }
        }
    }

    private func failure(_ error: any Error) -> State.Failure {
        let response = (error as? NetworkError)?.response
        let wait = response.flatMap { RetryAfter.delay(in: $0, now: time.date) }
        return State.Failure(error: error, isFinal: RefreshOutcome(of: error) == .refused, wait: wait)
    }

    private func store(_ credential: A.Credential, _ renewal: Int) {
        let onCredentialChange = onCredentialChange
        work(for: renewal) {
            await onCredentialChange?(credential)
            return { $0.stored(renewal: renewal, now: $1) }
        }
    }

    private typealias Event = @Sendable (inout State, ContinuousClock.Instant) -> [State.Action]

    /// Runs a task for the renewal, if that is still in flight, and reports what it brings.
    private func work(for renewal: Int, _ body: @escaping @Sendable () async -> Event) {
        // Ahead of other tasks: every request that needs the credential waits for this one, and its time is short. Where
        // many tasks of the usual priority wait for a thread, it would pass before the first step.
        let underWay = Renewing.underWay.union([ObjectIdentifier(self)])
        let task = Task(priority: .high) {
            // A credential may have been set since: then nothing of the caller's is called for the old one.
            guard keep(for: renewal, { _ in }) else { return }
            report(await Renewing.$underWay.withValue(underWay) { await body() })
        }
        let isWanted = keep(for: renewal) { $0.task = task }
        if !isWanted { task.cancel() }
    }

    private func schedule(at instant: ContinuousClock.Instant, _ renewal: Int, _ event: @escaping Event) {
        let timer = time.schedule(at: instant) { self.report(event) }
        let isWanted = keep(for: renewal) { $0.timers.append(timer) }
        if !isWanted { timer.cancel() }
    }

    private func report(_ event: @escaping Event) {
        queue.async {
            let now = self.time.now
            self.apply { event(&$0, now) }
        }
    }

    private func keep(for renewal: Int, _ change: (inout Work) -> Void) -> Bool {
        shared.withLock { shared in
            guard shared.state.renewalInFlight == renewal else { return false }
            change(&shared.work)
            return true
        }
    }
}
