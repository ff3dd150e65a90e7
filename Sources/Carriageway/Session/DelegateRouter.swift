import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Maps the identifiers of transport tasks back to the exchanges, and so to the operations, that own them.
///
/// Every event goes to its owner in O(1); an event of a task that nobody owns any longer is dropped.
final class DelegateRouter: TransportEvents {
    private let owners = Locked<[Int: Exchange]>([:])

    func register(_ exchange: Exchange, for identifier: Int) {
        owners.withLock { $0[identifier] = exchange }
    }

    func task(_ identifier: Int, received head: ReceivedHead) {
        owner(of: identifier)?.received(head, by: identifier)
    }

    func taskIsAlive(_ identifier: Int) {
        owner(of: identifier)?.isAlive(by: identifier)
    }

    func task(_ identifier: Int, received data: Data) {
        owner(of: identifier)?.received(data, by: identifier)
    }

    func task(_ identifier: Int, sentBodyBytes count: Int64, of expected: Int64) {
        owner(of: identifier)?.sent(count, by: identifier)
    }

    func task(_ identifier: Int, completedWith error: NetworkError?) {
        task(identifier, completedWith: error, metrics: nil)
    }

    func task(_ identifier: Int, completedWith error: NetworkError?, metrics: TransferMetrics?) {
        let owner = owners.withLock { $0.removeValue(forKey: identifier) }
        owner?.completed(by: identifier, error: error, metrics: metrics)
    }

    private func owner(of identifier: Int) -> Exchange? {
        owners.withLock { $0[identifier] }
    }
}
