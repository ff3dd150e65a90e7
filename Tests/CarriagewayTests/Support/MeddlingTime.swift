import CarriagewayTesting
import Foundation

@testable import Carriageway

/// A virtual clock with which a test gets into the middle of things: what it does when the present is asked for, or when a
/// timer has been set, comes between two steps of whoever does so.
final class MeddlingTime: TimeSource {
    private struct Deed {
        /// How many calls go by before it.
        var wait: Int
        let action: @Sendable () -> Void
    }

    let clock = VirtualTime()
    private let atPresent = Locked<Deed?>(nil)
    private let atTimer = Locked<Deed?>(nil)

    /// Does something once, in the call for the present behind so many others.
    func atPresent(after count: Int, _ action: @escaping @Sendable () -> Void) {
        atPresent.withLock { $0 = Deed(wait: count, action: action) }
    }

    /// - Returns: whether what was to be done in a call for the present has been done; it will not be any more.
    @discardableResult
    func forget() -> Bool {
        atPresent.withLock { deed in
            defer { deed = nil }
            return deed == nil
        }
    }

    /// Does something once, before the setting of the next timer returns.
    func atTimer(_ action: @escaping @Sendable () -> Void) {
        atTimer.withLock { $0 = Deed(wait: 0, action: action) }
    }

    var now: ContinuousClock.Instant {
        Self.run(atPresent)
        return clock.now
    }

    var date: Date { clock.date }

    func schedule(at instant: ContinuousClock.Instant, action: @escaping @Sendable () -> Void) -> ScheduledTimer {
        let timer = clock.schedule(at: instant, action: action)
        Self.run(atTimer)
        return timer
    }

    private static func run(_ deed: Locked<Deed?>) {
        let action: (@Sendable () -> Void)? = deed.withLock { deed in
            guard let due = deed else { return nil }
            deed?.wait -= 1
            guard due.wait == 0 else { return nil }
            deed = nil
            return due.action
        }
        action?()
    }
}

extension DispatchQueue {
    /// Does something on a thread of its own, and waits for it.
    static func elsewhere(_ action: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        Thread {
            action()
            done.signal()
        }.start()
        done.wait()
    }
}
