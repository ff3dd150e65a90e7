import Foundation

/// What the work of a ``RetryingOperation`` may throw to say what is to become of it.
public enum WorkFailure: LocalizedError, Sendable, CustomStringConvertible {
    /// Try again after this time; negative counts as 0. The policy's `maxRetries`, the budget and the timeout hold.
    case tryAgain(after: Duration, because: (any Error)? = nil)
    /// Do not try again.
    case final(any Error)
    /// The work has ended without a result; it is not tried again.
    case noData

    /// What happened, in one line. The errors within are not printed, only their own texts.
    public var description: String {
        switch self {
        case .tryAgain(let delay, let error?): "try again after \(delay): \(Self.text(of: error))"
        case .tryAgain(let delay, nil): "try again after \(delay)"
        case .final(let error): Self.text(of: error)
        case .noData: "no data"
        }
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }

    private static func text(of error: any Error) -> String {
        (error as? any LocalizedError)?.errorDescription ?? "\(type(of: error))"
    }
}
