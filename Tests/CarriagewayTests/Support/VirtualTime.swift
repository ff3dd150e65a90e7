import Foundation

@testable import Carriageway

/// A clock that stands still until the test moves it.
final class VirtualTime: TimeSource {
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

    var elapsed: Duration { state.withLock { $0.elapsed } }
    var now: ContinuousClock.Instant { start.advanced(by: elapsed) }
    var date: Date { startDate.addingTimeInterval(elapsed.inSeconds) }

    /// How long until the earliest timer.
    var nextDelay: Duration? {
        state.withLock { state in state.timers.values.map(\.due).min().map { $0 - state.elapsed } }
    }

    func schedule(at instant: ContinuousClock.Instant, action: @escaping @Sendable () -> Void) -> ScheduledTimer {
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
    func advance(by duration: Duration) {
        let target = elapsed + duration
        while true {
            let next: (@Sendable () -> Void)? = state.withLock { state in
                guard let first = state.timers.min(by: { ($0.value.due, $0.key) < ($1.value.due, $1.key) }),
                    first.value.due <= target
                else {
                    state.elapsed = target
                    return nil
                }
                state.elapsed = max(state.elapsed, first.value.due)
                return state.timers.removeValue(forKey: first.key)?.action
            }
            guard let next else { return }
            next()
        }
    }

    /// Returns once so many timers have been set in all.
    func waitForTimers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.setCount < count { state.waiters.append((count, { continuation.resume() })) }
                return state.setCount >= count
            }
            if isThere { continuation.resume() }
        }
    }
}
