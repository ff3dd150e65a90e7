import Foundation

@testable import Carriageway

/// Keeps how the tasks of a transport end, and nothing else of them.
final class TaskEnds: TransportEvents {
    let errors = Locked<[NetworkError?]>([])
    let count = Counter()

    func task(_ identifier: Int, received head: ReceivedHead) {}
    func task(_ identifier: Int, received data: Data) {}
    func task(_ identifier: Int, sentBodyBytes count: Int64, of expected: Int64) {}
    func task(_ identifier: Int, completedWith error: NetworkError?) {
        errors.withLock { $0.append(error) }
        count.increment()
    }
}
