import Foundation

/// Lets operations of a session that wait for a retry go early, when there is a sign that it may succeed.
final class EarlyRetries: Sendable {
    private let waiting = Locked(WaitingRetries<NetworkOperation>())
    private let queue = DispatchQueue(label: "carriageway.early-retries")
    #if canImport(Network)
        private let networkReturn = Locked<NetworkReturn?>(nil)
    #endif

    func wait(_ operation: NetworkOperation, round: Int, host: String) {
        waiting.withLock { $0.wait(operation, round: round, host: host) }
        #if canImport(Network)
            networkReturn.withLock { known in
                if known == nil { known = NetworkReturn { [weak self] in self?.networkReturned() } }
            }
        #endif
    }

    /// How many wait; for tests.
    var count: Int { waiting.withLock { $0.count } }

    func leave(_ operation: ObjectIdentifier, round: Int) {
        waiting.withLock { $0.leave(operation, round: round) }
    }

    func succeeded(_ host: String) {
        wake(waiting.withLock { $0.succeeded(host) })
    }

    func networkReturned() {
        wake(waiting.withLock { $0.networkReturned() })
    }

    private func wake(_ released: [(client: NetworkOperation, round: Int)]) {
        guard !released.isEmpty else { return }
        // Elsewhere: this may be the transport's queue, and each of them may go on the wire at once.
        queue.async { for (operation, round) in released { operation.wake(round) } }
    }
}
