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

    /// Which of a queue's buckets a request waits in: those that need a credential are apart, for they alone wait while it
    /// is renewed.
    struct BucketID: Hashable {
        let host: HostID
        let needsCredential: Bool
    }

    /// The first place of a bucket.
    struct Head: Comparable {
        let place: Place
        let bucket: BucketID

        static func < (left: Head, right: Head) -> Bool { left.place < right.place }
    }

    /// The requests of one queue to one host that need a credential, or those that need none.
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
        private(set) var holds: Set<Lane.Hold> = []
        /// How many cancel all operations at this moment; the last of them releases.
        private var cancellers = 0
        private(set) var active = 0
        private(set) var buckets: [BucketID: Bucket] = [:]
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

        mutating func hold(_ reason: Lane.Hold) {
            if reason == .cancelling { cancellers += 1 }
            holds.insert(reason)
        }

        /// - Returns: whether it was held and is no longer.
        mutating func release(_ reason: Lane.Hold) -> Bool {
            if reason == .cancelling {
                cancellers = max(cancellers - 1, 0)
                guard cancellers == 0 else { return false }
            }
            return holds.remove(reason) != nil
        }

        /// Whether a slot is to be had, be it only for requests that need no credential.
        var isOpen: Bool { active < limit && holds.allSatisfy { $0 == .renewing } }

        /// Whether the queue's holds concern a request.
        func isHeld(needsCredential: Bool) -> Bool {
            holds.contains { $0 != .renewing || needsCredential }
        }

        func active(on host: HostID) -> Int {
            let plain = buckets[BucketID(host: host, needsCredential: false)]?.active ?? 0
            let credentialed = buckets[BucketID(host: host, needsCredential: true)]?.active ?? 0
            return plain + credentialed
        }
    }
}

extension Lane.State.Member {
    typealias Place = Lane.State.Place
    typealias Head = Lane.State.Head
    typealias BucketID = Lane.State.BucketID
    typealias Tickets = [Lane.ClientID: Lane.State.Ticket]

    mutating func insert(_ place: Place, in bucket: BucketID, tickets: Tickets) {
        if buckets.index(forKey: bucket) == nil { buckets[bucket] = Lane.State.Bucket() }
        buckets.change(bucket) { bucket in
            bucket.waiting.insert(place)
            bucket.waitingCount += 1
        }
        list(bucket, tickets: tickets)
    }

    /// A waiting ticket of the bucket is out; `tickets` shows it no longer, or with another place.
    mutating func drop(from bucket: BucketID, tickets: Tickets) {
        buckets[bucket]?.waitingCount -= 1
        if let crowd = buckets[bucket], crowd.waiting.count > 64, crowd.waiting.count > 2 * crowd.waitingCount {
            buckets[bucket]?.waiting.keep { Self.isCurrent($0, tickets) }
        }
        list(bucket, tickets: tickets)
    }

    /// The first in line in the bucket, which `firstHead` gave, takes a slot.
    mutating func admitFirst(of bucket: BucketID, tickets: Tickets) {
        heads.popFirst()
        active += 1
        buckets.change(bucket) { bucket in
            bucket.listed = nil
            bucket.active += 1
            bucket.waiting.popFirst()
            bucket.waitingCount -= 1
        }
        list(bucket, tickets: tickets)
    }

    /// Whether one that comes now may have a slot of the queue's.
    func hasFreeSlot(for bucket: BucketID) -> Bool {
        guard active < limit, holds.isEmpty || !isHeld(needsCredential: bucket.needsCredential) else { return false }
        return active(on: bucket.host) < limitPerHost && buckets[bucket]?.waiting.isEmpty ?? true
    }

    /// One that has not waited takes a slot.
    mutating func takeSlot(of bucket: BucketID) {
        active += 1
        if buckets.index(forKey: bucket) == nil { buckets[bucket] = Lane.State.Bucket() }
        buckets.change(bucket) { $0.active += 1 }
    }

    /// A slot is free; the bucket is forgotten if that was the last that there was of it.
    mutating func freeSlot(of bucket: BucketID) {
        active -= 1
        guard let index = buckets.index(forKey: bucket) else { return }
        buckets.values[index].active -= 1
        if buckets.values[index].active == 0, buckets.values[index].waiting.isEmpty { buckets.remove(at: index) }
    }

    /// Puts the first place of a bucket on the list of heads, if it is not there; forgets an empty bucket.
    mutating func list(_ bucket: BucketID, tickets: Tickets) {
        while let first = buckets[bucket]?.waiting.first, !Self.isCurrent(first, tickets) {
            buckets[bucket]?.waiting.popFirst()
        }
        if let first = buckets[bucket]?.waiting.first {
            guard buckets[bucket]?.listed != first else { return }
            buckets[bucket]?.listed = first
            heads.insert(Head(place: first, bucket: bucket))
        } else {
            buckets[bucket]?.listed = nil
            if buckets[bucket]?.active == 0 { buckets[bucket] = nil }
        }
        dropStaleHeads()
    }

    /// In a queue that is held nobody takes heads off the list; those that are out of date must not pile up there.
    private mutating func dropStaleHeads() {
        guard heads.count > 64, heads.count > 2 * buckets.count else { return }
        heads = Heap()
        for (identifier, bucket) in buckets {
            if let listed = bucket.listed { heads.insert(Head(place: listed, bucket: identifier)) }
        }
    }

    /// The best head whose host is free; those that are out of date or blocked leave the list until they are listed anew.
    mutating func firstHead(where isFree: (Lane.HostID) -> Bool) -> Head? {
        while let head = heads.first {
            let isListed = buckets[head.bucket]?.listed == head.place
            if isListed, active(on: head.bucket.host) < limitPerHost,
                !isHeld(needsCredential: head.bucket.needsCredential), isFree(head.bucket.host)
            {
                return head
            }
            heads.popFirst()
            if isListed { buckets[head.bucket]?.listed = nil }
        }
        return nil
    }

    /// A hold is over: the buckets that it blocked are listed anew.
    mutating func listAll(tickets: Tickets) {
        for bucket in buckets.keys { list(bucket, tickets: tickets) }
    }

    private static func isCurrent(_ place: Place, _ tickets: Tickets) -> Bool {
        guard let ticket = tickets[place.client] else { return false }
        return !ticket.isActive && ticket.place == place
    }
}
