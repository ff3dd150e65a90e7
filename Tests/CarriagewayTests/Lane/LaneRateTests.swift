import Foundation
import Testing

@testable import Carriageway

@Suite("Lane.State: rates")
struct LaneRateTests {
    private let tenASecond = RateLimit(requestsPerSecond: 10, burst: 2)

    @Test("a burst goes at once, then one each interval, and after a pause a burst again")
    func burstThenSpaced() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 100, limitPerHost: 100, rate: tenASecond)
        for name in ["1", "2"] { #expect(line.enter(name, queue) == [name]) }
        for name in ["3", "4"] { #expect(line.enter(name, queue).isEmpty) }
        #expect(line.pass(.milliseconds(99)).isEmpty)
        #expect(line.pass(.milliseconds(1)) == ["3"])
        #expect(line.pass(.milliseconds(100)) == ["4"])
        #expect(line.pass(.seconds(5)).isEmpty)
        for name in ["5", "6"] { #expect(line.enter(name, queue) == [name]) }
        #expect(line.enter("7", queue).isEmpty)
    }

    @Test("who waits for its turn has no slot, and higher priority goes first, first in first out within one")
    func orderAndSlots() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 2, limitPerHost: 2, ratePerHost: RateLimit(requestsPerSecond: 10))
        #expect(line.enter("first", queue) == ["first"])
        #expect(line.leave("first").isEmpty)
        for (name, priority) in [("low", -4), ("normal 1", 0), ("normal 2", 0), ("high", 4)] {
            #expect(line.enter(name, queue, priority: priority).isEmpty)
        }
        #expect(line.lane.members[queue]?.active == 0)
        #expect(line.enter("elsewhere", queue, host: "b") == ["elsewhere"])
        #expect(line.leave("elsewhere").isEmpty)
        var order: [String] = []
        for _ in 0..<4 {
            let admitted = line.pass(.milliseconds(100))
            order += admitted
            for name in admitted { #expect(line.leave(name).isEmpty) }
        }
        #expect(order == ["high", "normal 1", "normal 2", "low"])
        _ = line.pass(.seconds(1))
        #expect(line.isEmpty)
    }

    @Test("the rate of a queue is over all its hosts, that of a host for each, and another queue has its own")
    func scopes() {
        var line = LaneLine()
        let whole = line.lane.join(limit: 100, limitPerHost: 100, rate: RateLimit(requestsPerSecond: 1))
        let each = line.lane.join(limit: 100, limitPerHost: 100, ratePerHost: RateLimit(requestsPerSecond: 1))
        #expect(line.enter("w a", whole, host: "a") == ["w a"])
        #expect(line.enter("w b", whole, host: "b").isEmpty)
        #expect(line.enter("e a", each, host: "a") == ["e a"])
        #expect(line.enter("e b", each, host: "b") == ["e b"])
        #expect(line.enter("e a 2", each, host: "a").isEmpty)
        #expect(line.pass(.seconds(1)) == ["w b", "e a 2"])
    }

    @Test("one that goes back to its place in line gives its turn back")
    func turnGivenBack() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 9, limitPerHost: 9, rate: RateLimit(requestsPerSecond: 1))
        #expect(line.enter("x", queue) == ["x"])
        line.lane.hold(.suspended, member: queue)
        #expect(!line.confirm("x").isConfirmed)
        #expect(line.release(.suspended, queue) == ["x"])
        #expect(line.enter("y", queue).isEmpty)
    }

    @Test("a thousand that wait for their turn, and holds that grow, ask for one timer at a time")
    func oneTimer() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 9, limitPerHost: 9, ratePerHost: RateLimit(requestsPerSecond: 100))
        var wakes = 0
        for number in 0..<1_000 {
            let client = line.identifier("\(number)")
            let actions = line.lane.enter(
                client, round: 1, member: queue, host: "a", priority: 0, now: line.now)
            wakes += actions.count { if case .wake = $0 { true } else { false } }
        }
        for second in 1...1_000 {
            wakes += line.lane.hold(host: "b", until: line.now.advanced(by: .seconds(second))).count
        }
        #expect(wakes == 1)
    }

    @Test("C28 a 429 halves the rate once the hold is over, without bursts; a minute later it is as before")
    func slowedDown() {
        var line = LaneLine()
        let queue = line.lane.join(
            limit: 900, limitPerHost: 900, ratePerHost: RateLimit(requestsPerSecond: 10, burst: 5))
        let unpaced = line.lane.join(limit: 900, limitPerHost: 900)
        for number in 0..<5 { #expect(line.enter("sent \(number)", queue).count == 1) }
        let until = line.now.advanced(by: .seconds(2))
        // Each of the five is answered with 429: that is one sign, not five.
        for _ in 0..<5 {
            line.lane.slowDown(host: "a", until: until, now: line.now)
            _ = line.lane.hold(host: "a", until: until)
        }
        for number in 0..<1_000 { #expect(line.enter("\(number)", queue).isEmpty) }
        #expect(line.enter("other queue", unpaced).isEmpty)
        #expect(line.pass(.seconds(2)) == ["0", "other queue"])
        #expect(countAdmitted(&line, in: .seconds(2)) == 10)
        _ = line.pass(.seconds(26))
        // Half of the way, three quarters of the rate.
        #expect((14...16).contains(countAdmitted(&line, in: .seconds(2))))
        _ = line.pass(.seconds(30))
        #expect(countAdmitted(&line, in: .seconds(2)) == 20)
    }

    @Test("a 429 to a request that went out after the first halves the rate again, down to a sixteenth")
    func slowedAgain() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 900, limitPerHost: 900, rate: RateLimit(requestsPerSecond: 160))
        #expect(line.enter("first", queue).count == 1)
        for _ in 0..<7 {
            line.lane.slowDown(host: "a", until: line.now, now: line.now)
            _ = line.pass(.seconds(1))
            #expect(line.enter("next", queue).count == 1)
            _ = line.leave("next")
        }
        for number in 0..<100 { _ = line.enter("\(number)", queue) }
        let count = countAdmitted(&line, in: .seconds(1))
        #expect((10...13).contains(count))
        #expect(line.enter("elsewhere", queue, host: "b") == ["elsewhere"])
    }

    /// How many are admitted, woken as often as the lane asks.
    private func countAdmitted(_ line: inout LaneLine, in time: Duration) -> Int {
        let end = line.now.advanced(by: time)
        var count = 0
        while let next = line.lane.wakesAt, next <= end { count += line.pass(next - line.now).count }
        _ = line.pass(end - line.now)
        return count
    }

    @Test("numbers out of range count as the nearest that is in it")
    func numbers() {
        #expect(RateLimit(requestsPerSecond: .nan, burst: 0) == RateLimit(requestsPerSecond: -1, burst: 1))
        #expect(RateLimit(requestsPerSecond: 0).interval == .seconds(3_600))
        #expect(RateLimit(requestsPerSecond: .infinity, burst: .max).interval == .zero)
        var line = LaneLine()
        let queue = line.lane.join(
            limit: 900, limitPerHost: 900, rate: RateLimit(requestsPerSecond: .infinity, burst: .max),
            ratePerHost: RateLimit(requestsPerSecond: 0, burst: .max))
        for number in 0..<100 { #expect(line.enter("\(number)", queue).count == 1) }
    }
}
