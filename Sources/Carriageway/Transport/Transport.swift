import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// How bytes travel: one request out, one response in, and nothing else.
///
/// A transport does not follow redirects, does not retry, does not queue and knows no credential: all that is decided
/// above it. Each task has an identifier that is unique within the transport, and ends with exactly one `completed`
/// event, also when it was cancelled, unless `claim` refused it.
package protocol Transport: AnyObject, Sendable {
    /// How many connections a host gets at most; 0 or less means any number.
    var maxConnectionsPerHost: Int { get }

    /// Whether the host of a URL may be an IPv6 address.
    var takesIPv6Addresses: Bool { get }

    /// How long a transfer may be idle, if the session is to keep the time; nil if the transport does so itself.
    func idleTimeoutToKeep(for request: URLRequest) -> Duration?

    /// Calls `action` once, when the events of all that has come of a task by now have been told: for who keeps idle timeouts.
    func onceToldAll(of identifier: Int, _ action: @escaping @Sendable () -> Void)

    /// How long an attempt may take in all, if the session is to keep the time; nil if the transport does so itself.
    var wholeTimeoutToKeep: Duration? { get }

    /// Why the transport cannot send the request in the way that it was set up for; nil if it can.
    func refusal(of request: URLRequest) -> NetworkError?

    /// Makes a task and starts it.
    ///
    /// - Parameters:
    ///   - request: a request that ``RequestCheck`` has let pass, without its body.
    ///   - body: what is sent with it. It is opened anew for each call. The transport sends `Content-Length` if the length
    ///     is known. A body that cannot be opened or read, or has another length than it says, ends the task with that
    ///     failure, as a ``NetworkError`` of its own where the body throws one.
    ///   - claim: called once with the task's identifier before the task can send a byte or give an event. If it
    ///     answers false the task is dropped unsent. It runs under the transport's lock, so that it and
    ///     ``cancel(_:)`` have one order; it may take locks of its own but must not call the transport.
    /// - Returns: whether there is a transport left to send with; false once it was invalidated.
    func start(_ request: URLRequest, body: TransportBody, claim: (_ identifier: Int) -> Bool) -> Bool

    /// Ends the task; its `completed` event still comes. Harmless for tasks that have ended or never were.
    func cancel(_ identifier: Int)

    /// Whether ``pause(_:)`` has an effect.
    var canPause: Bool { get }

    /// Reads no more of the task's response from the network until ``unpause(_:)``. What is on its way still comes: up to
    /// a few hundred kilobytes. Harmless for tasks that have ended or never were, and where there is no pausing.
    func pause(_ identifier: Int)

    /// Takes ``pause(_:)`` back, however often that was called.
    func unpause(_ identifier: Int)

    /// Makes no task from now on; those that run end as they do. Lets go of the events' receiver after the last one.
    func invalidate()
}

/// Who is told what happens to a transport's tasks. The events of one task come one after the other.
package protocol TransportEvents: AnyObject, Sendable {
    /// Status and headers have come: at most once for each final response, never for a 1xx. What came before is void.
    func task(_ identifier: Int, received head: ReceivedHead)
    /// Something has come that is no event of its own, as a 1xx: the transfer is not idle.
    func taskIsAlive(_ identifier: Int)
    /// A part of the body has come, decompressed.
    func task(_ identifier: Int, received data: Data)
    /// A part of the request's body has been sent; the count is of all that was.
    func task(_ identifier: Int, sentBodyBytes count: Int64, of expected: Int64)
    /// The task has ended: no further event comes. Without an error the response is complete.
    func task(_ identifier: Int, completedWith error: NetworkError?)
    /// The same, from a transport that has measured the task.
    func task(_ identifier: Int, completedWith error: NetworkError?, metrics: TransferMetrics?)
}

extension TransportEvents {
    package func taskIsAlive(_ identifier: Int) {}

    package func task(_ identifier: Int, completedWith error: NetworkError?, metrics: TransferMetrics?) {
        task(identifier, completedWith: error)
    }
}

extension Transport {
    package func refusal(of request: URLRequest) -> NetworkError? { nil }
    package var wholeTimeoutToKeep: Duration? { nil }
    package func onceToldAll(of identifier: Int, _ action: @escaping @Sendable () -> Void) { action() }
}
