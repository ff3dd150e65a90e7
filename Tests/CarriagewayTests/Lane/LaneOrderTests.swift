import Foundation
import Testing

@testable import Carriageway

@Suite("Lane.State: order and slots")
struct LaneOrderTests {
    @Test("a request alone is admitted once, with its round")
    func aloneOnce() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 10, limitPerHost: 6)
        let request = line.identifier("x")
        let actions = line.lane.enter(request, round: 7, member: queue, host: "a", priority: 0, now: line.now)
        #expect(actions == [.admit(request, round: 7)])
        #expect(line.lane.members[queue]?.active == 1)
    }

    @Test("one that gives up its place beside a request on the wire leaves the lane in order")
    func leaveBesideActive() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 6)
        _ = line.enter("active", queue)
        #expect(line.enter("waiting", queue).isEmpty)
        #expect(line.leave("waiting").isEmpty)
        #expect(line.enter("next", queue).isEmpty)
        #expect(line.leave("active") == ["next"])
        #expect(line.leave("next").isEmpty)
        #expect(line.isEmpty)
    }

    @Test("higher priority goes first, first in first out within one")
    func priorityThenArrival() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        _ = line.enter("first", queue)
        for (name, priority) in [
            ("low 1", -4), ("normal 1", 0), ("very low", -8), ("high", 4), ("normal 2", 0), ("low 2", -4),
            ("very high", 8),
        ] {
            #expect(line.enter(name, queue, host: name, priority: priority).isEmpty)
        }
        var order: [String] = []
        var current = "first"
        while let next = line.leave(current).first {
            order.append(next)
            current = next
        }
        #expect(order == ["very high", "high", "normal 1", "normal 2", "low 1", "low 2", "very low"])
        #expect(line.isEmpty)
    }

    @Test("a queue has no more on the wire than its limit")
    func limitOfQueue() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 3, limitPerHost: 10)
        let admitted = (0..<10).flatMap { line.enter("\($0)", queue, host: "host \($0)") }
        #expect(admitted == ["0", "1", "2"])
        #expect(line.leave("1") == ["3"])
    }

    @Test("limits below 1 count as 1", arguments: [0, -1, .min])
    func limitsBelowOne(limit: Int) {
        var line = LaneLine()
        let queue = line.lane.join(limit: limit, limitPerHost: limit)
        #expect(line.enter("1", queue) == ["1"])
        #expect(line.enter("2", queue).isEmpty)
        #expect(line.leave("1") == ["2"])
    }

    @Test("a full host does not keep others waiting behind it")
    func limitPerHost() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 10, limitPerHost: 2)
        #expect(["1", "2", "3", "4"].flatMap { line.enter($0, queue, host: "full", priority: 8) } == ["1", "2"])
        #expect(line.enter("other", queue, host: "free", priority: -8) == ["other"])
        #expect(line.leave("2") == ["3"])
        #expect(line.leave("1") == ["4"])
    }

    @Test("queues together keep within the connections per host, and the best of all is next")
    func sharedConnections() {
        var line = LaneLine(connectionsPerHost: 2)
        let left = line.lane.join(limit: 10, limitPerHost: 10)
        let right = line.lane.join(limit: 10, limitPerHost: 10)
        #expect(line.enter("l1", left) == ["l1"])
        #expect(line.enter("r1", right) == ["r1"])
        #expect(line.enter("l2", left).isEmpty)
        #expect(line.enter("r2", right, priority: 4).isEmpty)
        #expect(line.enter("elsewhere", left, host: "b") == ["elsewhere"])
        #expect(line.leave("l1") == ["r2"])
        #expect(line.leave("r1") == ["l2"])
    }

    @Test("a slot that one queue frees at a host serves the other")
    func freedForTheOther() {
        var line = LaneLine(connectionsPerHost: 1)
        let left = line.lane.join(limit: 1, limitPerHost: 1)
        let right = line.lane.join(limit: 1, limitPerHost: 1)
        _ = line.enter("l", left)
        #expect(line.enter("r", right).isEmpty)
        #expect(line.leave("l") == ["r"])
    }

    @Test("a request that stands in no line takes one of the host's connections")
    func outsiders() {
        var line = LaneLine(connectionsPerHost: 1)
        let queue = line.lane.join(limit: 5, limitPerHost: 5)
        line.lane.occupy(host: "a")
        #expect(line.enter("x", queue).isEmpty)
        #expect(line.admitted(line.lane.vacate(host: "a", now: line.now)) == ["x"])
        #expect(line.lane.vacate(host: "unknown", now: line.now).isEmpty)
        _ = line.leave("x")
        #expect(line.isEmpty)
    }

    @Test("a priority set while waiting counts, and the time of arrival stays")
    func priorityWhileWaiting() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        for name in ["on the wire", "1", "2", "3"] { _ = line.enter(name, queue) }
        #expect(line.setPriority(8, of: "3").isEmpty)
        #expect(line.setPriority(8, of: "2").isEmpty)
        #expect(line.leave("on the wire") == ["2"])
        #expect(line.setPriority(0, of: "3").isEmpty)
        #expect(line.leave("2") == ["1"])
        #expect(line.leave("1") == ["3"])
    }

    @Test("the priority of one on the wire, or of nobody, changes nothing")
    func priorityOfActive() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        _ = line.enter("active", queue)
        #expect(line.enter("waiting", queue).isEmpty)
        #expect(line.setPriority(-8, of: "active").isEmpty)
        #expect(line.setPriority(8, of: "nobody").isEmpty)
        #expect(line.leave("active") == ["waiting"])
    }

    @Test("leaving a place in line frees no slot; leaving as nobody or for an older round does nothing")
    func leaving() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        _ = line.enter("active", queue, round: 5)
        #expect(line.enter("1", queue).isEmpty)
        #expect(line.enter("2", queue).isEmpty)
        #expect(line.leave("1").isEmpty)
        #expect(line.leave("nobody").isEmpty)
        #expect(line.leave("active", round: 4).isEmpty)
        #expect(line.leave("active", round: 5) == ["2"])
        #expect(line.leave("active", round: 5).isEmpty)
    }

    @Test("the end of the lane lets everyone through who waits, the best first, and all who come later")
    func close() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        let held = line.lane.join(limit: 1, limitPerHost: 1)
        line.lane.hold(.suspended, member: held)
        _ = line.enter("active", queue)
        _ = line.enter("low", queue, priority: -4)
        _ = line.enter("held", held, host: "b")
        #expect(line.admitted(line.lane.close()) == ["held", "low"])
        #expect(line.enter("late", queue) == ["late"])
        #expect(line.admitted(line.lane.close()).isEmpty)
        #expect(line.leave("late").isEmpty)
        #expect(line.leave("low").isEmpty)
        #expect(line.leave("active").isEmpty)
        #expect(line.isEmpty)
    }

    @Test("a queue that is gone admits at once, and holds of it are of no effect")
    func part() {
        var line = LaneLine()
        let queue = line.lane.join(limit: 1, limitPerHost: 1)
        let other = line.lane.join(limit: 1, limitPerHost: 1)
        #expect(queue != other)
        line.lane.part(queue)
        line.lane.hold(.suspended, member: queue)
        #expect(line.enter("x", queue) == ["x"])
        #expect(line.release(.suspended, queue).isEmpty)
        #expect(line.leave("x").isEmpty)
        #expect(line.enter("y", other) == ["y"])
        #expect(line.lane.members.count == 1)
    }

    @Test("a hundred thousand requests to a thousand hosts come and go")
    func large() {
        var line = LaneLine(connectionsPerHost: 6)
        let queue = line.lane.join(limit: 64, limitPerHost: 6)
        let requests = (0..<100_000).map { _ in LaneLine.Request() }
        var wire: [ObjectIdentifier] = []
        func take(_ actions: [Lane.Action]) {
            for case .admit(let identifier, _) in actions { wire.append(identifier) }
        }
        for (index, request) in requests.enumerated() {
            take(
                line.lane.enter(
                    ObjectIdentifier(request), round: 1, member: queue, host: "host \(index % 1_000)",
                    priority: index % 5, now: line.now))
        }
        #expect(wire.count == 64)
        var served = 0
        while served < wire.count {
            take(line.lane.leave(wire[served], round: 1, now: line.now))
            served += 1
        }
        #expect(served == requests.count)
        #expect(line.isEmpty)
        #expect((line.lane.members[queue]?.heads.count ?? .max) <= 64)
    }
}
