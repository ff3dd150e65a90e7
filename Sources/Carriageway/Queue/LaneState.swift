extension Lane {
    /// Names one of the queues that share a lane.
    typealias MemberID = Int

    /// Names who stands in line; at most one ticket each.
    typealias ClientID = ObjectIdentifier

    /// Why a queue's requests are kept off the wire. The reasons stand side by side; none undoes another.
    enum Hold: Hashable, Sendable {
        /// The user set `isSuspended`.
        case suspended
        /// The queue is cancelling all its operations, so that none takes the slot of another just to be cancelled too.
        case cancelling
        /// The queue's credential is being renewed: only requests that need it are kept.
        case renewing
    }

    /// Stands for a host while anyone has to do with it.
    typealias HostID = Int

    enum Action: Equatable {
        /// The client has a slot now. `round` is what it entered with, so that it can tell a late word from a new one.
        case admit(ClientID, round: Int)
        /// Call ``State/advance(to:)`` at this instant.
        /// Instead of any instant that was named before.
        case wake(Moment)
    }

    /// Who may be on the wire: pure, without lock, timer or client.
    ///
    /// Each pair of queue and host has two buckets, with and without credential, each a heap of waiting tickets. A queue lists the heads of those of its
    /// buckets that may go, so that the next ticket is found in O(log n), however many hosts and tickets wait.
    struct State {
        /// How many slots a host has over all queues, as the transport has connections for it; nil for any number.
        let connectionsPerHost: Int?
        private(set) var members: [MemberID: Member] = [:]
        /// The keys of `members`: walking over the dictionary while its values change would copy them.
        private var memberIDs: [MemberID] = []
        private(set) var hosts: [HostID: Host] = [:]
        private(set) var hostIDs: [String: HostID] = [:]
        private(set) var tickets: [ClientID: Ticket] = [:]
        /// How many of the tickets have a slot.
        private var activeTickets = 0
        private(set) var isClosed = false
        private var nextMember = 0
        private var nextHost = 0
        private var nextSequence = 0
        private var wakes = WakeList()
        /// Whether any queue has a rate; if none has, rates cost nothing.
        private var hasPaces = false

        init(connectionsPerHost: Int?) {
            self.connectionsPerHost = connectionsPerHost
        }
    }
}

// MARK: - Events

extension Lane.State {
    typealias MemberID = Lane.MemberID
    typealias ClientID = Lane.ClientID
    typealias Action = Lane.Action

    /// A queue joins. Limits below 1 count as 1.
    mutating func join(
        limit: Int, limitPerHost: Int, rate: RateLimit? = nil, ratePerHost: RateLimit? = nil
    ) -> MemberID {
        nextMember += 1
        memberIDs.append(nextMember)
        if rate != nil || ratePerHost != nil { hasPaces = true }
        members[nextMember] = Member(
            limit: max(1, limit), limitPerHost: max(1, limitPerHost), rate: rate, ratePerHost: ratePerHost)
        return nextMember
    }

    /// A queue is gone; none of its requests is here any longer.
    mutating func part(_ member: MemberID) {
        if members[member]?.isPaced ?? false {
            for host in Array(hosts.keys) where hosts[host]?.paces.removeValue(forKey: member) != nil {
                if hosts[host]?.paces.isEmpty ?? true { forgetIfIdle(host, now: nil) }
            }
        }
        members[member] = nil
        memberIDs.removeAll { $0 == member }
    }

    /// A client stands in line, behind those of its priority.
    mutating func enter(
        _ client: ClientID, round: Int, member: MemberID, host name: String, needsCredential: Bool = false,
        priority: Int, now: Moment
    ) -> [Action] {
        if pass(client, round: round, member: member, host: name, needsCredential, priority) {
            return [.admit(client, round: round)]
        }
        let bucket = BucketID(host: host(named: name), needsCredential: needsCredential)
        hosts.change(bucket.host) { $0.tickets += 1 }
        let place = nextPlace(of: client, priority)
        tickets[client] = Ticket(member: member, bucket: bucket, round: round, place: place)
        members.change(member) { $0.insert(place, in: bucket, tickets: tickets) }
        return admissions(now: now)
    }

    /// A client that need not stand in line gets a slot. False if it has to.
    mutating func pass(
        _ client: ClientID, round: Int, member: MemberID, host name: String, _ needsCredential: Bool, _ priority: Int
    ) -> Bool {
        guard !isClosed, members[member] != nil else { return true }
        let bucket = BucketID(host: host(named: name), needsCredential: needsCredential)
        guard mayPass(bucket, of: member) else { return false }
        var ticket = Ticket(member: member, bucket: bucket, round: round, place: nextPlace(of: client, priority))
        ticket.isActive = true
        tickets[client] = ticket
        activeTickets += 1
        members.change(member) { $0.takeSlot(of: bucket) }
        hosts.change(bucket.host) { host in
            host.tickets += 1
            host.active += 1
        }
        return true
    }

    private mutating func nextPlace(of client: ClientID, _ priority: Int) -> Place {
        nextSequence += 1
        return Place(priority: priority, sequence: nextSequence, client: client)
    }

    /// Whether one that comes now goes at once. Nobody before it could: he would have gone with the event that let him.
    private func mayPass(_ bucket: BucketID, of member: MemberID) -> Bool {
        guard !hasPaces, let (active, heldUntil) = hosts[bucket.host].map({ ($0.active, $0.heldUntil) }),
            heldUntil == nil,
            connectionsPerHost.map({ active < $0 }) ?? true
        else { return false }
        return members[member]?.hasFreeSlot(for: bucket) ?? false
    }

    /// A client gives up its slot, or its place in line. Of no effect if it has neither, or entered anew since. It may
    /// speak of a round that it was just about to begin by giving back its slot.
    mutating func leave(_ client: ClientID, round: Int, now: Moment) -> [Action] {
        guard let ticket = tickets[client], ticket.round <= round else { return [] }
        remove(client, ticket, now: now)
        return admissions(now: now)
    }

    /// A client that has a slot is about to use it. If its queue or host has been held in the meantime it goes back to
    /// where it stood in line, and the answer is false.
    mutating func confirm(_ client: ClientID, round: Int, now: Moment) -> (Bool, [Action]) {
        // In a closed lane there is no line to go back to: it would be waited in for ever.
        guard !isClosed, let ticket = tickets[client], ticket.round == round, ticket.isActive else {
            return (true, [])
        }
        let isHostHeld = hosts[ticket.host]?.heldUntil.map { $0 > now } ?? false
        let isQueueHeld = members[ticket.member]?.isHeld(needsCredential: ticket.bucket.needsCredential) ?? false
        guard isQueueHeld || isHostHeld else { return (true, []) }
        giveTurnBack(ticket.member, host: ticket.host, now: now)
        putBack(client, ticket)
        return (false, admissions(now: now))
    }

    /// A client that has a slot will not use it: the turn that it took of the rates is free for another.
    mutating func returnTurn(_ client: ClientID, round: Int, now: Moment) {
        guard hasPaces, let ticket = tickets[client], ticket.round == round, ticket.isActive else { return }
        giveTurnBack(ticket.member, host: ticket.host, now: now)
    }

    /// A client that has a slot goes back to where it stood in line, as one that needs a credential, to be let through
    /// again as its round `next`.
    mutating func giveBack(_ client: ClientID, round: Int, next: Int, now: Moment) -> [Action] {
        let ticket = tickets[client]
        if isClosed, ticket?.isActive ?? true {
            // There is no line any longer: everyone is let through, also who never stood in it.
            if let ticket { remove(client, ticket, now: now) }
            return [.admit(client, round: next)]
        }
        guard let ticket, ticket.round == round, ticket.isActive else { return [] }
        putBack(client, ticket, round: next)
        return admissions(now: now)
    }

    /// A client's priority changes; it keeps its time of arrival.
    mutating func setPriority(_ priority: Int, of client: ClientID, now: Moment) -> [Action] {
        guard let ticket = tickets[client], ticket.place.priority != priority else { return [] }
        let place = Place(
            priority: priority, sequence: ticket.place.sequence, client: client, changes: ticket.place.changes + 1)
        tickets[client]?.place = place
        guard !ticket.isActive else { return [] }
        members[ticket.member]?.drop(from: ticket.bucket, tickets: tickets)
        members[ticket.member]?.insert(place, in: ticket.bucket, tickets: tickets)
        return admissions(now: now)
    }

    mutating func hold(_ reason: Lane.Hold, member: MemberID) {
        members[member]?.hold(reason)
    }

    mutating func release(_ reason: Lane.Hold, member: MemberID, now: Moment) -> [Action] {
        guard members[member]?.release(reason) == true else { return [] }
        if reason == .renewing { members[member]?.listAll(tickets: tickets) }
        return admissions(now: now)
    }

    /// Keeps every queue's requests to a host in line until an instant; a hold is never shortened.
    mutating func hold(host name: String, until instant: Moment) -> [Action] {
        let host = host(named: name)
        guard hosts[host]?.heldUntil.map({ $0 < instant }) ?? true else { return [] }
        hosts[host]?.heldUntil = instant
        wakes.add(.host(host), at: instant)
        return nextWake()
    }

    /// A host has answered that too much was asked of it, and may be asked again at an instant: the queues that limit
    /// their rate go slower then.
    mutating func slowDown(host name: String, until instant: Moment, now: Moment) {
        guard let host = hostIDs[name] else { return }
        for identifier in memberIDs where hasPaces {
            guard let limit = members[identifier]?.rateForHosts else { continue }
            hosts[host]?.paces[identifier, default: Pace(limit)].slowDown(until: instant, now: now)
        }
    }

    /// Time has passed: holds of hosts may be over, and turns have come.
    mutating func advance(to now: Moment) -> [Action] {
        for cause in wakes.takeDue(at: now) {
            switch cause {
            case .host(let host): timeCame(for: host, now: now)
            case .pace(let host, let member): list(host, of: member)
            case .queue: break
            }
        }
        return admissions(now: now)
    }

    private mutating func timeCame(for host: HostID, now: Moment) {
        if let heldUntil = hosts[host]?.heldUntil {
            guard heldUntil <= now else { return wakes.add(.host(host), at: heldUntil) }
            hosts[host]?.heldUntil = nil
            list(host)
        }
        forgetIfIdle(host, now: now)
    }

    /// A request that stands in no line goes on the wire; those in line have one connection less.
    mutating func occupy(host name: String) {
        let host = host(named: name)
        hosts[host]?.tickets += 1
        hosts[host]?.active += 1
    }

    mutating func vacate(host name: String, now: Moment) -> [Action] {
        guard let host = hostIDs[name] else { return [] }
        hosts[host]?.tickets -= 1
        hosts[host]?.active -= 1
        list(host)
        forgetIfIdle(host, now: now)
        return admissions(now: now)
    }

    /// There is no wire any longer: everyone is let through at once, to be told so.
    mutating func close() -> [Action] {
        isClosed = true
        let waiting = tickets.filter { !$0.value.isActive }.sorted { $0.value.place < $1.value.place }
        for (client, ticket) in waiting { remove(client, ticket, now: nil) }
        return waiting.map { .admit($0.key, round: $0.value.round) }
    }
}

// MARK: - Who is next

extension Lane.State {
    private mutating func admissions(now: Moment) -> [Action] {
        guard tickets.count > activeTickets else { return nextWake() }
        var actions: [Action] = []
        while let (member, head) = nextHead(now: now) {
            let client = head.place.client
            guard let ticket = tickets[client] else { continue }
            tickets.change(client) { $0.isActive = true }
            activeTickets += 1
            members.change(member) { $0.admitFirst(of: head.bucket, tickets: tickets) }
            hosts.change(head.bucket.host) { $0.active += 1 }
            takeTurn(member, host: head.bucket.host, now: now)
            actions.append(.admit(client, round: ticket.round))
        }
        actions += nextWake()
        return actions
    }

    /// The best place that may go now, over all queues.
    private mutating func nextHead(now: Moment) -> (MemberID, Head)? {
        let connections = Connections(hosts: hosts, limit: connectionsPerHost, now: now)
        var best: (MemberID, Head)?
        for identifier in memberIDs where members[identifier]?.isOpen ?? false {
            if hasPaces, let turn = members[identifier]?.pace?.nextTurn(after: now) {
                if members[identifier]?.heads.isEmpty == false { wakes.add(.queue(identifier), at: turn) }
                continue
            }
            var turns: [(HostID, Moment)] = []
            let head = members[identifier]?.firstHead { host in
                guard connections.isFree(host) else { return false }
                guard let turn = connections.nextTurn(for: host, of: identifier) else { return true }
                turns.append((host, turn))
                return false
            }
            for (host, turn) in turns { wakes.add(.pace(host, identifier), at: turn) }
            guard let head else { continue }
            if best.map({ head < $0.1 }) ?? true { best = (identifier, head) }
        }
        return best
    }

    /// Something about a host has changed: the first in line for it, of each queue, may be able to go.
    private mutating func list(_ host: HostID) {
        guard tickets.count > activeTickets else { return }
        for identifier in memberIDs { list(host, of: identifier) }
    }

    private mutating func list(_ host: HostID, of member: MemberID) {
        members.change(member) {
            $0.list(BucketID(host: host, needsCredential: false), tickets: tickets)
            $0.list(BucketID(host: host, needsCredential: true), tickets: tickets)
        }
    }

    private mutating func remove(_ client: ClientID, _ ticket: Ticket, now: Moment?) {
        tickets[client] = nil
        hosts.change(ticket.host) { $0.tickets -= 1 }
        if ticket.isActive {
            freeSlot(of: ticket)
        } else {
            members.change(ticket.member) { $0.drop(from: ticket.bucket, tickets: tickets) }
        }
        forgetIfIdle(ticket.host, now: now)
    }

    private mutating func putBack(_ client: ClientID, _ ticket: Ticket, round: Int? = nil) {
        freeSlot(of: ticket)
        var waiting = ticket
        waiting.isActive = false
        if let round {
            waiting.round = round
            waiting.bucket = BucketID(host: ticket.host, needsCredential: true)
        }
        tickets[client] = waiting
        members.change(ticket.member) { $0.insert(waiting.place, in: waiting.bucket, tickets: tickets) }
    }

    private mutating func freeSlot(of ticket: Ticket) {
        activeTickets -= 1
        members.change(ticket.member) { $0.freeSlot(of: ticket.bucket) }
        hosts.change(ticket.host) { $0.active -= 1 }
        list(ticket.host)
    }

    private mutating func host(named name: String) -> HostID {
        if let known = hostIDs[name] { return known }
        nextHost += 1
        hostIDs[name] = nextHost
        hosts[nextHost] = Host(name: name)
        return nextHost
    }

    /// Without a time, as in a lane that is closed, what was taken of rates is forgotten too.
    private mutating func forgetIfIdle(_ host: HostID, now: Moment?) {
        guard let state = hosts[host], state.tickets <= 0, state.heldUntil == nil else { return }
        if let now, let rest = state.paces.values.compactMap(\.restsAt).max(), rest > now {
            return wakes.add(.host(host), at: rest)
        }
        hosts[host] = nil
        hostIDs[state.name] = nil
    }
}

// MARK: - Rates

extension Lane.State {
    private mutating func takeTurn(_ member: MemberID, host: HostID, now: Moment) {
        guard hasPaces, members[member]?.isPaced ?? false else { return }
        members[member]?.pace?.take(at: now)
        if let limit = members[member]?.ratePerHost {
            hosts[host]?.paces[member, default: Pace(limit)].take(at: now)
        } else {
            hosts[host]?.paces[member]?.take(at: now)
        }
    }

    private mutating func giveTurnBack(_ member: MemberID, host: HostID, now: Moment) {
        guard hasPaces, members[member]?.isPaced ?? false else { return }
        members[member]?.pace?.giveBack(at: now)
        hosts[host]?.paces[member]?.giveBack(at: now)
    }

    /// When the lane wants to be woken.
    var wakesAt: Moment? { wakes.timer }

    private mutating func nextWake() -> [Action] {
        wakes.nextTimer().map { [.wake($0)] } ?? []
    }
}
