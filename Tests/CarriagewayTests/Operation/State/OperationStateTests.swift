import Foundation
import Testing

@testable import Carriageway

private typealias Phase = OperationState.Phase
private let allPhases: [OperationState.Phase] = [
    .idle, .building, .inLine, .preparing, .confirming, .onWire, .judging, .backingOff, .ended,
]

@Suite("OperationState: the way of a request")
struct OperationStateTests {
    @Test("each phase is reached", arguments: allPhases)
    func phases(phase: OperationState.Phase) {
        #expect(OperationRun.reaching(phase).state.phase == phase)
    }

    @Test("a request goes in line, on the wire, and ends once")
    func straight() {
        var run = OperationRun()
        #expect(run.start() == ["build"])
        #expect(run.built() == ["enter 1"])
        #expect(run.admitted() == ["send 1"])
        run.now = run.now.advanced(by: .milliseconds(20))
        #expect(run.succeeded() == ["stop", "leave 1", "deliver", "finish"])
        #expect(run.result == "200")
        #expect(run.state.attempts.map(\.number) == [1])
        #expect(run.state.attempts.first?.duration == .milliseconds(20))
        #expect(run.state.attempts.first?.started == Made.date)
        #expect(run.state.attempts.first?.notRetried == nil)
        #expect((try? run.state.result?.get())?.attempts.count == 1)
    }

    @Test("a timeout arms the deadline before anything else")
    func deadlineArmed() {
        var run = OperationRun()
        #expect(run.start(timeout: .seconds(5)) == ["arm 5.0 seconds", "build"])
    }

    @Test("a second start has no effect", arguments: allPhases)
    func secondStart(phase: OperationState.Phase) {
        var run = OperationRun.reaching(phase)
        guard phase != .idle else { return }
        #expect(run.start(timeout: .seconds(1)).isEmpty)
        #expect(run.state.phase == phase)
    }

    @Test("a request that cannot be made ends without a place in line")
    func notBuilt() {
        var run = OperationRun.reaching(.building)
        #expect(run.notBuilt(.deadlineExceeded) == ["stop", "deliver", "finish"])
        #expect(run.result == "deadline")
        #expect(run.state.attempts.isEmpty)
    }

    @Test("with prepare it asks whether the slot still holds before it is sent")
    func prepared() {
        var run = OperationRun.reaching(.inLine)
        #expect(run.admitted(preparing: true) == ["prepare 1"])
        #expect(run.prepared() == ["confirm 1"])
        #expect(run.confirmed() == ["send 1"])
        #expect(run.confirmed().isEmpty)
    }

    @Test("one that sets out before it is started finishes without, unless it was handed over: then when it is started")
    func earlyBeginning() {
        var alone = OperationRun()
        #expect(alone.begin() == ["build"])
        #expect(alone.begin().isEmpty)
        #expect(alone.cancel().last == "finish")
        let isTaken = alone.handOver()
        #expect(!isTaken)
        var run = OperationRun()
        #expect(run.begin() == ["build"])
        let isHanded = run.handOver()
        #expect(isHanded)
        let ended = run.cancel()
        #expect(ended.contains("deliver") && !ended.contains("finish"))
        #expect(run.start() == ["finish"])
        let isTooLate = run.handOver()
        #expect(!isTooLate)
        // A suspended queue has handed it over before it sets out.
        var resumed = OperationRun()
        let isWaiting = resumed.handOver()
        #expect(isWaiting && resumed.begin() == ["build"])
        #expect(resumed.cancel().last == "deliver")
        #expect(resumed.start() == ["finish"])
        var slow = OperationRun()
        #expect(slow.begin() == ["build"])
        #expect(slow.start().isEmpty)
        #expect(slow.cancel().last == "finish")
    }

    @Test(
        "started by hand or handed over: what comes first; neither once it has set out; cancelled before, it waits for either"
    )
    func startedByHand() {
        var byHand = OperationState()
        let isTaken = byHand.take(), isHandedToo = byHand.handOver()
        #expect(isTaken && !isHandedToo)
        var handed = OperationState()
        let isHanded = handed.handOver(), isTakenToo = handed.take()
        #expect(isHanded && !isTakenToo)
        var away = OperationState()
        _ = away.begin(deadline: nil)
        let isTakenLate = away.take()
        #expect(!isTakenLate && !away.awaitsStart)
        var cancelled = OperationState()
        _ = cancelled.cancel(now: Made.moment)
        _ = cancelled.begin(deadline: nil)
        #expect(cancelled.awaitsStart)
    }

    @Test("one that was put back while preparing is prepared anew, and counts one attempt")
    func putBack() {
        var run = OperationRun.reaching(.confirming)
        run.now = run.now.advanced(by: .seconds(3))
        #expect(run.admitted(preparing: true) == ["prepare 1"])
        #expect(run.prepared() == ["confirm 1"])
        #expect(run.confirmed() == ["send 1"])
        run.now = run.now.advanced(by: .seconds(1))
        _ = run.succeeded()
        #expect(run.state.attempts.count == 1)
        #expect(run.state.attempts.first?.duration == .seconds(1))
    }

    @Test("what prepare throws is the attempt's failure")
    func prepareFailed() {
        var run = OperationRun.reaching(.preparing)
        #expect(run.prepared(error: Made.status(401)) == ["leave 1", "judge 1 status 401"])
        #expect(run.state.attempts.count == 1)
    }

    @Test("a failed attempt gives its slot up before it is judged")
    func failed() {
        var run = OperationRun.reaching(.onWire)
        #expect(run.failed() == ["leave 1", "judge 1 status 503"])
        #expect(run.state.result == nil)
    }

    @Test("a retry waits without a slot and goes back in line for a round of its own")
    func retried() {
        var run = OperationRun.reaching(.judging)
        #expect(run.judged(.retry(after: .seconds(2), cost: 5)) == ["sleep 1 2.0 seconds"])
        #expect(run.state.lastRetryCost == 5)
        #expect(run.woke() == ["enter 2"])
        #expect(run.admitted(2) == ["send 2"])
        #expect(run.succeeded(2) == ["stop", "leave 2", "deliver", "finish"])
        #expect(run.state.attempts.map(\.number) == [1, 2])
        #expect(run.state.attempts.map { $0.notRetried == nil } == [true, true])
    }

    @Test("a retry without wait goes back in line at once, and one for an idle connection is remembered")
    func retriedAtOnce() {
        var run = OperationRun.reaching(.judging)
        #expect(run.judged(.retry(after: .zero, cost: 14), isIdle: true) == ["enter 2"])
        #expect(run.state.hasRetriedIdleConnection)
    }

    @Test("one that gives up ends with its error and the reason", arguments: [NotRetriedReason.nonIdempotent, .budget])
    func gaveUp(reason: NotRetriedReason) {
        var run = OperationRun.reaching(.judging)
        #expect(run.judged(.giveUp(reason), isIdle: true) == ["stop", "deliver", "finish"])
        #expect(run.result == "status 503")
        #expect(run.state.attempts.map(\.notRetried) == [reason])
        #expect(!run.state.hasRetriedIdleConnection)
    }

    @Test("retries used up are named so, with the last error; a first failure without retries is itself")
    func usedUp() {
        var run = OperationRun.reaching(.judging)
        _ = run.judged(.retry(after: .zero, cost: 0))
        _ = run.admitted(2)
        _ = run.failed(2, with: Made.status(502))
        #expect(run.judged(.giveUp(.noAttemptsLeft), 2) == ["stop", "deliver", "finish"])
        #expect(run.result == "inaccessible after 2, status 502")
        var single = OperationRun.reaching(.judging)
        _ = single.judged(.giveUp(.noAttemptsLeft))
        #expect(single.result == "status 503")
    }

    // MARK: Cancel and deadline

    private static let ends: [(OperationState.Phase, [String])] = [
        (.building, ["stop", "deliver", "finish"]), (.inLine, ["stop", "leave 1", "deliver", "finish"]),
        (.preparing, ["stop", "leave 1", "deliver", "finish"]),
        (.confirming, ["stop", "leave 1", "deliver", "finish"]), (.onWire, ["stop", "leave 1", "deliver", "finish"]),
        (.judging, ["stop", "deliver", "finish"]), (.backingOff, ["stop", "refund 14", "deliver", "finish"]),
        (.ended, []),
    ]

    @Test("cancel ends every phase at once, and gives the slot or the place back", arguments: ends)
    func cancel(phase: OperationState.Phase, actions: [String]) {
        var run = OperationRun.reaching(phase)
        #expect(run.cancel() == actions)
        #expect(run.result == (phase == .ended ? "200" : "cancelled"))
        #expect(run.cancel().isEmpty)
        #expect(run.deadlineCame().isEmpty)
    }

    @Test("the deadline ends every phase at once", arguments: ends)
    func deadline(phase: OperationState.Phase, actions: [String]) {
        var run = OperationRun.reaching(phase)
        #expect(run.deadlineCame() == actions)
        #expect(run.result == (phase == .ended ? "200" : "deadline"))
        #expect(run.cancel().isEmpty)
    }

    @Test("C16 cancel before the start delivers at once and finishes only when it is started")
    func cancelBeforeStart() {
        var run = OperationRun()
        #expect(run.cancel() == ["stop", "deliver"])
        #expect(run.result == "cancelled")
        #expect(run.start(timeout: .seconds(1)) == ["finish"])
        #expect(run.start().isEmpty)
    }

    @Test("C13 and C14 cancel during backoff: no send follows, and the result is not the attempt's error")
    func cancelDuringBackoff() {
        var run = OperationRun.reaching(.backingOff)
        _ = run.cancel()
        #expect(run.woke().isEmpty)
        #expect(run.admitted(2) == ["leave 2"])
        #expect(run.result == "cancelled")
        #expect(run.state.attempts.map(\.notRetried) == [.cancelled])
    }

    @Test("an attempt that is cut short is recorded with its reason")
    func cutShort() {
        var cancelled = OperationRun.reaching(.onWire)
        _ = cancelled.cancel()
        #expect(cancelled.state.attempts.map(\.notRetried) == [.cancelled])
        var late = OperationRun.reaching(.onWire)
        _ = late.deadlineCame()
        #expect(late.state.attempts.map(\.notRetried) == [.deadline])
        var waiting = OperationRun.reaching(.inLine)
        _ = waiting.cancel()
        #expect(waiting.state.attempts.isEmpty)
    }

    // MARK: Late events

    @Test("an event that does not belong to the phase changes nothing", arguments: allPhases)
    func foreignEvents(phase: OperationState.Phase) {
        let events: [(name: String, phase: OperationState.Phase, send: (inout OperationRun) -> [String])] = [
            ("built", .building, { $0.built() }), ("not built", .building, { $0.notBuilt(.cancelled) }),
            ("prepared", .preparing, { $0.prepared() }),
            ("prepare failed", .preparing, { $0.prepared(error: .cancelled) }),
            ("confirmed", .confirming, { $0.confirmed() }), ("succeeded", .onWire, { $0.succeeded(status: 204) }),
            ("failed", .onWire, { $0.failed() }), ("judged", .judging, { $0.judged(.giveUp(.budget)) }),
            ("judged again", .judging, { $0.judged(.retry(after: .zero, cost: 0)) }),
            ("woke", .backingOff, { $0.woke() }),
        ]
        for event in events where event.phase != phase {
            var run = OperationRun.reaching(phase)
            let result = run.result
            #expect(event.send(&run).isEmpty, "\(event.name)")
            #expect(run.state.phase == phase && run.result == result, "\(event.name)")
        }
    }

    @Test("an event of an earlier round changes nothing", arguments: [0, 1, 3])
    func earlierRounds(round: Int) {
        var run = OperationRun.reaching(.judging)
        _ = run.judged(.retry(after: .zero, cost: 0))
        #expect(run.admitted(round, preparing: true) == ["leave \(round)"])
        _ = run.admitted(2, preparing: true)
        #expect(run.prepared(round).isEmpty)
        _ = run.prepared(2)
        #expect(run.confirmed(round).isEmpty)
        _ = run.confirmed(2)
        #expect(run.succeeded(round).isEmpty)
        #expect(run.failed(round).isEmpty)
        _ = run.failed(2)
        #expect(run.judged(.giveUp(.budget), round).isEmpty)
        _ = run.judged(.retry(after: .seconds(1), cost: 0), 2)
        #expect(run.woke(round).isEmpty)
        #expect(run.state.phase == .backingOff)
    }

    @Test("a lost credential ends who stands in line for it, also after `prepare`, and no other", arguments: allPhases)
    func lostCredential(phase: OperationState.Phase) {
        var run = OperationRun.reaching(phase)
        let isInLine = phase == .inLine || phase == .confirming
        #expect(run.credentialLost() == (isInLine ? ["stop", "leave 1", "deliver", "finish"] : []))
        #expect(run.state.phase == (isInLine ? .ended : phase))
    }

    @Test("a slot that nobody needs any longer is given back", arguments: allPhases)
    func unwantedSlot(phase: OperationState.Phase) {
        guard phase != .inLine, phase != .confirming else { return }
        var run = OperationRun.reaching(phase)
        #expect(run.admitted(9) == ["leave 9"])
        #expect(run.state.phase == phase)
    }
}

@Suite("OperationState: both orders of each race")
struct OperationRaceTests {
    @Test("complete and cancel: the first is the result, and there is one")
    func completeAndCancel() {
        var completed = OperationRun.reaching(.onWire)
        #expect(completed.succeeded() == ["stop", "leave 1", "deliver", "finish"])
        #expect(completed.cancel().isEmpty)
        #expect(completed.result == "200")
        var cancelled = OperationRun.reaching(.onWire)
        #expect(cancelled.cancel() == ["stop", "leave 1", "deliver", "finish"])
        #expect(cancelled.succeeded().isEmpty)
        #expect(cancelled.failed().isEmpty)
        #expect(cancelled.result == "cancelled")
        #expect(cancelled.state.attempts.count == 1)
    }

    @Test("C18 cancel and start: either way nothing is sent and it finishes once")
    func cancelAndStart() {
        var cancelFirst = OperationRun()
        #expect(cancelFirst.cancel() == ["stop", "deliver"])
        #expect(cancelFirst.start() == ["finish"])
        #expect(cancelFirst.built().isEmpty)
        var startFirst = OperationRun()
        #expect(startFirst.start() == ["build"])
        #expect(startFirst.cancel() == ["stop", "deliver", "finish"])
        #expect(startFirst.built().isEmpty)
    }

    @Test("cancel and admit: the slot is given back either way")
    func cancelAndAdmit() {
        var cancelFirst = OperationRun.reaching(.inLine)
        #expect(cancelFirst.cancel() == ["stop", "leave 1", "deliver", "finish"])
        #expect(cancelFirst.admitted() == ["leave 1"])
        var admitFirst = OperationRun.reaching(.inLine)
        #expect(admitFirst.admitted() == ["send 1"])
        #expect(admitFirst.cancel() == ["stop", "leave 1", "deliver", "finish"])
    }

    @Test("deadline and complete: the first is the result")
    func deadlineAndComplete() {
        var deadlineFirst = OperationRun.reaching(.onWire)
        #expect(deadlineFirst.deadlineCame() == ["stop", "leave 1", "deliver", "finish"])
        #expect(deadlineFirst.succeeded().isEmpty)
        #expect(deadlineFirst.result == "deadline")
        var completeFirst = OperationRun.reaching(.onWire)
        _ = completeFirst.succeeded()
        #expect(completeFirst.deadlineCame().isEmpty)
        #expect(completeFirst.result == "200")
    }

    @Test("deadline and cancel: the first is the result")
    func deadlineAndCancel() {
        var deadlineFirst = OperationRun.reaching(.backingOff)
        _ = deadlineFirst.deadlineCame()
        #expect(deadlineFirst.cancel().isEmpty)
        #expect(deadlineFirst.result == "deadline")
        var cancelFirst = OperationRun.reaching(.backingOff)
        _ = cancelFirst.cancel()
        #expect(cancelFirst.deadlineCame().isEmpty)
        #expect(cancelFirst.result == "cancelled")
    }

    @Test("confirm and hold: a slot that was given again before the no of the first is used once")
    func confirmAndHold() {
        // The lane put it back and gave it a slot anew before the answer "no" was read: then no `confirmed` comes.
        var heldFirst = OperationRun.reaching(.confirming)
        #expect(heldFirst.admitted(preparing: true) == ["prepare 1"])
        #expect(heldFirst.confirmed().isEmpty)
        #expect(heldFirst.prepared() == ["confirm 1"])
        #expect(heldFirst.confirmed() == ["send 1"])
        var confirmFirst = OperationRun.reaching(.confirming)
        #expect(confirmFirst.confirmed() == ["send 1"])
        #expect(confirmFirst.state.phase == .onWire)
    }

    @Test("confirm and cancel: nothing is sent after cancel, and the slot or place is given back")
    func confirmAndCancel() {
        var cancelFirst = OperationRun.reaching(.confirming)
        #expect(cancelFirst.cancel() == ["stop", "leave 1", "deliver", "finish"])
        #expect(cancelFirst.confirmed().isEmpty)
        #expect(cancelFirst.admitted() == ["leave 1"])
        var confirmFirst = OperationRun.reaching(.confirming)
        #expect(confirmFirst.confirmed() == ["send 1"])
        #expect(confirmFirst.cancel() == ["stop", "leave 1", "deliver", "finish"])
    }

    @Test("C13 retry wake and cancel: no send after cancel, and no place is kept")
    func wakeAndCancel() {
        var cancelFirst = OperationRun.reaching(.backingOff)
        #expect(cancelFirst.cancel() == ["stop", "refund 14", "deliver", "finish"])
        #expect(cancelFirst.woke().isEmpty)
        var wakeFirst = OperationRun.reaching(.backingOff)
        #expect(wakeFirst.woke() == ["enter 2"])
        #expect(wakeFirst.cancel() == ["stop", "leave 2", "deliver", "finish"])
        #expect(wakeFirst.admitted(2) == ["leave 2"])
    }

    @Test("judgement and cancel: a verdict that comes late is void")
    func judgeAndCancel() {
        for verdict in [
            RetryVerdict.retry(after: .zero, cost: 14), .retry(after: .seconds(1), cost: 14), .giveUp(.budget),
        ] {
            var run = OperationRun.reaching(.judging)
            #expect(run.cancel() == ["stop", "deliver", "finish"])
            #expect(run.judged(verdict).isEmpty)
            #expect(run.state.attempts.map(\.notRetried) == [.cancelled])
            #expect(run.state.lastRetryCost == nil)
        }
    }
}
