extension Lane.State {
    typealias HostID = Lane.HostID

    /// A place in line: higher priority first, then who came first.
    struct Place: Comparable {
        let priority: Int
        let sequence: Int
        let client: ClientID
        /// How often the priority was changed: a place that is taken again is not the one that was given up.
        var changes = 0

        static func < (left: Place, right: Place) -> Bool {
            left.priority != right.priority ? left.priority > right.priority : left.sequence < right.sequence
        }
    }

    /// The first place of a bucket, with the bucket's host.
    struct Head: Comparable {
        let place: Place
        let host: HostID

        static func < (left: Head, right: Head) -> Bool { left.place < right.place }
    }

    /// The requests of one queue to one host.
    struct Bucket {
        /// Places whose client has left, or has another priority now, stay until they come to the front.
        var waiting = Heap<Place>()
        /// How many of them are current.
        var waitingCount = 0
        var active = 0
        /// Which place stands in the queue's list of heads.
        var listed: Place?
    }

    /// One queue: its slots, its holds, its buckets.
    struct Member {
        let limit: Int
        let limitPerHost: Int
        /// What it has taken of its rate over all hosts.
        var pace: Pace?
        let ratePerHost: RateLimit?
        var holds: Set<Lane.Hold> = []
        private(set) var active = 0
        private(set) var buckets: [HostID: Bucket] = [:]
        private(set) var heads = Heap<Head>()

        init(limit: Int, limitPerHost: Int, rate: RateLimit?, ratePerHost: RateLimit?) {
            self.limit = limit
            self.limitPerHost = limitPerHost
            self.ratePerHost = ratePerHost
            pace = rate.map { Pace($0) }
        }

        var isPaced: Bool { pace != nil || ratePerHost != nil }

        /// The rate from which a host is slowed down.
        var rateForHosts: RateLimit? { ratePerHost ?? pace?.limit }

        /// Whether a slot is to be had.
        var isOpen: Bool { holds.isEmpty && active < limit }
    }
}

extension Lane.State.Member {
    typealias Place = Lane.State.Place
    typealias Head = Lane.State.Head
    typealias Tickets = [Lane.ClientID: Lane.State.Ticket]

    mutating func insert(_ place: Place, host: Lane.HostID, tickets: Tickets) {
        buckets[host, default: Lane.State.Bucket()].waiting.insert(place)
        buckets[host]?.waitingCount += 1
        list(host, tickets: tickets)
    }

    /// A waiting ticket for the host is out; `tickets` shows it no longer, or with another place.
    mutating func drop(host: Lane.HostID, tickets: Tickets) {
        buckets[host]?.waitingCount -= 1
        if let bucket = buckets[host], bucket.waiting.count > 64, bucket.waiting.count > 2 * bucket.waitingCount {
            buckets[host]?.waiting.keep { Self.isCurrent($0, tickets) }
        }
        list(host, tickets: tickets)
    }

    /// The first in line for the host, which `firstHead` gave, takes a slot.
    mutating func admitFirst(of host: Lane.HostID, tickets: Tickets) {
        heads.popFirst()
        buckets[host]?.listed = nil
        active += 1
        buckets[host]?.active += 1
        buckets[host]?.waiting.popFirst()
        buckets[host]?.waitingCount -= 1
        list(host, tickets: tickets)
    }

    mutating func freeSlot(of host: Lane.HostID) {
        active -= 1
        buckets[host]?.active -= 1
    }

    /// Puts the first place of a bucket on the list of heads, if it is not there; forgets an empty bucket.
    mutating func list(_ host: Lane.HostID, tickets: Tickets) {
        while let first = buckets[host]?.waiting.first, !Self.isCurrent(first, tickets) {
            buckets[host]?.waiting.popFirst()
        }
        if let first = buckets[host]?.waiting.first {
            guard buckets[host]?.listed != first else { return }
            buckets[host]?.listed = first
            heads.insert(Head(place: first, host: host))
        } else {
            buckets[host]?.listed = nil
            if buckets[host]?.active == 0 { buckets[host] = nil }
        }
        dropStaleHeads()
    }

    /// In a queue that is held nobody takes heads off the list; those that are out of date must not pile up there.
    private mutating func dropStaleHeads() {
        guard heads.count > 64, heads.count > 2 * buckets.count else { return }
        heads = Heap()
        for (host, bucket) in buckets {
            if let listed = bucket.listed { heads.insert(Head(place: listed, host: host)) }
        }
    }

    /// The best head whose host is free; those that are out of date or blocked leave the list until they are listed anew.
    mutating func firstHead(where isFree: (Lane.HostID) -> Bool) -> Head? {
        while let head = heads.first {
            let bucket = buckets[head.host]
            let isListed = bucket?.listed == head.place
            if isListed, let bucket, bucket.active < limitPerHost, isFree(head.host) { return head }
            heads.popFirst()
            if isListed { buckets[head.host]?.listed = nil }
        }
        return nil
    }

    private static func isCurrent(_ place: Place, _ tickets: Tickets) -> Bool {
        guard let ticket = tickets[place.client] else { return false }
        return !ticket.isActive && ticket.place == place
    }
}
