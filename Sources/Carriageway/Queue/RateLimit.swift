/// How many requests may go out in a time: so many a second, and so many at once after a pause.
///
/// ```swift
/// let queue = NetworkQueue(session: session) {
///     $0.rateLimit = RateLimit(requestsPerSecond: 50, burst: 10)
///     $0.rateLimitPerHost = RateLimit(requestsPerSecond: 10, burst: 5)
/// }
/// ```
///
/// Each attempt counts when it gets its slot; redirects do not count. Requests that have to wait do so in line, without a
/// slot: higher priority first, first in first out within one.
///
/// A queue with a limit also learns from a 429 with `Retry-After` (RFC 6585, section 4): when the time that the server
/// asked for is over, the queue's requests to that host go at half the rate (of ``NetworkQueue/Configuration/rateLimitPerHost``, else of
/// ``NetworkQueue/Configuration/rateLimit``) and without bursts. The rate rises evenly to the full one within 60 seconds. A
/// further 429 halves it again, down to a sixteenth.
public struct RateLimit: Sendable, Hashable {
    /// How many requests a second go out in the long run. One an hour is the least: what is below, or not a number,
    /// counts as that. Infinity sets no limit.
    public let requestsPerSecond: Double

    /// How many requests may go out at the same time after a pause that was long enough; from 1 to a million.
    public let burst: Int

    /// A limit; numbers out of range count as the nearest that is in it.
    public init(requestsPerSecond: Double, burst: Int = 1) {
        self.requestsPerSecond = requestsPerSecond >= Self.least ? requestsPerSecond : Self.least
        self.burst = min(max(burst, 1), 1_000_000)
    }

    /// How long a request takes from the limit.
    var interval: Duration { .saturating(seconds: 1 / requestsPerSecond) }

    private static let least = 1.0 / 3_600
}
