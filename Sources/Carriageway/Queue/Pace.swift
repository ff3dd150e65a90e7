/// What has been taken of a ``RateLimit``, and how far a server has slowed it down: pure, without clock.
///
/// A token bucket, kept as the instant at which it is full again (the "generic cell rate algorithm"): nothing has to be
/// filled as time passes.
struct Pace {
    /// A server's 429.
    private struct Slowdown {
        /// The part of the rate that is left at `start`, when the server may be asked again.
        var part: Double
        var start: Moment
        /// Whether a request went out since; else a further 429 answers one from before.
        var isTried = false
    }

    private static let recovery = Duration.seconds(60)
    private static let leastPart = 1.0 / 16

    let limit: RateLimit
    /// When the bucket is full again; nil if nothing was ever taken.
    private var fullAt: Moment?
    private var slowdown: Slowdown?

    init(_ limit: RateLimit) {
        self.limit = limit
    }

    /// When the next request may go; nil for at once.
    func nextTurn(after now: Moment) -> Moment? {
        guard let fullAt else { return nil }
        // One that is slowed down has no bursts.
        let ahead = isSlow(at: now) ? .zero : limit.interval * (limit.burst - 1)
        let turn = fullAt.advanced(by: .zero - ahead)
        return turn > now ? turn : nil
    }

    /// A request goes.
    mutating func take(at now: Moment) {
        fullAt = max(fullAt ?? now, now).advanced(by: interval(at: now))
        if isSlow(at: now) { slowdown?.isTried = true } else { slowdown = nil }
    }

    /// A request that took its turn does not go after all.
    mutating func giveBack(at now: Moment) {
        fullAt = fullAt?.advanced(by: .zero - interval(at: now))
    }

    /// The server has answered with 429, and may be asked again at `start`.
    mutating func slowDown(until start: Moment, now: Moment) {
        if let slowdown, !slowdown.isTried {
            self.slowdown?.start = max(slowdown.start, start)
        } else {
            let part = max(part(at: now) / 2, Self.leastPart)
            slowdown = Slowdown(part: part, start: max(start, slowdown?.start ?? start))
        }
    }

    /// When nothing is left to remember.
    var restsAt: Moment? {
        let recovered = slowdown?.start.advanced(by: Self.recovery)
        guard let fullAt else { return recovered }
        return max(fullAt, recovered ?? fullAt)
    }

    private func isSlow(at now: Moment) -> Bool { part(at: now) < 1 }

    /// The part of the rate that is allowed.
    private func part(at now: Moment) -> Double {
        guard let slowdown else { return 1 }
        let passed = max((now - slowdown.start) / Self.recovery, 0)
        return min(slowdown.part + (1 - slowdown.part) * passed, 1)
    }

    private func interval(at now: Moment) -> Duration {
        let part = part(at: now)
        return part < 1 ? .saturating(seconds: limit.interval.inSeconds / part) : limit.interval
    }
}
