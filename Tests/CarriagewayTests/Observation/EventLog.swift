import Foundation

@testable import Carriageway

/// An observer that keeps what it is told, and lets a test wait for ends.
final class EventLog: NetworkObserver {
    private let kept = Locked<[NetworkEvent]>([])
    let ends = Counter()

    var events: [NetworkEvent] { kept.withLock { $0 } }

    func observe(_ event: NetworkEvent) {
        kept.withLock { $0.append(event) }
        if case .finished = event.kind { ends.increment() }
    }

    /// What was told of one operation, in short words.
    func words(of operation: NetworkOperation) -> [String] {
        let identifier = operation.identifier
        return events.filter { $0.operation == identifier }.map { Self.word($0) }
    }

    static func word(_ event: NetworkEvent) -> String {
        switch event.kind {
        case .created: "created"
        case .inLine: "in line"
        case .held(let hold): "held \(hold.word)"
        case .resumed: "resumed"
        case .onWire: "on wire"
        case .response(let status): "response \(status)"
        case .redirect(let status, _): "redirect \(status)"
        case .retry: "retry"
        case .finished(.success(let status)): "finished \(status)"
        case .finished(.failure(let error)): "failed \(error.name)"
        case .missed(let count): "missed \(count)"
        }
    }
}

extension NetworkEvent.Hold {
    var word: String {
        switch self {
        case .suspended: "suspended"
        case .renewal: "renewal"
        case .retryAfter: "retryAfter"
        case .rateLimit: "rateLimit"
        }
    }
}
