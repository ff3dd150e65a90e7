import Foundation

/// What has come and has yet to be taken, and whether the network is to wait for that: pure, without lock.
struct Backlog {
    /// From how many bytes on the network is to pause, and up to how many it may go on.
    let (high, low): (Int, Int)
    private var pieces: [Data] = []
    private var isScheduled = false
    private var isPaused = false
    private(set) var count = 0

    init(high: Int) {
        (self.high, self.low) = (high, high / 4)
    }

    /// - Returns: whether someone has to be woken who takes it, and whether there is much.
    mutating func add(_ data: Data) -> (isDue: Bool, isHigh: Bool) {
        pieces.append(data)
        count += data.count
        return (schedule(), count > high)
    }

    /// - Returns: whether someone has to be woken; not if that is under way.
    mutating func schedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }

    /// All that waits; it counts until it is `written`.
    mutating func take() -> [Data] {
        if pieces.isEmpty { isScheduled = false }
        defer { pieces = [] }
        return pieces
    }

    /// What was taken has been dealt with.
    ///
    /// - Returns: whether a network that pauses is to go on.
    mutating func written() -> Bool {
        count = pieces.reduce(0) { $0 + $1.count }
        return goOn()
    }

    /// The network pauses.
    ///
    /// - Returns: whether it is to go on at once.
    mutating func paused() -> Bool {
        isPaused = true
        return goOn()
    }

    mutating func clear() {
        pieces = []
        count = 0
    }

    private mutating func goOn() -> Bool {
        guard isPaused, count <= low else { return false }
        isPaused = false
        return true
    }
}
