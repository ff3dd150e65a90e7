import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One operation and the world around it: what it asked for is outstanding until the walk delivers it, in any order,
/// and what was delivered once may come again late.
private struct OperationWalk {
    enum Event {
        case built(isGood: Bool)
        case admitted(round: Int)
        case prepared(round: Int, isGood: Bool)
        case confirmed(round: Int)
        case succeeded(round: Int)
        case failed(round: Int)
        case judged(round: Int)
        case woke(round: Int)
        case deadline
    }

    static let request = Made.request()
    static let reply = Exchange.Reply(head: ReceivedHead(Made.response(200)), data: Data([1]), request: request)
    static let error = Made.status(503)
    static let builtWrong = NetworkError.invalidRequest("x")

    var state = OperationState()
    var now = Made.moment
    /// A number for what the world decides in this step.
    var coin = 0
    var outstanding: [Event] = []
    var delivered: [Event] = []
    let needsPreparation: Bool

    // What the world counts for itself.
    var isStarted = false
    var sends = 0
    var exchangesOut = 0
    var endedAttempts = 0
    var deliveries = 0
    var finishes = 0
    /// It has set out by itself, and Foundation has not got it since.
    var needsNoStart = false
    var isHandedOver = false
    var lastWasFinish = false
    var inLine: Set<Int> = []
    var expected: String?

    init(random: inout SeededRandom) {
        needsPreparation = random.once(in: 2)
    }

    mutating func step(_ random: inout SeededRandom) throws {
        now = now.advanced(by: .milliseconds(random.below(50)))
        coin = random.below(1 << 16)
        switch random.below(40) {
        case 0: try cancel()
        case 1: try start(&random)
        case 2: try begin(&random)
        case 3: try handOver()
        case 4..<9: try late(&random)
        default:
            if outstanding.isEmpty { return try random.once(in: 2) ? start(&random) : begin(&random) }
            try deliver(outstanding.remove(at: random.below(outstanding.count)), &random)
        }
        try check()
    }

    /// The queue lets it set out before Foundation has it.
    private mutating func begin(_ random: inout SeededRandom) throws {
        let deadline = deadline(&random)
        if state.phase == .idle { needsNoStart = !isHandedOver }
        try perform(state.begin(deadline: deadline))
    }

    /// The queue is about to hand it to Foundation.
    private mutating func handOver() throws {
        let isTaken = state.handOver()
        try demand(isTaken == (!isStarted && !(needsNoStart && expected != nil)), "handed over: \(isTaken)")
        if isTaken { (needsNoStart, isHandedOver) = (false, true) }
    }

    private func deadline(_ random: inout SeededRandom) -> Moment? {
        random.once(in: 2) ? now.advanced(by: .milliseconds(random.below(2_000))) : nil
    }

    private mutating func start(_ random: inout SeededRandom) throws {
        let deadline = deadline(&random)
        let wasStarted = isStarted
        isStarted = true
        let actions = state.start(deadline: deadline)
        if wasStarted { try demand(actions.isEmpty, "a second start does something") }
        try perform(actions)
    }

    private mutating func cancel() throws {
        try end("cancelled") { $0.cancel(now: $1) }
    }

    /// Cancel or deadline: the result unless there is one, and an attempt that is under way ends with it.
    private mutating func end(
        _ word: String, _ event: (inout OperationState, Moment) -> [OperationState.Action]
    ) throws {
        if expected == nil {
            expected = word
            if state.phase == .onWire { endedAttempts += 1 }
        }
        try perform(event(&state, now))
    }

    /// An event that has been delivered comes again, when it is out of place.
    private mutating func late(_ random: inout SeededRandom) throws {
        guard !delivered.isEmpty else { return }
        let event = delivered[random.below(delivered.count)]
        let phase = state.phase, round = state.round
        let isLate =
            switch event {
            case .built: phase != .building
            case .admitted(let old): old != round || phase == .ended
            case .prepared(let old, _): old != round || phase != .preparing
            case .confirmed(let old): old != round || phase != .confirming
            case .succeeded(let old), .failed(let old): old != round || phase != .onWire
            case .judged(let old): old != round || phase != .judging
            case .woke(let old): old != round || phase != .backingOff
            case .deadline: phase == .ended
            }
        guard isLate else { return }
        var copy = self
        try copy.deliver(event, &random, isLate: true)
        state = copy.state
        try demand(copy.sends == sends && copy.deliveries == deliveries && copy.finishes == finishes, "late \(event)")
        try demand(state.phase == phase && state.round == round, "late \(event) changes the phase")
    }

    private mutating func deliver(_ event: Event, _ random: inout SeededRandom, isLate: Bool = false) throws {
        if !isLate { delivered.append(event) }
        switch event {
        case .built(let isGood):
            if state.phase == .building, !isGood { expected = "other" }
            try perform(state.built(isGood ? .success(Self.request) : .failure(Self.builtWrong)))
        case .admitted(let round):
            let isHere = inLine.contains(round)
            if !isHere, !isLate { return }
            if !isLate, coin & 31 == 0, state.awaitsSlot(round) {
                expected = "inaccessible after \(state.attempts.count), status 503"
                return try perform(state.blocked(by: Self.error, round: round))
            }
            try perform(
                state.admitted(round: round, needsPreparation: needsPreparation, now: now, date: Made.date))
        case .prepared(let round, let isGood):
            let isDue = state.phase == .preparing && round == state.round
            if coin & 0x70 == 0 { return try perform(state.postponed(round: round)) }
            if coin & 0x1F0 == 0x10 {
                if isDue { expected = "other" }
                return try perform(state.refused(with: Self.builtWrong, round: round))
            }
            if isDue, !isGood { endedAttempts += 1 }
            try perform(
                state.prepared(isGood ? .success(Self.request) : .failure(Self.error), round: round, now: now))
        case .confirmed(let round):
            try confirm(round, &random, isLate: isLate)
        case .succeeded(let round):
            if state.phase == .onWire, round == state.round {
                (expected, endedAttempts, exchangesOut) = ("200", endedAttempts + 1, exchangesOut - 1)
            }
            try perform(state.succeeded(Self.reply, round: round, now: now))
        case .failed(let round):
            if state.phase == .onWire, round == state.round {
                (endedAttempts, exchangesOut) = (endedAttempts + 1, exchangesOut - 1)
            }
            if coin & 0x30 == 0 {
                let before = state.resends
                let actions = state.unauthorized(Self.error, round: round, now: now)
                try demand(
                    (actions == nil) == (before == 2 && state.phase == .onWire && round == state.round), "resends")
                if let actions { return try perform(actions) }
            }
            try perform(state.failed(with: Self.error, round: round, now: now))
        case .judged(let round):
            try judge(round, &random)
        case .woke(let round):
            try perform(state.woke(round: round))
        case .deadline:
            try end("deadline") { $0.deadlineCame(now: $1) }
        }
    }

    /// The lane says yes, or has put the operation back and will admit it once more.
    private mutating func confirm(_ round: Int, _ random: inout SeededRandom, isLate: Bool) throws {
        if !isLate, inLine.contains(round), random.once(in: 3) {
            outstanding.append(.admitted(round: round))
        } else {
            try perform(state.confirmed(Self.request, round: round))
        }
    }

    private mutating func judge(_ round: Int, _ random: inout SeededRandom) throws {
        let isDue = state.phase == .judging && round == state.round
        let verdict: RetryVerdict =
            switch random.below(8) {
            case 0: .giveUp(.nonIdempotent)
            case 1: .giveUp(.noAttemptsLeft)
            case 2, 3: .retry(after: .zero, cost: 14)
            default: .retry(after: .milliseconds(random.below(100)), cost: 5)
            }
        if isDue, case .giveUp(let reason) = verdict {
            let isUsedUp = reason == .noAttemptsLeft && state.attempts.count > 1 + state.resends
            expected = isUsedUp ? "inaccessible after \(state.attempts.count), status 503" : "status 503"
        }
        try perform(
            state.judged(verdict, of: Self.error, round: round, isIdleConnectionRetry: false, now: now))
    }

    private mutating func perform(_ actions: [OperationState.Action]) throws {
        for (index, action) in actions.enumerated() {
            switch action {
            case .armDeadline: outstanding.append(.deadline)
            case .build:
                // One in eight requests cannot be made.
                outstanding.append(.built(isGood: coin & 7 != 0))
            case .enterLine(let round):
                try demand(inLine.isEmpty, "two places in line")
                inLine.insert(round)
                outstanding.append(.admitted(round: round))
            case .leaveLine(let round): inLine.remove(round)
            case .giveBack(let round, let next):
                try demand(inLine == [round] && exchangesOut == 0, "gives back what it has not")
                inLine = [next]
                outstanding.append(.admitted(round: next))
            case .prepare(_, let round):
                try demand(inLine.contains(round), "prepares without a slot")
                outstanding.append(.prepared(round: round, isGood: coin & 3 != 0))
            case .confirm(_, let round):
                outstanding.append(.confirmed(round: round))
            case .send(_, let round):
                try demand(expected == nil && inLine.contains(round), "sends without a slot, or after the end")
                try demand(exchangesOut == 0, "two exchanges out")
                (sends, exchangesOut) = (sends + 1, exchangesOut + 1)
                outstanding.append(coin & 1 == 0 ? .succeeded(round: round) : .failed(round: round))
            case .judge(_, let round):
                try demand(inLine.isEmpty && exchangesOut == 0, "judges while it has a slot")
                outstanding.append(.judged(round: round))
            case .sleep(_, let round):
                try demand(inLine.isEmpty, "sleeps with a slot")
                outstanding.append(.woke(round: round))
            case .stop: exchangesOut = 0
            case .refund(let tokens):
                try demand(tokens > 0 && tokens == state.lastRetryCost, "gives back what was not taken")
            case .deliver:
                try demand(state.result != nil, "delivers nothing")
                deliveries += 1
                try perform(state.delivered())
            case .finish:
                try demand((isStarted || needsNoStart) && deliveries == 1, "finishes before start or delivery")
                try demand(index == actions.count - 1, "does something after finish")
                finishes += 1
            }
        }
    }

    private func check() throws {
        let result = state.result.map(OperationRun.word)
        try demand(result == expected, "result is \(result ?? "none"), should be \(expected ?? "none")")
        let isEnded = expected != nil
        try demand((state.phase == .ended) == isEnded, "phase \(state.phase)")
        try demand(deliveries == (isEnded ? 1 : 0), "\(deliveries) deliveries")
        try demand(finishes == (isEnded && (isStarted || needsNoStart) ? 1 : 0), "\(finishes) finishes")
        try demand(state.attempts.count == endedAttempts, "\(state.attempts.count) attempts, not \(endedAttempts)")
        try demand(!isEnded || inLine.isEmpty, "ended with a place in line")
        try demand(!isEnded || exchangesOut == 0, "ended with an exchange out")
        let isAwaited = outstanding.contains { if case .deadline = $0 { false } else { true } }
        try demand(!isStarted || isEnded || isAwaited, "waits for nothing in phase \(state.phase)")
        for (index, attempt) in state.attempts.enumerated() {
            try demand(attempt.number == index + 1 && attempt.duration >= .zero, "attempt \(index) is wrong")
            try demand(attempt.notRetried == nil || index == state.attempts.count - 1, "reason in the middle")
        }
    }

    /// An operation that has ended, and to which enough has come late.
    var isOver: Bool { state.phase == .ended && isStarted && outstanding.isEmpty }
}

@Suite("OperationState, walked at random")
struct OperationWalkTests {
    @Test("whatever comes in whatever order, there is one result, one delivery, one finish and no slot lost")
    func randomWalk() {
        RandomWalk.run("operation") { steps, random in
            var walk = OperationWalk(random: &random)
            var ends: [String: Int] = [:]
            for step in 0..<steps {
                do {
                    try walk.step(&random)
                } catch let violation as RandomWalk.Violation {
                    throw RandomWalk.Violation(text: "step \(step): \(violation.text)")
                }
                if walk.isOver || walk.delivered.count > 200 {
                    ends[walk.expected.map { String($0.prefix(8)) } ?? "none", default: 0] += 1
                    walk = OperationWalk(random: &random)
                }
            }
            // The walk has been everywhere, or it proves nothing.
            for end in ["200", "cancelle", "deadline", "status 5", "inaccess", "other"] where steps >= 100_000 {
                try demand(ends[end, default: 0] > 0, "never ended with \(end)")
            }
        }
    }
}
