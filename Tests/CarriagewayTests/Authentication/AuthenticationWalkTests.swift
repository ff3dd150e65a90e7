import Foundation
import Testing

@testable import Carriageway

/// The machine, and a world that does what it asks in any order and sometimes late.
private struct AuthenticationWalk {
    typealias State = AuthenticationState<Int>

    enum Event {
        case answer(renewal: Int)
        case wake(renewal: Int)
        case stored(renewal: Int)
        case deadline(renewal: Int, at: ContinuousClock.Instant)
    }

    struct Refusal: Error {}

    /// How many milliseconds a step takes at most.
    let pace: Int
    /// How seldom a server takes a credential.
    let luck: Int
    var state = State(credential: 1)
    var now = Made.instant
    var outstanding: [Event] = []
    /// Events of renewals that are over come too.
    var late: [Event] = []
    var nextCredential = 1
    /// Generations on the wire, as requests carry them.
    var onWire: [Int] = []
    /// Generations that a server has turned down, while they were the current one and a renewal could follow.
    var dead: Set<Int> = []
    var isHeld = false
    /// How many stand in line because they were told to wait.
    var waiting = 0
    var runningRenewal: Int?
    var storing: Int?
    var lastRenewal = 0
    /// When renewals began whose credential no server has taken.
    var fruitless: [(began: ContinuousClock.Instant, generation: Int?)] = []
    var counts: [String: Int] = [:]
    var signOuts = 0
    var refusals = 0

    init(random: inout SeededRandom) {
        pace = [10, 100, 400][random.below(3)]
        luck = 1 + random.below(8)
    }

    mutating func step(_ random: inout SeededRandom) throws {
        now = now.advanced(by: .milliseconds(random.below(pace)))
        switch random.below(20) {
        case 0..<6: try authorize(&random)
        case 6..<10: try respond(&random)
        case 10: if random.once(in: 8) { try set(&random) }
        case 11: try lateWord(&random)
        default:
            guard !outstanding.isEmpty else { return try authorize(&random) }
            try deliver(outstanding.remove(at: random.below(outstanding.count)), &random)
        }
        try check()
    }

    private mutating func authorize(_ random: inout SeededRandom) throws {
        // Who is held in line is not asked.
        if isHeld { return }
        if waiting > 0 { waiting -= 1 }
        let generation = state.generation
        let (answer, actions) = state.authorize(expiring: random.once(in: 6) ? generation : nil, now: now)
        try perform(actions)
        switch answer {
        case .send(let credential, let generation):
            try demand(runningRenewal == nil && storing == nil, "sends during a renewal")
            try demand(!dead.contains(generation), "sends with a dead generation")
            try demand(credential == state.credential && generation == state.generation, "sends what is not current")
            onWire.append(generation)
            counts["sent", default: 0] += 1
        case .wait:
            try demand(state.isHeld && isHeld, "tells to wait without a hold")
            waiting += 1
        case .fail:
            counts["failed", default: 0] += 1
        }
    }

    private mutating func respond(_ random: inout SeededRandom) throws {
        guard !onWire.isEmpty else { return }
        let generation = onWire.remove(at: random.below(onWire.count))
        if !random.once(in: luck) {
            let isCurrent = generation == state.generation && state.credential != nil
            let isWorthIt = state.rejected(generation, wasResent: random.once(in: 2), now: now)
            if isCurrent, isWorthIt { dead.insert(generation) }
            if !isWorthIt { try demand(isCurrent && !state.isHeld, "gives up while a renewal runs") }
            if isWorthIt { waiting += 1 }
            counts[isWorthIt ? "again" : "limit", default: 0] += 1
        } else {
            state.accepted(generation)
            fruitless.removeAll { $0.generation == generation }
        }
    }

    private mutating func began() {
        fruitless.removeAll { $0.began.advanced(by: .seconds(30)) <= now }
        fruitless.append((now, nil))
    }

    private mutating func set(_ random: inout SeededRandom) throws {
        nextCredential += 1
        let before = state.generation
        let credential = random.once(in: 3) ? nil : nextCredential
        try perform(state.set(credential))
        (runningRenewal, storing) = (nil, nil)
        fruitless = []
        try demand(state.generation > before && state.credential == credential, "set has no effect")
    }

    /// Word of a renewal that is over.
    private mutating func lateWord(_ random: inout SeededRandom) throws {
        guard !late.isEmpty else { return }
        let event = late[random.below(late.count)]
        guard number(of: event) != state.renewalInFlight else { return }
        let (generation, credential, held) = (state.generation, state.credential, state.isHeld)
        let signOutsBefore = signOuts
        try deliver(event, &random)
        try demand(
            state.generation == generation && state.credential == credential && state.isHeld == held
                && signOuts == signOutsBefore, "late \(event) has an effect")
    }

    private func number(of event: Event) -> Int {
        switch event {
        case .answer(let number), .wake(let number), .stored(let number), .deadline(let number, _): number
        }
    }

    private mutating func deliver(_ event: Event, _ random: inout SeededRandom) throws {
        late.append(event)
        if late.count > 50 { late.removeFirst() }
        switch event {
        case .answer(let renewal):
            nextCredential += 1
            let isCurrent = renewal == state.renewalInFlight
            if isCurrent { runningRenewal = nil }
            let result: Result<Int, State.Failure>
            switch random.below(8) {
            case 0: result = .failure(State.Failure(error: Refusal(), isFinal: true))
            case 1, 2: result = .failure(State.Failure(error: Refusal(), isFinal: false))
            case 3: result = .failure(State.Failure(error: Refusal(), isFinal: false, wait: .seconds(random.below(40))))
            default: result = .success(nextCredential)
            }
            if isCurrent, case .failure(let failure) = result, failure.isFinal { refusals += 1 }
            try perform(state.tried(result, renewal: renewal, now: now))
        case .wake(let renewal): try perform(state.woke(renewal: renewal))
        case .stored(let renewal):
            if renewal == storing { storing = nil }
            let isCurrent = renewal == state.renewalInFlight
            try perform(state.stored(renewal: renewal, now: now))
            if isCurrent, !fruitless.isEmpty { fruitless[fruitless.count - 1].generation = state.generation }
        case .deadline(let renewal, let instant):
            if renewal == state.renewalInFlight {
                // Half a minute is rarely over.
                guard now >= instant || random.once(in: 20) else { return outstanding.append(event) }
                now = max(now, instant)
            }
            if renewal == state.renewalInFlight, storing == nil { runningRenewal = nil }
            try perform(state.deadlineCame(renewal: renewal, now: now))
        }
    }

    private mutating func perform(_ actions: [State.Action]) throws {
        for action in actions {
            switch action {
            case .updateHolds: isHeld = state.isHeld
            case .renew(let credential, let renewal):
                try demand(runningRenewal == nil && storing == nil, "two renewals at once")
                try demand(credential == state.credential, "renews what is not current")
                if renewal != lastRenewal { began() }
                lastRenewal = renewal
                runningRenewal = renewal
                outstanding.append(.answer(renewal: renewal))
            case .armDeadline(let instant, let renewal):
                outstanding.append(.deadline(renewal: renewal, at: instant))
            case .sleep(let instant, let renewal):
                try demand(instant >= now, "sleeps into the past")
                outstanding.append(.wake(renewal: renewal))
            case .store(let credential, let renewal):
                try demand(credential == nextCredential, "stores what was not received")
                storing = renewal
                outstanding.append(.stored(renewal: renewal))
            case .signOut:
                signOuts += 1
                try demand(state.credential == nil, "signs out with a credential")
            }
        }
    }

    private func check() throws {
        try demand(isHeld == state.isHeld, "the lanes are held: \(isHeld), should be: \(state.isHeld)")
        try demand(state.isHeld == (state.renewalInFlight != nil), "held without a renewal")
        if state.isHeld {
            let isComing = outstanding.contains { number(of: $0) == state.renewalInFlight }
            try demand(isComing, "waits for a renewal that nobody ends")
        }
        try demand(fruitless.count <= 5, "\(fruitless.count) renewals in 30 s that led to nothing")
        try demand(signOuts == refusals, "\(signOuts) sign-outs for \(refusals) refusals")
    }
}

@Suite("AuthenticationState")
struct AuthenticationWalkTests {
    @Test("a random walk: one renewal at most, nobody waits for ever, nothing is sent with a dead credential")
    func randomWalk() {
        RandomWalk.run("authentication") { steps, random in
            var totals: [String: Int] = [:]
            var stepsLeft = steps
            while stepsLeft > 0 {
                var walk = AuthenticationWalk(random: &random)
                for _ in 0..<min(stepsLeft, 2_000) { try walk.step(&random) }
                for (name, count) in walk.counts { totals[name, default: 0] += count }
                totals["signed out", default: 0] += walk.signOuts
                stepsLeft -= 2_000
            }
            for name in ["sent", "failed", "again", "limit", "signed out"] where steps >= 100_000 {
                try demand(totals[name, default: 0] > 0, "never \(name)")
            }
        }
    }
}
