/// Who stands in line for a slot.
protocol LaneClient: AnyObject, Sendable {
    /// A slot is there, for the round that the client entered with. Called outside every lock.
    func laneAdmits(round: Int)
    /// The circuit of the client's queue to its host was opened. Called outside every lock.
    func circuitOpened()
    /// There is no credential for the client. Called outside every lock.
    func credentialLost(_ error: NetworkError)
    /// What keeps the client off the wire may have changed; only while anybody observes. Called outside every lock.
    func holdsChanged()
}

extension LaneClient {
    func circuitOpened() {}
    func credentialLost(_ error: NetworkError) {}
    func holdsChanged() {}
}

/// The way onto the wire: who may be on it now, and who is next.
///
/// One lane belongs to a session and is shared by all its queues, each of which has slots and holds of its own: so the
/// queues together keep within the session's connections for a host, and a slot that one frees another can use.
final class Lane: Sendable {
    private struct Shared {
        var state: State
        /// The clients are held while they stand in line or have a slot; so an identifier is never used again early.
        var clients: [ClientID: any LaneClient] = [:]
        /// Wakes the machine at its `wakesAt`.
        var timer: ScheduledTimer?
    }

    private let shared: Locked<Shared>
    private let time: any TimeSource
    /// How many observe queues of the lane.
    let observerCount = ObserverCount()

    init(connectionsPerHost: Int, time: any TimeSource) {
        shared = Locked(Shared(state: State(connectionsPerHost: connectionsPerHost > 0 ? connectionsPerHost : nil)))
        self.time = time
    }

    func join(
        limit: Int, limitPerHost: Int, rate: RateLimit? = nil, ratePerHost: RateLimit? = nil
    ) -> MemberID {
        shared.withLock {
            $0.state.join(limit: limit, limitPerHost: limitPerHost, rate: rate, ratePerHost: ratePerHost)
        }
    }

    func part(_ member: MemberID) {
        shared.withLock { $0.state.part(member) }
    }

    func enter(
        _ client: any LaneClient, round: Int, member: MemberID, host: String, needsCredential: Bool, priority: Int
    ) {
        var isAdmitted = false
        apply { shared, now in
            let identifier = ClientID(client)
            shared.clients[identifier] = client
            isAdmitted = shared.state.pass(
                identifier, round: round, member: member, host: host, needsCredential, priority)
            // Most need not stand in line: for them nothing is written down.
            if isAdmitted { return [] }
            return shared.state.enter(
                identifier, round: round, member: member, host: host, needsCredential: needsCredential,
                priority: priority, now: now)
        }
        if isAdmitted { client.laneAdmits(round: round) }
    }

    func leave(_ client: any LaneClient, round: Int) {
        apply { shared, now in
            let identifier = ClientID(client)
            let actions = shared.state.leave(identifier, round: round, now: now)
            if shared.state.tickets[identifier] == nil { shared.clients[identifier] = nil }
            return actions
        }
    }

    func confirm(_ client: any LaneClient, round: Int) -> Bool {
        var isConfirmed = true
        apply { shared, now in
            let (answer, actions) = shared.state.confirm(ClientID(client), round: round, now: now)
            isConfirmed = answer
            return actions
        }
        return isConfirmed
    }

    func giveBack(_ client: any LaneClient, round: Int, next: Int) {
        apply { $0.state.giveBack(ClientID(client), round: round, next: next, now: $1) }
    }

    /// What is to follow is that the client leaves, or gives its slot back.
    func returnTurn(_ client: any LaneClient, round: Int) {
        let now = time.moment
        shared.withLock { $0.state.returnTurn(ClientID(client), round: round, now: now) }
    }

    func setPriority(_ priority: Int, of client: any LaneClient) {
        apply { $0.state.setPriority(priority, of: ClientID(client), now: $1) }
    }

    func hold(_ reason: Hold, member: MemberID) {
        shared.withLock { $0.state.hold(reason, member: member) }
        tellOfHolds(member, host: nil)
    }

    func release(_ reason: Hold, member: MemberID) {
        apply { $0.state.release(reason, member: member, now: $1) }
        tellOfHolds(member, host: nil)
    }

    /// - Parameter isTooMuch: whether the host said that too many requests come, so that the rate to it is lowered.
    func hold(host: String, until instant: Moment, isTooMuch: Bool = false) {
        apply { shared, now in
            if isTooMuch { shared.state.slowDown(host: host, until: instant, now: now) }
            return shared.state.hold(host: host, until: instant)
        }
        tellOfHolds(nil, host: host)
    }

    private func tellOfHolds(_ member: MemberID?, host: String?) {
        guard !observerCount.isZero else { return }
        for client in clientsInLine(of: member, host: host) { client.holdsChanged() }
    }

    /// What keeps a client that waits off the wire; nil if it is nothing but the lack of a slot.
    func obstacle(of client: any LaneClient) -> NetworkEvent.Hold? {
        let now = time.moment
        return shared.withLock { $0.state.obstacle(of: ClientID(client), now: now) }
    }

    func occupy(host: String) {
        shared.withLock { $0.state.occupy(host: host) }
    }

    func vacate(host: String) {
        apply { $0.state.vacate(host: host, now: $1) }
    }

    func close() {
        apply { shared, _ in shared.state.close() }
    }

    /// How many have a slot and how many wait for one, of one queue.
    func counts(of member: MemberID) -> (active: Int, waiting: Int) {
        shared.withLock { shared in
            guard let member = shared.state.members[member] else { return (0, 0) }
            return (member.active, member.buckets.values.reduce(0) { $0 + $1.waitingCount })
        }
    }

    /// Who waits for a slot, of one queue or of all, to one host or to any, in order.
    func clientsInLine(of member: MemberID?, host: String?) -> [any LaneClient] {
        shared.withLock { shared in
            shared.state.clientsInLine(of: member, host: host).compactMap { shared.clients[$0] }
        }
    }

    /// Who of a queue waits and needs a credential, in order.
    func clientsWithoutCredential(of member: MemberID) -> [any LaneClient] {
        shared.withLock { shared in
            shared.state.clientsWithoutCredential(of: member).compactMap { shared.clients[$0] }
        }
    }

    /// Feeds an event to the machine under the lock, and performs what it decides outside.
    private func apply(_ event: (inout Shared, Moment) -> [Action]) {
        let now = time.moment
        let (actions, admitted) = shared.withLock { shared in
            let actions = event(&shared, now)
            var admitted: [(any LaneClient, Int)] = []
            for case .admit(let identifier, let round) in actions {
                if let client = shared.clients[identifier] { admitted.append((client, round)) }
            }
            return (actions, admitted)
        }
        for case .wake(let instant) in actions { setTimer(for: instant) }
        for (client, round) in admitted { client.laneAdmits(round: round) }
    }

    /// Sets the lane's one timer, unless the machine wants another instant by now.
    private func setTimer(for instant: Moment) {
        let timer = time.schedule(at: instant) { [weak self] in
            self?.apply { shared, now in shared.state.advance(to: now) }
        }
        let unwanted = shared.withLock { shared in
            guard shared.state.wakesAt == instant else { return timer as ScheduledTimer? }
            defer { shared.timer = timer }
            return shared.timer
        }
        unwanted?.cancel()
    }
}
