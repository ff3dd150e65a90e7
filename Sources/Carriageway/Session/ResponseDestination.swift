import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Where the body of a response goes, if not into memory: a file, or a reader. There is one for an operation; its attempts
/// use it one after the other.
///
/// Of each attempt: `open`, then any number of `response` and `receive`, then once `close` or `abandon`. What comes in
/// between is told on the session's delegate queue, and must be quick.
protocol ResponseDestination: AnyObject, Sendable {
    /// An attempt begins.
    ///
    /// - Parameters:
    ///   - request: what is about to be sent.
    ///   - flow: called, on any thread, when the attempt is to go on or to fail.
    ///   - ready: called once, on any thread, with the request as it is to be sent; perhaps not if the attempt is
    ///     abandoned before.
    func open(
        _ request: URLRequest, flow: @escaping @Sendable (DestinationSignal) -> Void,
        ready: @escaping @Sendable (Result<URLRequest, NetworkError>) -> Void)

    /// Whether something of the body has gone to where it cannot be taken back, so that no further attempt may be made.
    var forbidsRetry: Bool { get }

    /// A response has come that is the answer. What an earlier one brought in this attempt is void.
    func response(_ response: HTTPURLResponse) -> Reception

    /// A part of a body that was taken has come.
    func receive(_ data: Data) -> Pressure

    /// The transport reads no more, because of `receive`. `flow` gets `.goOn` when it may, at once if it may already.
    func paused()

    /// There is much that waits, and the transport cannot pause: returns when it has been taken, if that is only a matter of
    /// the disk; at once if it takes a reader.
    func catchUp()

    /// The transfer has ended.
    ///
    /// - Parameters:
    ///   - error: why it failed; nil if all that the transport had has come.
    ///   - done: called once when the body has gone to where it goes; with the failure, if that did not work.
    func close(_ error: NetworkError?, done: @escaping @Sendable (NetworkError?) -> Void)

    /// The attempt is of no use any longer, or its response went into memory. Without effect if it has been settled.
    ///
    /// - Parameter done: called once, on any thread, when nothing is left of it that is not meant to stay.
    func abandon(done: @escaping @Sendable () -> Void)

    /// The response was found good, or not, after `close`: it becomes the result, or is forgotten.
    ///
    /// - Parameter done: called once, on any thread, with the file if there is one.
    func settle(isGood: Bool, done: @escaping @Sendable (Result<URL?, NetworkError>) -> Void)
}

/// What a destination tells the exchange of its own accord.
enum DestinationSignal: Sendable {
    /// There is room again.
    case goOn
    /// It can take no more.
    case fail(NetworkError)
}

/// What a destination makes of a response.
enum Reception: Sendable {
    /// The body goes there; `offset` bytes of it are there already, `total` is the length of the whole if known.
    case take(offset: Int64, total: Int64?)
    /// Into memory: it is an error's text, say.
    case memory
    /// The request is to be sent once more, without these headers.
    case sendAgain(without: [String])
    case fail(NetworkError)
}

/// Whether a destination takes more.
enum Pressure: Sendable {
    case none
    /// The transport should pause; if it cannot, the destination is to catch up.
    case full
    /// A transport that cannot pause fails with this.
    case overrun(NetworkError)
}
