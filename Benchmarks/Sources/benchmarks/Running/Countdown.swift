import Foundation

/// Waits for a number of events, and hands out numbers to those who make them.
final class Countdown: @unchecked Sendable {
    private let condition = NSCondition()
    private var remaining: Int
    private var untaken: Int
    private var failures = 0

    init(_ count: Int) {
        remaining = count
        untaken = count
    }

    /// Takes one of the events upon oneself; false if all have been taken.
    func take() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        guard untaken > 0 else { return false }
        untaken -= 1
        return true
    }

    func count(isSuccess: Bool = true) {
        condition.lock()
        remaining -= 1
        if !isSuccess { failures += 1 }
        let isOver = remaining == 0
        condition.unlock()
        if isOver { condition.broadcast() }
    }

    /// - Returns: how many of the events were failures.
    @discardableResult
    func wait() -> Int {
        condition.lock()
        defer { condition.unlock() }
        while remaining > 0 { condition.wait() }
        return failures
    }
}
