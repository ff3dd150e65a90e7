import Foundation

/// The record of one attempt to get a response.
public struct NetworkAttempt: Sendable {
    /// How an attempt ended.
    public enum Outcome: Sendable {
        /// The response was accepted; with its status.
        case succeeded(statusCode: Int)
        /// The attempt failed.
        case failed(NetworkError)
    }

    /// What was measured of an attempt, on a monotonic clock. All but ``transfer`` is the same on all platforms, since the
    /// session measures it itself.
    public struct Timing: Sendable, Hashable {
        /// How long the attempt waited in line for its slot, holds included.
        public var inLine: Duration
        /// From the slot until the request was sent: `prepare`, and the credential.
        public var preparing: Duration
        /// From sending until the headers of the last response, redirects included; nil if none came. Name lookup, connection and
        /// TLS are part of it.
        public var firstByte: Duration?
        /// The bytes of bodies that came, decompressed, those of redirects too.
        public var bytesReceived: Int64
        /// The bytes of the request's body that were sent, as the transport tells; with redirects the most that one
        /// request had.
        public var bytesSent: Int64
        /// How many redirects were followed.
        public var redirects: Int
        /// What the transport measured of the last request, after redirects, down to the connection; nil where it cannot
        /// tell, as `URLSession` on Linux, and for a request that was cut off.
        public var transfer: TransferMetrics?
    }

    /// Counts from 1.
    public let number: Int

    /// When the attempt got its slot, by the calendar.
    public let started: Date

    /// From the slot to the end of the attempt, on a monotonic clock; waiting in line is not part of it.
    public let duration: Duration

    /// How it ended.
    public let outcome: Outcome

    /// What was measured on the way; nil for an attempt that ended before its request was sent.
    public var timing: Timing?

    /// Why no further attempt followed this failure; nil if one did, or if it succeeded.
    public internal(set) var notRetried: NotRetriedReason?
}

/// Why a failed attempt was not followed by another.
public enum NotRetriedReason: Sendable, Hashable, CustomStringConvertible {
    /// The operation was cancelled.
    case cancelled
    /// The failure is not transient: the same request would fail again.
    case notTransient
    /// The caller's `shouldRetry(after:)` or the policy's own closure said no.
    case declined
    /// The request may have reached the server and its method is not idempotent (RFC 9110, section 9.2.2).
    case nonIdempotent
    /// The body was a stream, which can be read only once.
    case bodyNotReplayable
    /// A reader of the response has got a part of it, which cannot be taken back.
    case partlyDelivered
    /// `maxRetries` are used up.
    case noAttemptsLeft
    /// The host's retry budget is used up: too many requests to it fail.
    case budget
    /// The server asked for a longer wait than the policy's `maxRetryAfter`; with that wait.
    case retryAfterTooLong(Duration)
    /// The queue's ``CircuitBreaker`` lets no request to the host pass.
    case circuitOpen
    /// The wait would outlast the operation's `timeout`.
    case deadline

    /// The reason in words.
    public var description: String {
        switch self {
        case .cancelled: "cancelled"
        case .notTransient: "not transient"
        case .declined: "declined"
        case .nonIdempotent: "not idempotent"
        case .bodyNotReplayable: "body cannot be read again"
        case .partlyDelivered: "a part of the response has been read"
        case .noAttemptsLeft: "no attempts left"
        case .budget: "budget"
        case .retryAfterTooLong(let wait): "Retry-After of \(wait.components.seconds) s is too long"
        case .circuitOpen: "circuit open"
        case .deadline: "deadline"
        }
    }
}
