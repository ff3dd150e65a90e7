// What is asked of a lane without changing it.

extension Lane.State {
    /// Who waits, of one queue or of all, to one host or to any, in order. Of use where that is rare: it looks at all
    /// tickets.
    func clientsInLine(of member: MemberID?, host name: String?) -> [ClientID] {
        let host = name.map { hostIDs[$0] ?? 0 }
        return tickets.values
            .filter { !$0.isActive && (member == nil || $0.member == member) && (host == nil || $0.host == host) }
            .map(\.place).sorted().map(\.client)
    }

    /// Who waits, of one queue, and needs a credential, in order. It looks at all tickets.
    func clientsWithoutCredential(of member: MemberID) -> [ClientID] {
        tickets.values.filter { !$0.isActive && $0.member == member && $0.bucket.needsCredential }
            .map(\.place).sorted().map(\.client)
    }

    /// What keeps a client that waits off the wire; nil if it is nothing but the lack of a slot.
    func obstacle(of client: ClientID, now: Moment) -> NetworkEvent.Hold? {
        guard let ticket = tickets[client], !ticket.isActive, let member = members[ticket.member] else { return nil }
        if member.holds.contains(.suspended) { return .suspended }
        if member.holds.contains(.renewing), ticket.bucket.needsCredential { return .renewal }
        if let heldUntil = hosts[ticket.host]?.heldUntil, heldUntil > now { return .retryAfter }
        let paces = [member.pace, hosts[ticket.host]?.paces[ticket.member]]
        return paces.contains { $0?.nextTurn(after: now) != nil } ? .rateLimit : nil
    }
}
