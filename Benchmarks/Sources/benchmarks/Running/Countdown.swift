import Foundation

/// Waits for a number of events, hands them out to those who make them, and keeps how long each took.
final class Countdown: @unchecked Sendable {
    private let condition = NSCondition()
    private var remaining: Int
    private var untaken: Int
    private var failures = 0
    /// Of the events that were taken, in nanoseconds.
    private var times: [UInt64] = []

    /// - Parameter keepsTimes: makes room for the times at once, so that to keep one costs little.
    init(_ count: Int, keepsTimes: Bool = false) {
        remaining = count
        untaken = count
        if keepsTimes { times.reserveCapacity(count) }
    }

    /// Takes one of the events upon oneself; nil if all have been taken.
    ///
    /// - Returns: the present, for ``count(since:isSuccess:)``.
    func take() -> UInt64? {
        condition.lock()
        defer { condition.unlock() }
        guard untaken > 0 else { return nil }
        untaken -= 1
        return Self.now
    }

    /// One that was taken has come to pass.
    func count(since start: UInt64, isSuccess: Bool) {
        let time = Self.now - start
        count(isSuccess: isSuccess) { $0.append(time) }
    }

    func count(isSuccess: Bool = true) {
        count(isSuccess: isSuccess) { _ in }
    }

    private func count(isSuccess: Bool, _ keep: (inout [UInt64]) -> Void) {
        condition.lock()
        keep(&times)
        remaining -= 1
        if !isSuccess { failures += 1 }
        let isOver = remaining == 0
        condition.unlock()
        if isOver { condition.broadcast() }
    }

    /// All events by one loop, which keeps the times itself and says how many failed.
    func run(_ loop: (UnsafeMutableBufferPointer<UInt64>) -> Int) {
        var times = [UInt64](repeating: 0, count: condition.withLock { remaining })
        let failures = times.withUnsafeMutableBufferPointer { loop($0) }
        condition.withLock {
            self.times = times
            self.failures = failures
            remaining = 0
        }
    }

    /// - Returns: how many of the events were failures.
    @discardableResult
    func wait() -> Int {
        condition.lock()
        defer { condition.unlock() }
        while remaining > 0 { condition.wait() }
        return failures
    }

    /// The times within which so many of a hundred events came to pass, in microseconds: p50, p95, p99, p100.
    var percentiles: [String: Double] {
        let sorted = condition.withLock { times }.sorted()
        guard !sorted.isEmpty else { return [:] }
        return [50, 95, 99, 100].reduce(into: [:]) { percentiles, part in
            percentiles["p\(part)"] = Double(sorted[(sorted.count * part - 1) / 100]) / 1_000
        }
    }

    private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}
