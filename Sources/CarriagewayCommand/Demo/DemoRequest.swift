import Carriageway
import Foundation

/// A request of the demonstration, with what is expected of it.
final class DemoRequest: Sendable {
    let name: String
    /// Method and path.
    let line: String
    let operation: NetworkOperation
    /// The result in words, as ``outcome`` has it.
    let expected: String
    let expectedAttempts: Int
    private let timing: Locked<(start: ContinuousClock.Instant, duration: Duration?)>

    /// Begins to measure, and tells the timeline when the request ends.
    init(
        name: String, line: String, operation: NetworkOperation, expected: String, expectedAttempts: Int,
        timeline: Timeline
    ) {
        self.name = name
        self.line = line
        self.operation = operation
        self.expected = expected
        self.expectedAttempts = expectedAttempts
        timing = Locked((.now, nil))
        operation.onCompletion { _ in
            self.timing.withLock { $0.duration = .now - $0.start }
            timeline.add(name, self.ending)
        }
    }

    /// Returns once the request has ended and the timeline knows it: handlers run in the order in which they were added.
    func end() async {
        await withCheckedContinuation { continuation in
            operation.onCompletion { _ in continuation.resume() }
        }
    }

    /// From being added to the result; nil before that.
    var duration: Duration? { timing.withLock { $0.duration } }

    var isAsExpected: Bool { outcome == expected && operation.attempts.count == expectedAttempts }

    /// The result in a word or two.
    var outcome: String {
        switch operation.result {
        case .success(let response): "\(response.statusCode)"
        case .failure(.cancelled): "cancelled"
        case .failure(.dependencyFailed(let cause as NetworkError)) where cause.response?.statusCode == 404:
            "account failed"
        case .failure(let error): error.response.map { "\($0.statusCode)" } ?? "\(error)"
        case nil: "no result"
        }
    }

    private var ending: String {
        let attempts = operation.attempts.count
        switch operation.result {
        case .success: return "ends: \(outcome) after \(attempts) attempt\(attempts == 1 ? "" : "s")"
        case .failure(.dependencyFailed): return "ends without being sent: \(outcome)"
        case .failure(.cancelled): return "ends at once: cancelled"
        case .failure: return "ends: failed with \(outcome), not tried again"
        case nil: return "has not ended"
        }
    }
}

/// The table at the end.
struct DemoTable {
    let requests: [DemoRequest]

    var rows: [String] {
        [row("name", "request", "attempts", "result", "duration")]
            + requests.map { request in
                row(
                    request.name, request.line, "\(request.operation.attempts.count)", request.outcome,
                    request.duration.map { "\($0.inWholeMilliseconds) ms" } ?? "-")
            }
    }

    private func row(_ name: String, _ line: String, _ attempts: String, _ result: String, _ time: String) -> String {
        [
            name.padded(to: 10), line.padded(to: 16), attempts.padded(to: 8, .right), result.padded(to: 16),
            time.padded(to: 8, .right),
        ].joined(separator: "  ")
    }
}
