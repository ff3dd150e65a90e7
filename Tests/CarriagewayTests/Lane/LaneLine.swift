import Foundation

@testable import Carriageway

/// A lane for tests, with requests that have names and a clock that stands until told.
struct LaneLine {
    final class Request: Sendable {}

    var lane: Lane.State
    var now = Moment.now
    private(set) var requests: [String: Request] = [:]

    init(connectionsPerHost: Int? = nil) {
        lane = Lane.State(connectionsPerHost: connectionsPerHost)
    }

    mutating func identifier(_ name: String) -> ObjectIdentifier {
        let request = requests[name] ?? Request()
        requests[name] = request
        return ObjectIdentifier(request)
    }

    /// The names of those who are admitted, in order.
    func admitted(_ actions: [Lane.Action]) -> [String] {
        actions.compactMap { action in
            guard case .admit(let identifier, _) = action else { return nil }
            return requests.first { ObjectIdentifier($0.value) == identifier }?.key
        }
    }

    mutating func enter(
        _ name: String, _ member: Lane.MemberID, host: String = "a", priority: Int = 0, round: Int = 1
    ) -> [String] {
        let identifier = identifier(name)
        return admitted(
            lane.enter(identifier, round: round, member: member, host: host, priority: priority, now: now))
    }

    mutating func leave(_ name: String, round: Int = 1) -> [String] {
        let identifier = identifier(name)
        return admitted(lane.leave(identifier, round: round, now: now))
    }

    mutating func confirm(_ name: String, round: Int = 1) -> (isConfirmed: Bool, admitted: [String]) {
        let identifier = identifier(name)
        let (isConfirmed, actions) = lane.confirm(identifier, round: round, now: now)
        return (isConfirmed, admitted(actions))
    }

    mutating func setPriority(_ priority: Int, of name: String) -> [String] {
        let identifier = identifier(name)
        return admitted(lane.setPriority(priority, of: identifier, now: now))
    }

    mutating func release(_ reason: Lane.Hold, _ member: Lane.MemberID) -> [String] {
        admitted(lane.release(reason, member: member, now: now))
    }

    mutating func pass(_ time: Duration) -> [String] {
        now = now.advanced(by: time)
        return admitted(lane.advance(to: now))
    }

    var isEmpty: Bool {
        lane.tickets.isEmpty && lane.hosts.isEmpty && lane.hostIDs.isEmpty
            && lane.members.values.allSatisfy { $0.buckets.isEmpty && $0.active == 0 }
    }
}
