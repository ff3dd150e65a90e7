import Carriageway
import Foundation

/// A clock that stands still until a test moves it: for retries, timeouts and renewals without waiting.
///
/// ```swift
/// let time = VirtualTime()
/// let session = NetworkSession(stub: stub, time: time)
/// let queue = NetworkQueue(session: session)
/// let operation = queue.send(request)    // answered with 503
/// await time.waitForTimers(1)            // the retry is set
/// time.advance(by: time.nextDelay ?? .zero)
/// ```
public final class VirtualTime: TimeSource {
    private struct State {
        var elapsed = Duration.zero
        var timers: [Int: (due: Duration, action: @Sendable () -> Void)] = [:]
        var nextNumber = 0
        var waiters: [(count: Int, resume: @Sendable () -> Void)] = []
        var setCount = 0
    }

    private let state = Locked(State())
    private let start = ContinuousClock.now
    private let startDate = Date(timeIntervalSince1970: 1_000_000_000)

    /// A clock at its beginning, 9 September 2001 by the calendar.
    public init() {}

    /// How far it was moved.
    public var elapsed: Duration { state.withLock { $0.elapsed } }

    /// The present, for delays and deadlines.
    public var now: ContinuousClock.Instant { start.advanced(by: elapsed) }

    /// The present by the calendar.
    public var date: Date {
        let (seconds, attoseconds) = elapsed.components
        return startDate.addingTimeInterval(Double(seconds) + Double(attoseconds) / 1e18)
    }

    /// How long until the earliest timer; nil if none is set.
    public var nextDelay: Duration? {
        state.withLock { state in state.timers.values.map(\.due).min().map { $0 - state.elapsed } }
    }

    package func schedule(at instant: ContinuousClock.Instant, action: @escaping @Sendable () -> Void)
        -> ScheduledTimer
    {
        let due = instant - start
        let (number, ready) = state.withLock { state in
            state.nextNumber += 1
            state.setCount += 1
            state.timers[state.nextNumber] = (due, action)
            let ready = state.waiters.filter { $0.count <= state.setCount }
            state.waiters.removeAll { $0.count <= state.setCount }
            return (state.nextNumber, ready)
        }
        for waiter in ready { waiter.resume() }
        return ScheduledTimer { self.state.withLock { _ = $0.timers.removeValue(forKey: number) } }
    }

    /// Moves on, and fires what comes due on the way, in order.
    public func advance(by duration: Duration) {
        let target = elapsed + duration
        while true {
            let next: (@Sendable () -> Void)? = state.withLock { state in
                guard let first = state.timers.min(by: { ($0.value.due, $0.key) < ($1.value.due, $1.key) }),
                    first.value.due <= target
                else {
                    state.elapsed = max(state.elapsed, target)
                    return nil
                }
                state.elapsed = max(state.elapsed, first.value.due)
                return state.timers.removeValue(forKey: first.key)?.action
            }
            guard let next else { return }
            next()
        }
    }

    /// Returns once so many timers have been set in all, also those that have fired or were taken back since.
    ///
    /// A host whose 429 or 503 names a `Retry-After` is held by a timer of its own, set before that of the retry.
    public func waitForTimers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.setCount < count { state.waiters.append((count, { continuation.resume() })) }
                return state.setCount >= count
            }
            if isThere { continuation.resume() }
        }
    }
}
