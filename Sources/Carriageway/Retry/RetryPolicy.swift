import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Whether and when a failed attempt may be followed by another: a pure value.
///
/// Set for a queue in ``NetworkQueue/Configuration``, or for one operation. What it decides, in this order: is the
/// failure transient, or does the caller say so; may the method be sent twice; can the body be read again; are
/// attempts left; has the host's budget a retry left; how long to wait; does the wait end before the deadline.
public struct RetryPolicy: Sendable {
    /// How many times a request may be sent again: it is sent at most `1 + maxRetries` times. Below 0 counts as 0.
    public var maxRetries: Int {
        didSet { maxRetries = max(0, maxRetries) }
    }

    /// How long to wait before a retry, unless the server says more.
    public var backoff: Backoff

    /// The longest wait that a server may ask for with `Retry-After`; the request fails at once if it asks for more.
    public var maxRetryAfter: Duration = .seconds(60)

    /// Whether methods that are not idempotent, such as POST, may be sent again though the server may have seen them.
    public var retriesNonIdempotent = false

    /// Whether a POST or PATCH gets an `Idempotency-Key` header, the same for all its attempts, and may then be sent
    /// again (draft-ietf-httpapi-idempotency-key-header). A key set by the caller is kept.
    public var generatesIdempotencyKey = false

    let decide: (@Sendable (RetryContext) -> RetryDecision)?

    private init(
        maxRetries: Int, backoff: Backoff, decide: (@Sendable (RetryContext) -> RetryDecision)? = nil
    ) {
        self.maxRetries = max(0, maxRetries)
        self.backoff = backoff
        self.decide = decide
    }

    /// Three retries, exponential from half a second.
    public static let `default` = RetryPolicy.exponential()

    /// No retry.
    public static let never = RetryPolicy(maxRetries: 0, backoff: .fixed(.zero))

    /// So many retries, always after the same interval. A negative interval counts as 0.
    public static func fixed(interval: Duration, maxRetries: Int) -> RetryPolicy {
        RetryPolicy(maxRetries: maxRetries, backoff: .fixed(interval))
    }

    /// Retries after a random time between 0 and `base` × `multiplier`^(k − 1), at most `cap`, before retry k.
    ///
    /// - Parameters:
    ///   - base: the bound before the first retry; twice that after 429 and 503. 0 means at once.
    ///   - multiplier: how the bound grows; below 1, or not a number, counts as 1.
    ///   - cap: the highest bound.
    ///   - maxRetries: how many retries there are at most.
    ///   - jitter: how much of the wait is random: all of it by default.
    public static func exponential(
        base: Duration = .milliseconds(500), multiplier: Double = 2, cap: Duration = .seconds(20), maxRetries: Int = 3,
        jitter: Backoff.Jitter = .full
    ) -> RetryPolicy {
        RetryPolicy(
            maxRetries: maxRetries,
            backoff: .exponential(base: base, multiplier: multiplier, cap: cap, jitter: jitter))
    }

    /// Asks `decide` after each failure. The limits hold also for what it decides: method, body, attempts, budget,
    /// deadline. It runs off every queue of the session and must not block.
    public static func custom(
        maxRetries: Int = 3, backoff: Backoff = .exponential(),
        _ decide: @escaping @Sendable (RetryContext) -> RetryDecision
    ) -> RetryPolicy {
        RetryPolicy(maxRetries: maxRetries, backoff: backoff, decide: decide)
    }
}

/// What a custom policy is told of a failure.
public struct RetryContext: Sendable {
    /// Why the attempt failed.
    public let error: NetworkError
    /// The request as it was sent.
    public let request: URLRequest
    /// All attempts so far, the failed one last.
    public let attempts: [NetworkAttempt]
}

/// What a custom policy says to a failure.
public enum RetryDecision: Sendable, Hashable {
    /// As without a custom policy: by ``NetworkError/shouldRetry``.
    case automatic
    /// Try again after the policy's backoff.
    case retry
    /// Try again after this wait.
    case retryAfter(Duration)
    /// Do not try again.
    case doNotRetry
}
