extension Lane.State {
    /// A host while anyone has to do with it.
    struct Host {
        let name: String
        /// Tickets for this host, waiting and active, and requests that stand in no line.
        var tickets = 0
        var active = 0
        var heldUntil: Moment?
        /// Of the queues that limit the rate of their requests to the host.
        var paces: [MemberID: Pace] = [:]
    }

    /// Somebody who stands in line, or has a slot.
    struct Ticket {
        let member: MemberID
        var bucket: BucketID
        var round: Int
        var place: Place
        var isActive = false

        var host: HostID { bucket.host }
    }

    /// What the queues share of a host, and when the next turn of one of them comes.
    struct Connections {
        let hosts: [HostID: Host]
        let limit: Int?
        let now: Moment

        func isFree(_ host: HostID) -> Bool {
            guard let host = hosts[host] else { return true }
            if let heldUntil = host.heldUntil, heldUntil > now { return false }
            return limit.map { host.active < $0 } ?? true
        }

        func nextTurn(for host: HostID, of member: MemberID) -> Moment? {
            guard let paces = hosts[host]?.paces, !paces.isEmpty else { return nil }
            return paces[member]?.nextTurn(after: now)
        }
    }
}
