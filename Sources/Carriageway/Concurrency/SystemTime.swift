import Dispatch
import Foundation

/// The system's clock: all timers of the process in one heap, served by one dispatch timer.
///
/// A timer of its own for each waiting operation would cost a hundred thousand dispatch sources; here setting and
/// cancelling are O(log n), and an idle heap costs nothing.
package final class SystemTime: TimeSource {
    package static let shared = SystemTime()

    private struct Entry: Comparable {
        let instant: ContinuousClock.Instant
        let number: Int

        static func < (left: Entry, right: Entry) -> Bool {
            (left.instant, left.number) < (right.instant, right.number)
        }
    }

    private struct State {
        var heap = Heap<Entry>()
        var actions: [Int: @Sendable () -> Void] = [:]
        var nextNumber = 0
        /// What the dispatch timer is set to, so that it is set again only for an earlier instant.
        var wakesAt: ContinuousClock.Instant?
    }

    private let state = Locked(State())
    private let queue = DispatchQueue(label: "carriageway.timers")
    /// Set up in `init`, and used on `queue` only.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer

    init() {
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [weak self] in self?.fire() }
        // Now, while there are descriptors: Dispatch ends the process if it gets none for its first timer on Linux.
        timer.schedule(deadline: .now() + .seconds(86_400))
        timer.activate()
    }

    package var now: ContinuousClock.Instant { .now }
    package var date: Date { Date() }

    package func schedule(at instant: ContinuousClock.Instant, action: @escaping @Sendable () -> Void)
        -> ScheduledTimer
    {
        let (number, isEarliest) = state.withLock { state in
            state.nextNumber += 1
            state.actions[state.nextNumber] = action
            state.heap.insert(Entry(instant: instant, number: state.nextNumber))
            return (state.nextNumber, state.wakesAt.map { instant < $0 } ?? true)
        }
        if isEarliest { queue.async { self.wakeForNext() } }
        return ScheduledTimer { self.cancel(number) }
    }

    private func cancel(_ number: Int) {
        // The action is released after the lock: letting go of it may end an operation.
        let released = state.withLock { state in
            let action = state.actions.removeValue(forKey: number)
            if state.heap.count > 64, state.heap.count > 2 * state.actions.count {
                let alive = state.actions
                state.heap.keep { alive[$0.number] != nil }
            }
            return action
        }
        _ = released
    }

    private func fire() {
        let present = now
        let due = state.withLock { state in
            state.wakesAt = nil
            var due: [@Sendable () -> Void] = []
            while let first = state.heap.first, first.instant <= present {
                state.heap.popFirst()
                if let action = state.actions.removeValue(forKey: first.number) { due.append(action) }
            }
            return due
        }
        for action in due { action() }
        wakeForNext()
    }

    /// Sets the dispatch timer for the earliest entry. Runs on `queue` only.
    private func wakeForNext() {
        let earliest: ContinuousClock.Instant? = state.withLock { state in
            while let first = state.heap.first, state.actions[first.number] == nil { state.heap.popFirst() }
            guard let first = state.heap.first else { return nil }
            if let wakesAt = state.wakesAt, wakesAt <= first.instant { return nil }
            state.wakesAt = first.instant
            return first.instant
        }
        guard let earliest else { return }
        // At most a day at once: the timer looks again, and no sum can overflow.
        let delay = min(max(earliest - now, .zero), .seconds(86_400))
        timer.schedule(deadline: .now() + delay.inSeconds, leeway: .microseconds(500))
    }
}
