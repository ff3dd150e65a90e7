import Foundation
import Testing

@testable import Carriageway

@Suite("Lane.State: holds")
struct LaneHoldTests {
    @Test("nobody is admitted to a held queue, and those on the wire keep their slots")
    func held() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 2, limitPerHost: 2)
        _ = line.enter("active", queue)
        line.lane.hold(.suspended, member: queue)
        #expect(line.enter("1", queue).isEmpty)
        #expect(line.lane.members[queue]?.active == 1)
        #expect(line.leave("active").isEmpty)
        #expect(line.enter("2", queue).isEmpty)
        #expect(line.release(.suspended, queue) == ["1", "2"])
    }

    @Test("a held queue does not hold another")
    func otherQueue() {
        var line = LaneLine(connectionsPerHost: 1)
        let held = line.lane.join(limit: 1, limitPerHost: 1)
        let open = line.lane.join(limit: 1, limitPerHost: 1)
        line.lane.hold(.suspended, member: held)
        #expect(line.enter("waits", held, priority: 8).isEmpty)
        #expect(line.enter("goes", open) == ["goes"])
        #expect(line.leave("goes").isEmpty)
        #expect(line.release(.suspended, held) == ["waits"])
    }

    @Test(
        "no reason to hold undoes another, in whatever order they come and go",
        arguments: [Lane.Hold.suspended, .cancelling], [Lane.Hold.suspended, .cancelling])
    func reasons(first: Lane.Hold, firstReleased: Lane.Hold) {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        let second: Lane.Hold = first == .suspended ? .cancelling : .suspended
        let lastReleased: Lane.Hold = firstReleased == .suspended ? .cancelling : .suspended
        line.lane.hold(first, member: queue)
        line.lane.hold(second, member: queue)
        #expect(line.enter("x", queue).isEmpty)
        #expect(line.release(firstReleased, queue).isEmpty)
        #expect(line.release(firstReleased, queue).isEmpty)
        #expect(line.enter("y", queue).isEmpty)
        #expect(line.release(lastReleased, queue) == ["x"])
    }

    @Test("two that cancel everything at the same time hold until both are done; one release too many does nothing")
    func cancelledByTwo() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        #expect(line.release(.cancelling, queue).isEmpty)
        line.lane.hold(.cancelling, member: queue)
        line.lane.hold(.cancelling, member: queue)
        #expect(line.enter("x", queue).isEmpty)
        #expect(line.release(.cancelling, queue).isEmpty)
        #expect(line.enter("y", queue).isEmpty)
        #expect(line.release(.cancelling, queue) == ["x"])
    }

    @Test("a hold set twice is released once, and a release without hold does nothing")
    func holdTwice() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        line.lane.hold(.suspended, member: queue)
        line.lane.hold(.suspended, member: queue)
        #expect(line.enter("x", queue).isEmpty)
        #expect(line.release(.cancelling, queue).isEmpty)
        #expect(line.release(.suspended, queue) == ["x"])
    }

    @Test("C28 after 429 and 503 the others in line for the host wait, of every queue, until woken")
    func hostHold() {
        var line = LaneLine()
        let left = line.lane.join(limit: 5, limitPerHost: 5)
        let right = line.lane.join(limit: 5, limitPerHost: 5)
        let instant = line.now.advanced(by: .seconds(2))
        #expect(line.lane.hold(host: "a", until: instant) == [.wake(instant)])
        #expect(line.enter("l", left).isEmpty)
        #expect(line.enter("r", right, priority: 4).isEmpty)
        #expect(line.enter("elsewhere", left, host: "b") == ["elsewhere"])
        #expect(line.pass(.milliseconds(1_999)).isEmpty)
        #expect(line.pass(.milliseconds(1)) == ["r", "l"])
    }

    @Test("a hold of a host is never shortened, and a longer one takes the place of the one timer when that fires")
    func hostHoldGrows() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 5, limitPerHost: 5)
        let long = line.now.advanced(by: .seconds(10))
        let longer = line.now.advanced(by: .seconds(20))
        #expect(line.lane.hold(host: "a", until: long) == [.wake(long)])
        #expect(line.lane.hold(host: "a", until: line.now.advanced(by: .seconds(1))).isEmpty)
        #expect(line.enter("x", queue).isEmpty)
        #expect(line.lane.hold(host: "a", until: longer).isEmpty)
        #expect(line.lane.wakesAt == long)
        #expect(line.pass(.seconds(10)).isEmpty)
        #expect(line.lane.wakesAt == longer)
        #expect(line.pass(.seconds(10)) == ["x"])
        _ = line.leave("x")
        #expect(line.isEmpty)
    }

    @Test("a host that is held is forgotten when the hold is over, though nobody came")
    func hostHoldForgotten() {
        var line = LaneLine()
        _ = line.lane.hold(host: "a", until: line.now.advanced(by: .seconds(1)))
        #expect(line.lane.hosts.count == 1)
        #expect(line.pass(.seconds(1)).isEmpty)
        #expect(line.isEmpty)
    }

    @Test("a host's hold and a queue's stand side by side")
    func hostAndQueue() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 5, limitPerHost: 5)
        line.lane.hold(.suspended, member: queue)
        _ = line.lane.hold(host: "a", until: line.now.advanced(by: .seconds(1)))
        #expect(line.enter("x", queue).isEmpty)
        #expect(line.release(.suspended, queue).isEmpty)
        line.lane.hold(.suspended, member: queue)
        #expect(line.pass(.seconds(1)).isEmpty)
        #expect(line.release(.suspended, queue) == ["x"])
    }

    @Test("one that confirms while its queue is held goes back to its place, before those who came later")
    func confirmWhileHeld() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 2, limitPerHost: 2)
        for name in ["1", "2", "3"] { _ = line.enter(name, queue) }
        #expect(line.confirm("1").isConfirmed)
        line.lane.hold(.suspended, member: queue)
        #expect(!line.confirm("2").isConfirmed)
        #expect(line.lane.members[queue]?.active == 1)
        #expect(line.leave("1").isEmpty)
        #expect(line.release(.suspended, queue) == ["2", "3"])
        #expect(line.confirm("2").isConfirmed)
    }

    @Test("one that confirms while its host is held goes back, and its slot serves another host")
    func confirmWhileHostHeld() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        #expect(line.enter("x", queue) == ["x"])
        #expect(line.enter("other", queue, host: "b").isEmpty)
        _ = line.lane.hold(host: "a", until: line.now.advanced(by: .seconds(1)))
        let (isConfirmed, admitted) = line.confirm("x")
        #expect(!isConfirmed)
        #expect(admitted == ["other"])
        #expect(line.pass(.seconds(1)).isEmpty)
        #expect(line.leave("other") == ["x"])
    }

    @Test("one that waits, is nobody, or speaks for an older round is confirmed without effect")
    func confirmLate() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        _ = line.enter("active", queue, round: 2)
        _ = line.enter("waiting", queue)
        line.lane.hold(.suspended, member: queue)
        #expect(line.confirm("waiting").isConfirmed)
        #expect(line.confirm("nobody").isConfirmed)
        #expect(line.confirm("active", round: 1).isConfirmed)
        #expect(line.lane.members[queue]?.active == 1)
    }

    @Test("a priority set on the wire counts once the request is back in line")
    func priorityThenBack() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        _ = line.enter("x", queue)
        _ = line.enter("y", queue)
        #expect(line.setPriority(-4, of: "x").isEmpty)
        line.lane.hold(.suspended, member: queue)
        #expect(!line.confirm("x").isConfirmed)
        #expect(line.release(.suspended, queue) == ["y"])
        #expect(line.leave("y") == ["x"])
    }

    @Test("a hundred thousand that are cancelled in a held queue leave nothing behind", arguments: [1, 1_000, 100_000])
    func cancelledWhileHeld(hosts: Int) throws {
        var line = LaneLine()
        let queue = line.lane.join(limit: 4, limitPerHost: 4)
        line.lane.hold(.suspended, member: queue)
        let requests = (0..<100_000).map { _ in LaneLine.Request() }
        for (index, request) in requests.enumerated() {
            _ = line.lane.enter(
                ObjectIdentifier(request), round: 1, member: queue, host: "host \(index % hosts)",
                priority: index % 3, now: line.now)
        }
        var mostHeads = 0
        for request in requests {
            _ = line.lane.leave(ObjectIdentifier(request), round: 1, now: line.now)
            mostHeads = max(mostHeads, line.lane.members[queue]?.heads.count ?? 0)
        }
        #expect(line.isEmpty)
        #expect(mostHeads <= 64 + 4 * hosts)
        #expect((line.lane.members[queue]?.heads.count ?? .max) <= 64)
    }

    @Test("requests that come and go one by one in a held queue leave no heads behind")
    func comeAndGoWhileHeld() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        line.lane.hold(.suspended, member: queue)
        _ = line.enter("stays", queue)
        for round in 0..<10_000 {
            _ = line.enter("goes", queue, priority: 8, round: round)
            _ = line.leave("goes", round: round)
        }
        #expect((line.lane.members[queue]?.heads.count ?? .max) <= 66)
        #expect(line.release(.suspended, queue) == ["stays"])
    }

    @Test("places that were given up and taken again, of many, are dropped")
    func prioritiesBackAndForth() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        line.lane.hold(.suspended, member: queue)
        let names = (0..<1_000).map { "\($0)" }
        for name in names { _ = line.enter(name, queue) }
        for name in names {
            for priority in [-4, 0, -4, 0] { _ = line.setPriority(priority, of: name) }
        }
        for name in names[500...] { _ = line.leave(name) }
        let places = line.lane.members[queue]?.buckets.values.map(\.waiting.count) ?? []
        #expect(places.count == 1 && places[0] <= 2 * 500 + 1)
        #expect(line.release(.suspended, queue) == ["0"])
    }

    @Test("a priority that goes back and forth while waiting leaves no places behind")
    func priorityBackAndForth() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        for name in ["active", "first", "flips"] { _ = line.enter(name, queue, priority: name == "first" ? 8 : 0) }
        for turn in 1...20_000 { _ = line.setPriority(turn % 2 == 0 ? 0 : -4, of: "flips") }
        let places = line.lane.members[queue]?.buckets.values.map(\.waiting.count) ?? []
        #expect(places.count == 1 && places[0] <= 66)
        #expect(line.leave("active") == ["first"])
        #expect(line.leave("first") == ["flips"])
        #expect(line.leave("flips").isEmpty)
        #expect(line.isEmpty)
    }
}
