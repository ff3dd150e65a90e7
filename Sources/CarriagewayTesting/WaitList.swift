import Foundation

/// Names one waiting caller, so that it can be let go before what it waits for has come.
struct WaitIdentifier: Hashable, Sendable {
    private let value = UUID()
}

/// Callers that wait for a condition, in order of arrival. A plain value: whoever guards it takes waiters out under its
/// lock and resumes them outside.
struct WaitList<Condition: Sendable>: Sendable {
    typealias Resume = @Sendable (Result<Void, any Error>) -> Void

    private struct Waiter {
        let identifier: WaitIdentifier
        let condition: Condition
        let resume: Resume
    }

    private var waiters: [Waiter] = []

    var isEmpty: Bool { waiters.isEmpty }

    mutating func add(_ identifier: WaitIdentifier, for condition: Condition, resume: @escaping Resume) {
        waiters.append(Waiter(identifier: identifier, condition: condition, resume: resume))
    }

    /// Takes out all whose condition is met.
    mutating func take(where isMet: (Condition) -> Bool) -> [Resume] {
        let met = waiters.filter { isMet($0.condition) }
        if !met.isEmpty { waiters.removeAll { isMet($0.condition) } }
        return met.map(\.resume)
    }

    mutating func take(_ identifier: WaitIdentifier) -> Resume? {
        waiters.firstIndex { $0.identifier == identifier }.map { waiters.remove(at: $0).resume }
    }
}

/// Suspends until `resume` is called. On cancellation `withdraw` must let go the waiter of that identifier, if it still
/// waits; then this throws `CancellationError`.
func suspendUntilResumed(
    register: (WaitIdentifier, @escaping WaitList<Void>.Resume) -> Void,
    withdraw: @escaping @Sendable (WaitIdentifier) -> Void
) async throws {
    let identifier = WaitIdentifier()
    try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            register(identifier) { continuation.resume(with: $0) }
            // A cancellation from before the registration found nobody to withdraw.
            if Task.isCancelled { withdraw(identifier) }
        }
    } onCancel: {
        withdraw(identifier)
    }
}
