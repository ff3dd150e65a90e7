import Foundation

/// What happened to a request of a queue. It holds no secret: the URL is masked, headers and bodies are not part of it.
public struct NetworkEvent: Sendable {
    /// What happened.
    public enum Kind: Sendable {
        /// The operation was added to the queue.
        case created
        /// An attempt stands in line for a slot: at first, and again after a wait for a retry or a renewal.
        case inLine
        /// An attempt is kept off the wire, whether or not there is a slot. The reason may change; ``resumed`` or
        /// ``finished(_:)`` follows.
        case held(Hold)
        /// Nothing but the lack of a slot keeps the attempt off the wire any longer.
        case resumed
        /// The attempt's request is sent.
        case onWire
        /// Status and headers of a response have come, also of one that leads on to another URL.
        case response(status: Int)
        /// A redirect is followed; with its status and the masked URL that is asked next.
        case redirect(status: Int, to: String)
        /// The attempt failed, and another will follow after this time, or sooner; see
        /// ``NetworkQueue/Configuration/retriesEarly``.
        case retry(after: Duration, because: NetworkError)
        /// The operation has its result: the status of a success, or the failure.
        case finished(Result<Int, NetworkError>)
        /// So many events were dropped, since the observer did not keep up.
        case missed(Int)
    }

    /// Why an attempt is kept off the wire.
    public enum Hold: Sendable, Hashable {
        /// The queue is suspended.
        case suspended
        /// The credential is being renewed.
        case renewal
        /// The host has asked for time, with `Retry-After` after 429 or 503.
        case retryAfter
        /// The queue's rate limit.
        case rateLimit
    }

    /// Which operation it is: its ``NetworkOperation/identifier``; 0 for ``Kind/missed(_:)``.
    public let operation: Int

    /// What happened.
    public let kind: Kind

    /// The request's method; empty while there is no request yet, as before a dependency has ended.
    public let method: String

    /// The request's URL, masked by the queue's ``NetworkQueue/Configuration/secretMask``; empty while there is none.
    public let url: String

    /// The number of the attempt that this is about, from 1; 0 for the end of an operation of which nothing was sent.
    public let attempt: Int

    /// When it happened, on the monotonic clock.
    public let instant: ContinuousClock.Instant

    /// When it happened, by the calendar.
    public let date: Date
}

extension NetworkEvent: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The event in one line, without its time.
    public var description: String {
        if case .missed = kind { return "\(kind)" }
        let place = [method, url].filter { !$0.isEmpty }.joined(separator: " ")
        let line = "#\(operation) \(place.isEmpty ? "" : "\(place) ")attempt \(attempt): \(kind)"
        // What comes from elsewhere must not begin a line of its own.
        return String(
            line.map { $0.isNewline || $0.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F } ? " " : $0 })
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// The event in one line: what an error inside of it holds is not shown.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension NetworkEvent.Kind: CustomStringConvertible, CustomReflectable {
    /// What happened, in words, without secrets.
    public var description: String {
        switch self {
        case .created: "created"
        case .inLine: "in line"
        case .held(let hold): "held: \(hold)"
        case .resumed: "resumed"
        case .onWire: "on the wire"
        case .response(let status): "response \(status)"
        case .redirect(let status, let url): "redirect \(status) to \(url)"
        case .retry(let delay, let error): "retry in \(delay.inMilliseconds) ms: \(error.description)"
        case .finished(.success(let status)): "finished with \(status)"
        case .finished(.failure(let error)): "failed: \(error.description)"
        case .missed(let count): "\(count) events missed"
        }
    }

    /// The description: what an error holds is not shown.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension NetworkEvent.Hold: CustomStringConvertible {
    /// The reason in words.
    public var description: String {
        switch self {
        case .suspended: "the queue is suspended"
        case .renewal: "the credential is renewed"
        case .retryAfter: "the host asked for time"
        case .rateLimit: "rate limit"
        }
    }
}

extension Duration {
    fileprivate var inMilliseconds: Int64 {
        let parts = saturated.components
        return parts.seconds * 1_000 + parts.attoseconds / 1_000_000_000_000_000
    }
}
