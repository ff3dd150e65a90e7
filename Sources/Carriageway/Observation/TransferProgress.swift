import Foundation

/// The bytes of one direction of a request, or of a whole queue, and the `Progress` that tells of them, made when someone
/// asks for it: pure but for that.
struct TransferProgress {
    /// What is to be said to the `Progress`, outside every lock.
    struct Update: Sendable {
        let progress: Progress
        let completed: Int64
        /// -1 if not known.
        let total: Int64
        let bytesPerSecond: Double?

        func perform() { Progress.alone { say() } }

        private func say() {
            // Said late, after what came later: as by another thread than that which ends the operation.
            guard completed >= progress.completedUnitCount else { return }
            if total >= 0, progress.totalUnitCount != total { progress.totalUnitCount = total }
            progress.completedUnitCount = completed
            guard let bytesPerSecond else { return }
            progress.setUserInfoObject(NSNumber(value: bytesPerSecond), forKey: .throughputKey)
            guard bytesPerSecond > 0, total >= completed else { return }
            let rest = Double(total - completed) / bytesPerSecond
            progress.setUserInfoObject(NSNumber(value: rest), forKey: .estimatedTimeRemainingKey)
        }
    }

    private(set) var progress: Progress?
    /// Never falls back, also when an attempt begins anew.
    private(set) var bytes: Int64 = 0
    private(set) var expected: Int64 = -1
    private var rate = TransferRate()
    /// Whether an update is on its way; the bytes of one do not queue up behind the other.
    private var isUpdating = false

    /// The progress; the first time it is made, and says what has been so far: also when all is over, after which nobody
    /// would tell it.
    mutating func asked(_ make: () -> Progress) -> Progress {
        if let progress { return progress }
        let made = make()
        if expected >= 0 { made.totalUnitCount = expected }
        made.completedUnitCount = bytes
        progress = made
        return made
    }

    /// So many bytes have gone by in this attempt, of so many; -1 if that is not known.
    ///
    /// - Returns: how much was added, and whether somebody has to be told.
    mutating func moved(_ count: Int64, of total: Int64, at instant: Moment) -> (
        bytes: Int64, expected: Int64, isDue: Bool
    ) {
        let before = (bytes, expected)
        bytes = max(bytes, count)
        expected = total >= 0 ? max(total, bytes) : -1
        if progress != nil { rate.add(count, at: instant) }
        defer { isUpdating = progress != nil }
        return (
            bytes - before.0, max(expected, bytes) - max(before.1, before.0), progress != nil && !isUpdating
        )
    }

    /// What to say now.
    mutating func update() -> Update? {
        isUpdating = false
        return progress.map {
            Update(progress: $0, completed: bytes, total: expected, bytesPerSecond: rate.bytesPerSecond)
        }
    }

    /// All has come: a success is complete, whatever was announced.
    mutating func completed() -> Update? {
        bytes = max(bytes, 1)
        expected = bytes
        return progress.map {
            Update(progress: $0, completed: bytes, total: expected, bytesPerSecond: rate.bytesPerSecond)
        }
    }
}

extension Progress {
    #if canImport(FoundationNetworking)
        /// On Linux `Progress` has no lock of its own, and two threads that set its `userInfo` end the process. Nothing of the
        /// caller's runs in its setters there, as observers do on Apple's systems, where it has one.
        private static let turn = Locked(())

        fileprivate static func alone<Value>(_ body: () -> Value) -> Value { turn.withLock { _ in body() } }
    #else
        fileprivate static func alone<Value>(_ body: () -> Value) -> Value { body() }
    #endif

    /// Calls a closure when this is paused or resumed, the last time with what it is in the end.
    ///
    /// Foundation calls each handler on a thread of its own, that of the resuming perhaps before that of the pausing.
    func onPause(_ tell: @escaping @Sendable (_ isPaused: Bool) -> Void) {
        let follow: @Sendable () -> Void = { [weak self] in
            var told: Bool?
            while let isPaused = self?.isPaused, isPaused != told {
                tell(isPaused)
                told = isPaused
            }
        }
        pausingHandler = follow
        resumingHandler = follow
    }

    /// The speed of a transfer over its last seconds, in bytes a second; nil while it is not known.
    public var bytesPerSecond: Double? {
        Self.alone { (userInfo[.throughputKey] as? NSNumber)?.doubleValue }
    }
}
