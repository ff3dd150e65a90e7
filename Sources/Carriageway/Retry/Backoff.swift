import Foundation

/// The wait before a retry.
public struct Backoff: Sendable, Hashable {
    private enum Kind: Hashable {
        case fixed(Duration)
        case exponential(base: Duration, multiplier: Double, cap: Duration, jitter: Jitter)
    }

    /// The part of a wait that is random, from 0 (none) to 1 (all of it); other numbers count as the nearer bound.
    public struct Jitter: Sendable, Hashable, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral {
        let fraction: Double

        /// A jitter of the given part.
        public init(fraction: Double) {
            self.fraction = fraction.isNaN ? 0 : min(max(fraction, 0), 1)
        }

        /// A jitter of the given part.
        public init(floatLiteral value: Double) { self.init(fraction: value) }

        /// Full jitter, or none.
        public init(booleanLiteral value: Bool) { self.init(fraction: value ? 1 : 0) }

        /// The wait is random between 0 and its bound, which spreads the retries of many clients best.
        public static let full = Jitter(fraction: 1)

        /// The wait is its bound.
        public static let none = Jitter(fraction: 0)
    }

    private let kind: Kind

    /// Always the same wait; negative counts as 0.
    public static func fixed(_ interval: Duration) -> Backoff {
        Backoff(kind: .fixed(interval.saturated))
    }

    /// A wait that grows; see ``RetryPolicy/exponential(base:multiplier:cap:maxRetries:jitter:)``.
    public static func exponential(
        base: Duration = .milliseconds(500), multiplier: Double = 2, cap: Duration = .seconds(20),
        jitter: Jitter = .full
    ) -> Backoff {
        Backoff(
            kind: .exponential(
                base: base.saturated, multiplier: multiplier >= 1 ? multiplier : 1, cap: cap.saturated, jitter: jitter))
    }

    /// The wait before retry number `retry` (from 1).
    ///
    /// - Parameters:
    ///   - isBusy: whether the server said that it has too much to do (429 or 503): the base is doubled.
    ///   - random: a number between 0 and 1.
    func delay(beforeRetry retry: Int, isBusy: Bool, random: Double) -> Duration {
        switch kind {
        case .fixed(let interval):
            return interval
        case .exponential(let base, let multiplier, let cap, let jitter):
            guard base > .zero else { return .zero }
            let growth = pow(multiplier, Double(max(retry, 1)) - 1)
            let bound = min((base * (isBusy ? 2 : 1)).inSeconds * growth, cap.inSeconds)
            return .saturating(seconds: bound * (1 - jitter.fraction + jitter.fraction * random))
        }
    }
}
