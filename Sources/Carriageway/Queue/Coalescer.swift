import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Lets equal GETs that are under way at the same time share one transfer.
///
/// The transfer is an operation of its own, the leader, in no list but on the queue's lane. Those who asked, the followers,
/// wait for its result; each keeps its handlers, its timeout and its cancel. The leader has the highest priority of its
/// followers, and is cancelled when the last of them leaves. An entry is gone with its leader's end, failed or not.
final class Coalescer: Sendable {
    /// What makes two requests equal.
    struct Key: Hashable, Sendable {
        let url: String
        let headers: [String: String]
        let timeout: TimeInterval
        /// How often a credential had been set, so that nobody gets what was asked for as somebody else; nil if the
        /// request gets none.
        let logIns: Int?

        var isAuthenticated: Bool { logIns != nil }

        /// Nil for what must not be shared: commands, and what has a body.
        init?(_ request: URLRequest, logIns: Int?) {
            guard request.httpMethod ?? "GET" == "GET", request.httpBody == nil, request.httpBodyStream == nil,
                let url = request.url
            else { return nil }
            self.url = url.absoluteString
            headers = (request.allHTTPHeaderFields ?? [:]).reduce(into: [:]) { $0[$1.key.lowercased()] = $1.value }
            timeout = request.timeoutInterval
            self.logIns = logIns
        }
    }

    private struct Entry {
        let leader: NetworkOperation
        var followers: [ObjectIdentifier: (operation: NetworkOperation, round: Int)]

        var highestPriority: Operation.QueuePriority {
            let priorities = followers.values.map(\.operation.queuePriority.rawValue)
            return priorities.max().flatMap(Operation.QueuePriority.init) ?? .normal
        }
    }

    private let entries = Locked<[Key: Entry]>([:])

    /// The operation waits for the transfer of an equal request, which is begun if there is none.
    func join(_ follower: NetworkOperation, round: Int, request: URLRequest, key: Key, on queue: NetworkQueue) {
        // Made before the lock is taken, and let go of after it if it is of no use.
        let made = NetworkOperation(request)
        let (leader, isNew) = entries.withLock { entries in
            let known = entries[key]?.leader
            entries[key, default: Entry(leader: made, followers: [:])]
                .followers[ObjectIdentifier(follower)] = (follower, round)
            return (known ?? made, known == nil)
        }
        adjustPriority(key)
        guard isNew else { return }
        leader.isAuthenticated = key.isAuthenticated
        // The followers may be of another task than this one.
        leader.shared.withLock { $0.settings.renewing = [] }
        // Each follower has its own.
        leader.timeout = .longest
        // The leader keeps it, and so must not be kept by it.
        leader.mirrors { [weak self, weak leader] bytes, total, direction in
            guard let leader else { return }
            self?.moved(bytes, total, direction, key: key, leader: leader)
        }
        leader.whenEnded { [weak leader] result in
            guard let leader else { return }
            self.ended(result, leader.attempts, key: key, leader: leader)
        }
        leader.start(on: queue)
    }

    /// The operation has ended by itself: the transfer too, if it was the last.
    func leave(_ follower: NetworkOperation, key: Key) {
        let (unwanted, removed): (NetworkOperation?, Any?) = entries.withLock { entries in
            let removed = entries[key]?.followers.removeValue(forKey: ObjectIdentifier(follower))
            guard removed != nil, let entry = entries[key], entry.followers.isEmpty else { return (nil, removed) }
            entries[key] = nil
            return (entry.leader, removed)
        }
        // What it held must not end under the lock.
        _ = removed
        if let unwanted { unwanted.cancel() } else { adjustPriority(key) }
    }

    /// The priority of a follower has changed, or the followers have.
    func adjustPriority(_ key: Key) {
        // What calls out, if only into Foundation, is not under the lock: once more if another has changed it meanwhile.
        while let entry = entries.withLock({ $0[key] }) {
            let priority = entry.highestPriority
            guard entry.leader.queuePriority != priority else { return }
            entry.leader.queuePriority = priority
        }
    }

    /// The operation that makes the transfer, while it runs.
    func leader(of key: Key) -> NetworkOperation? { entries.withLock { $0[key]?.leader } }

    /// Whether nobody shares anything.
    var isEmpty: Bool { entries.withLock { $0.isEmpty } }

    private func followers(_ key: Key, of leader: NetworkOperation) -> [(operation: NetworkOperation, round: Int)] {
        entries.withLock { entries in
            guard let entry = entries[key], entry.leader === leader else { return [] }
            return Array(entry.followers.values)
        }
    }

    private func moved(
        _ bytes: Int64, _ total: Int64, _ direction: TransferDirection, key: Key, leader: NetworkOperation
    ) {
        for (follower, _) in followers(key, of: leader) { follower.mirror(bytes, of: total, direction) }
    }

    private func ended(
        _ result: Result<NetworkResponse, NetworkError>, _ attempts: [NetworkAttempt], key: Key,
        leader: NetworkOperation
    ) {
        let followers = followers(key, of: leader)
        let removed: Entry? = entries.withLock { entries in
            entries[key]?.leader === leader ? entries.removeValue(forKey: key) : nil
        }
        // Whoever joined between the two is in what was removed.
        let all = removed.map { Array($0.followers.values) } ?? followers
        for (follower, round) in all { follower.take(result, attempts, round: round) }
    }
}
