/// What runs for an operation now, and must be stopped when it ends.
struct RunningParts {
    var exchange: Exchange?
    var preparation: Task<Void, Never>?
    var deadlineTimer: ScheduledTimer?
    var retryTimer: ScheduledTimer?

    mutating func takeAll() -> RunningParts {
        defer { self = RunningParts() }
        return self
    }

    /// Whether the round's result is still wanted is the state's to say; this only ends what works for it.
    ///
    /// - Returns: whether `onRelease` will be called, when the task that is on the wire has ended.
    func stop(onRelease: @escaping @Sendable () -> Void) -> Bool {
        preparation?.cancel()
        deadlineTimer?.cancel()
        retryTimer?.cancel()
        return exchange?.abandon(onRelease: onRelease) ?? false
    }
}
