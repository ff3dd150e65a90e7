import Foundation
import Testing

@testable import Carriageway

/// What the lane should do, said as simply as can be: arrays, and a search for the best each time.
private struct LaneModel {
    struct Entrant {
        var round: Int
        let member: Int
        let host: Int
        var needsCredential: Bool
        var priority: Int
        let arrival: Int
        var isActive = false
    }

    /// A rate, said with a bucket that fills: so much time is in it, and a request takes so much.
    struct Bucket {
        let limit: RateLimit?
        var level: Duration
        var filled: Moment

        init(_ limit: RateLimit?, now: Moment) {
            self.limit = limit
            level = limit.map { $0.interval * $0.burst } ?? .zero
            filled = now
        }

        func level(at now: Moment) -> Duration {
            limit.map { min(level + (now - filled), $0.interval * $0.burst) } ?? .zero
        }

        func mayGo(at now: Moment) -> Bool { limit.map { level(at: now) >= $0.interval } ?? true }

        func isFull(at now: Moment) -> Bool {
            limit.map { level(at: now) == $0.interval * $0.burst } ?? true
        }

        mutating func change(by requests: Int, at now: Moment) {
            guard let limit else { return }
            level = min(level(at: now) + limit.interval * requests, limit.interval * limit.burst)
            filled = now
        }
    }

    struct Queue {
        var identifier: Lane.MemberID
        let limit: Int
        let limitPerHost: Int
        var holds: Set<Lane.Hold> = []
        /// Those that cancel hold until the last is done.
        var cancellers = 0
        var active = 0
        var activePerHost = [Int](repeating: 0, count: LaneWalk.hosts.count)
        var entrants = 0
        var bucket: Bucket
        var bucketPerHost: [Bucket]

        func isHeld(for entrant: Entrant) -> Bool {
            holds.contains(.suspended) || holds.contains(.cancelling)
                || holds.contains(.renewing) && entrant.needsCredential
        }
    }

    let connectionsPerHost: Int?
    var queues: [Queue] = []
    var entrants: [Entrant?] = []
    var activePerHost = [Int](repeating: 0, count: LaneWalk.hosts.count)
    var outsiders = [Int](repeating: 0, count: LaneWalk.hosts.count)
    var heldUntil = [Moment?](repeating: nil, count: LaneWalk.hosts.count)
    var arrivals = 0

    func mayGo(_ entrant: Entrant, now: Moment) -> Bool {
        let queue = queues[entrant.member]
        guard !entrant.isActive, queue.active < queue.limit, !queue.isHeld(for: entrant),
            queue.activePerHost[entrant.host] < queue.limitPerHost, queue.bucket.mayGo(at: now),
            queue.bucketPerHost[entrant.host].mayGo(at: now)
        else { return false }
        if let until = heldUntil[entrant.host], until > now { return false }
        return connectionsPerHost.map { activePerHost[entrant.host] + outsiders[entrant.host] < $0 } ?? true
    }

    /// Who is admitted now, in order.
    mutating func admissions(now: Moment) -> [(client: Int, round: Int)] {
        var admitted: [(Int, Int)] = []
        while true {
            var best: (client: Int, entrant: Entrant)?
            for (client, entrant) in entrants.enumerated() {
                guard let entrant, mayGo(entrant, now: now) else { continue }
                if let other = best?.entrant,
                    (-other.priority, other.arrival) < (-entrant.priority, entrant.arrival)
                {
                    continue
                }
                best = (client, entrant)
            }
            guard let best else { return admitted }
            entrants[best.client]?.isActive = true
            count(best.entrant, 1)
            turn(best.entrant, -1, now: now)
            admitted.append((best.client, best.entrant.round))
        }
    }

    mutating func turn(_ entrant: Entrant, _ change: Int, now: Moment) {
        queues[entrant.member].bucket.change(by: change, at: now)
        queues[entrant.member].bucketPerHost[entrant.host].change(by: change, at: now)
    }

    mutating func count(_ entrant: Entrant, _ change: Int) {
        queues[entrant.member].active += change
        queues[entrant.member].activePerHost[entrant.host] += change
        activePerHost[entrant.host] += change
    }
}

/// The lane and its model, side by side.
private struct LaneWalk {
    static let hosts = ["a", "b", "c", "d", "e"]
    static let holds: [Lane.Hold] = [.suspended, .cancelling, .renewing]
    final class Client {}

    let clients = (0..<28).map { _ in Client() }
    var lane: Lane.State
    var model: LaneModel
    var now = Moment.now
    var round = 0
    var stepNumber = 0
    /// What the one timer is set to.
    var timer: Moment?

    init(random: inout SeededRandom) {
        let connections = random.once(in: 3) ? nil : 1 + random.below(5)
        lane = Lane.State(connectionsPerHost: connections)
        model = LaneModel(connectionsPerHost: connections)
        model.entrants = clients.map { _ in nil }
        for _ in 0..<3 { join(at: nil, &random) }
    }

    /// Of a rate that has an exact interval.
    private static func rate(_ random: inout SeededRandom) -> RateLimit? {
        guard random.once(in: 3) else { return nil }
        return RateLimit(requestsPerSecond: [16, 32, 64][random.below(3)], burst: 1 + random.below(5))
    }

    private mutating func join(at index: Int?, _ random: inout SeededRandom) {
        let (limit, limitPerHost) = (random.below(8), random.below(5))
        let (rate, ratePerHost) = (Self.rate(&random), Self.rate(&random))
        let identifier = lane.join(limit: limit, limitPerHost: limitPerHost, rate: rate, ratePerHost: ratePerHost)
        let queue = LaneModel.Queue(
            identifier: identifier, limit: max(1, limit), limitPerHost: max(1, limitPerHost),
            bucket: LaneModel.Bucket(rate, now: now),
            bucketPerHost: Self.hosts.map { _ in LaneModel.Bucket(ratePerHost, now: now) })
        if let index { model.queues[index] = queue } else { model.queues.append(queue) }
    }

    private func identifier(_ client: Int) -> ObjectIdentifier { ObjectIdentifier(clients[client]) }

    /// The actions must be what the model says.
    private mutating func compare(_ actions: [Lane.Action]) throws {
        let expected = model.admissions(now: now).map { Lane.Action.admit(identifier($0.client), round: $0.round) }
        let actions = admissions(actions)
        try demand(actions == expected, "step \(stepNumber): admitted \(actions), should be \(expected)")
    }

    /// The actions but for the wake-up, which the machine asks for only if it comes before the one that is set.
    private mutating func admissions(_ actions: [Lane.Action]) -> [Lane.Action] {
        actions.filter { action in
            guard case .wake(let instant) = action else { return true }
            timer = instant
            return false
        }
    }

    mutating func step(_ random: inout SeededRandom) throws {
        stepNumber += 1
        let client = random.below(clients.count)
        let queue = random.below(model.queues.count)
        let host = random.below(Self.hosts.count)
        switch random.below(34) {
        case 0..<11:
            if model.entrants[client] == nil { try enter(client, queue, host, &random) } else { try leave(client) }
        case 11..<17: try leave(client)
        case 17..<21: try confirm(client, &random)
        case 21..<24: try setPriority([-8, -4, 0, 4, 8][random.below(5)], of: client)
        case 24: try late(client)
        case 25: hold(Self.holds[random.below(3)], queue)
        case 26, 27: try release(Self.holds[random.below(3)], queue)
        case 28: try hold(host, for: .milliseconds(random.below(200)))
        case 29: try pass(.milliseconds(random.below(60)))
        case 30: try outsider(host, random.once(in: 2))
        case 31, 32: try giveBack(client)
        default: replace(queue, &random)
        }
        try check()
    }

    private mutating func enter(_ client: Int, _ queue: Int, _ host: Int, _ random: inout SeededRandom) throws {
        round += 1
        model.arrivals += 1
        let priority = [-8, -4, 0, 0, 4, 8][random.below(6)]
        let needsCredential = random.once(in: 2)
        model.entrants[client] = LaneModel.Entrant(
            round: round, member: queue, host: host, needsCredential: needsCredential, priority: priority,
            arrival: model.arrivals)
        model.queues[queue].entrants += 1
        try compare(
            lane.enter(
                identifier(client), round: round, member: model.queues[queue].identifier, host: Self.hosts[host],
                needsCredential: needsCredential, priority: priority, now: now))
    }

    private mutating func leave(_ client: Int) throws {
        guard let entrant = model.entrants[client] else { return try late(client) }
        model.entrants[client] = nil
        model.queues[entrant.member].entrants -= 1
        if entrant.isActive { model.count(entrant, -1) }
        try compare(lane.leave(identifier(client), round: entrant.round, now: now))
    }

    /// Word of a round that is over changes nothing.
    private mutating func late(_ client: Int) throws {
        let before = model.entrants[client]?.round ?? 0
        let left = admissions(lane.leave(identifier(client), round: before - 1, now: now))
        let (isConfirmed, actions) = lane.confirm(identifier(client), round: before - 1, now: now)
        let given = lane.giveBack(identifier(client), round: before - 1, next: round + 1, now: now)
        try demand(
            left.isEmpty && isConfirmed && (actions + given).isEmpty, "step \(stepNumber): late word has an effect")
    }

    private mutating func confirm(_ client: Int, _ random: inout SeededRandom) throws {
        guard let entrant = model.entrants[client] else { return try late(client) }
        let isHostHeld = model.heldUntil[entrant.host].map { $0 > now } ?? false
        let goesBack = entrant.isActive && (isHostHeld || model.queues[entrant.member].isHeld(for: entrant))
        if goesBack {
            model.entrants[client]?.isActive = false
            model.count(entrant, -1)
            model.turn(entrant, 1, now: now)
        }
        let (isConfirmed, actions) = lane.confirm(identifier(client), round: entrant.round, now: now)
        try demand(isConfirmed == !goesBack, "step \(stepNumber): confirm says \(isConfirmed)")
        try compare(actions)
    }

    /// Back in line at the same place, from now on as one that needs a credential.
    private mutating func giveBack(_ client: Int) throws {
        guard let entrant = model.entrants[client], entrant.isActive else { return try late(client) }
        round += 1
        model.entrants[client]?.isActive = false
        model.entrants[client]?.round = round
        model.entrants[client]?.needsCredential = true
        model.count(entrant, -1)
        try compare(lane.giveBack(identifier(client), round: entrant.round, next: round, now: now))
    }

    private mutating func setPriority(_ priority: Int, of client: Int) throws {
        model.entrants[client]?.priority = priority
        try compare(lane.setPriority(priority, of: identifier(client), now: now))
    }

    private mutating func hold(_ reason: Lane.Hold, _ queue: Int) {
        model.queues[queue].holds.insert(reason)
        if reason == .cancelling { model.queues[queue].cancellers += 1 }
        lane.hold(reason, member: model.queues[queue].identifier)
    }

    private mutating func release(_ reason: Lane.Hold, _ queue: Int) throws {
        if reason == .cancelling { model.queues[queue].cancellers = max(model.queues[queue].cancellers - 1, 0) }
        if reason != .cancelling || model.queues[queue].cancellers == 0 { model.queues[queue].holds.remove(reason) }
        try compare(lane.release(reason, member: model.queues[queue].identifier, now: now))
    }

    private mutating func hold(_ host: Int, for time: Duration) throws {
        let instant = now.advanced(by: time)
        if model.heldUntil[host].map({ $0 < instant }) ?? true { model.heldUntil[host] = instant }
        let actions = admissions(lane.hold(host: Self.hosts[host], until: instant))
        try demand(actions.isEmpty, "step \(stepNumber): hold says \(actions)")
    }

    /// Time passes, and the machine is woken when it asked to be, and at no other time.
    private mutating func pass(_ time: Duration) throws {
        let end = now.advanced(by: time)
        while let next = timer, next <= end {
            timer = nil
            now = max(now, next)
            for host in model.heldUntil.indices where model.heldUntil[host].map({ $0 <= now }) ?? false {
                model.heldUntil[host] = nil
            }
            try compare(lane.advance(to: now))
            try demand(timer == lane.wakesAt, "step \(stepNumber): the timer is not what the machine expects")
        }
        now = end
    }

    private mutating func outsider(_ host: Int, _ comes: Bool) throws {
        if comes {
            model.outsiders[host] += 1
            lane.occupy(host: Self.hosts[host])
        } else if model.outsiders[host] > 0 {
            model.outsiders[host] -= 1
            try compare(lane.vacate(host: Self.hosts[host], now: now))
        }
    }

    /// A queue without requests goes, and another comes.
    private mutating func replace(_ queue: Int, _ random: inout SeededRandom) {
        guard model.queues[queue].entrants == 0 else { return }
        lane.part(model.queues[queue].identifier)
        join(at: queue, &random)
    }

    private func check() throws {
        var present = 0
        for (client, entrant) in model.entrants.enumerated() {
            guard let entrant else { continue }
            present += 1
            let ticket = lane.tickets[identifier(client)]
            try demand(ticket?.isActive == entrant.isActive, "step \(stepNumber): ticket \(client) is lost")
            try demand(!model.mayGo(entrant, now: now), "step \(stepNumber): \(client) waits beside a free slot")
        }
        try demand(lane.tickets.count == present, "step \(stepNumber): tickets of nobody")
        for queue in model.queues {
            let member = lane.members[queue.identifier]
            try demand(member?.active == queue.active && queue.active <= queue.limit, "step \(stepNumber): slots")
        }
        if stepNumber & 63 == 0 { try checkTables() }
    }

    private func checkTables() throws {
        for (index, host) in Self.hosts.enumerated() {
            let state = lane.hostIDs[host].flatMap { lane.hosts[$0] }
            let active = model.activePerHost[index] + model.outsiders[index]
            try demand((state?.active ?? 0) == active, "step \(stepNumber): connections of \(host)")
            let isBusy = active > 0 || model.heldUntil[index] != nil || model.entrants.contains { $0?.host == index }
            let isPaced = model.queues.contains { !$0.bucketPerHost[index].isFull(at: now) }
            try demand(state != nil || !isBusy && !isPaced, "step \(stepNumber): host \(host) is not listed")
            // A host of which only a rate is remembered is forgotten in time.
            let isForgotten = state == nil || !(state?.paces.isEmpty ?? true)
            try demand(isBusy || isForgotten, "step \(stepNumber): host \(host) is listed")
        }
        for member in lane.members.values {
            try demand(member.heads.count <= 64 + 2 * member.buckets.count, "step \(stepNumber): heads pile up")
            for bucket in member.buckets.values {
                try demand(bucket.waiting.count <= 65 + 2 * bucket.waitingCount, "step \(stepNumber): places pile up")
            }
        }
    }

    /// Everyone leaves: then nothing is left.
    mutating func drain() throws {
        for queue in model.queues.indices {
            for reason in Self.holds {
                repeat { try release(reason, queue) } while model.queues[queue].holds.contains(reason)
            }
        }
        try pass(.seconds(10))
        for client in clients.indices { try leave(client) }
        for host in model.outsiders.indices {
            while model.outsiders[host] > 0 { try outsider(host, false) }
        }
        try pass(.seconds(10))
        try demand(lane.tickets.isEmpty && lane.hosts.isEmpty && lane.hostIDs.isEmpty, "something is left over")
        try demand(lane.members.values.allSatisfy { $0.buckets.isEmpty && $0.active == 0 }, "a bucket is left over")
    }
}

@Suite("Lane.State, walked at random")
struct LaneWalkTests {
    @Test("a random walk admits exactly whom the model says, and leaves nothing behind")
    func randomWalk() {
        RandomWalk.run("lane") { steps, random in
            var stepsLeft = steps
            while stepsLeft > 0 {
                let length = min(stepsLeft, 5_000)
                var walk = LaneWalk(random: &random)
                for _ in 0..<length { try walk.step(&random) }
                try walk.drain()
                stepsLeft -= length
            }
        }
    }
}
