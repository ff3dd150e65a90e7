/// When a queue stops asking a host that does not answer.
///
/// ```swift
/// let queue = NetworkQueue(session: session) {
///     $0.circuitBreaker = CircuitBreaker(
///         failures: 5, coolDown: .seconds(30))
/// }
/// ```
///
/// After so many failed attempts in a row to a host the circuit opens: the queue's requests to it, those in line too, fail
/// at once with ``NetworkError/inaccessible(after:last:)``, which holds the last failure; nothing is sent. When the
/// cool-down is over one request is let through to see; the others still fail. If it succeeds the circuit is closed, if
/// it fails a new cool-down begins, and if it is cancelled the next request is let through instead.
///
/// A failure is one of the transport, such as a refused or lost connection or a timeout, or a status of 500 and above. Any
/// other response shows that the host is there and ends the row. Not counted are cancelled requests, operations whose
/// `timeout` ran out, and being offline.
public struct CircuitBreaker: Sendable, Hashable {
    /// How many failures in a row open the circuit; below 1 counts as 1.
    public let failures: Int

    /// How long the circuit stays open before a request is let through; negative counts as 0.
    public let coolDown: Duration

    /// A breaker for each host.
    public init(failures: Int = 5, coolDown: Duration = .seconds(30)) {
        self.failures = max(failures, 1)
        self.coolDown = coolDown.saturated
    }
}
