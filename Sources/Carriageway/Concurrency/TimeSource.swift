import Foundation

/// Where a session gets its time from: the system's clock, or a virtual one in tests.
package protocol TimeSource: Sendable {
    /// The present on the monotonic clock; every delay and deadline counts on it.
    var now: ContinuousClock.Instant { get }

    /// The present by the calendar: for `Retry-After` dates and for the start of an attempt, never for delays.
    var date: Date { get }

    /// Calls `action` once, at `instant` or as soon after as possible, unless the timer is cancelled before.
    ///
    /// `action` is never called from inside this method.
    func schedule(at instant: ContinuousClock.Instant, action: @escaping @Sendable () -> Void) -> ScheduledTimer
}

/// A timer that has been set and can be taken back.
package struct ScheduledTimer: Sendable {
    private let onCancel: @Sendable () -> Void

    package init(onCancel: @escaping @Sendable () -> Void) {
        self.onCancel = onCancel
    }

    /// Takes the timer back and lets go of what its action holds. Harmless when it has fired.
    package func cancel() {
        onCancel()
    }
}

extension Duration {
    /// The longest time this package reckons with: a hundred years. Longer ones count as this, so that no sum overflows.
    static let longest = Duration.seconds(100 * 365 * 86_400)

    /// Negative counts as zero, more than ``longest`` as that.
    var saturated: Duration { min(max(self, .zero), .longest) }

    /// The duration as seconds.
    var inSeconds: Double {
        let parts = components
        return Double(parts.seconds) + Double(parts.attoseconds) / 1e18
    }

    /// A duration of so many seconds; not a number and negative count as zero, too many as ``longest``.
    static func saturating(seconds: Double) -> Duration {
        guard seconds > 0 else { return .zero }
        return seconds < longest.inSeconds ? .seconds(seconds) : .longest
    }
}
