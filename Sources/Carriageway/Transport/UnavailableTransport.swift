import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Why a transport cannot be had on this system: no libcurl, or one that is too old. Requests over a session with such a
/// transport fail with it, inside ``NetworkError/generalError(_:)``.
public struct TransportUnavailable: Error, LocalizedError, CustomStringConvertible, Equatable {
    /// What is missing.
    public let reason: String

    init(reason: String) {
        self.reason = reason
    }

    /// One sentence.
    public var description: String { "The transport is not available: \(reason)" }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}

/// Stands in for a transport that cannot be had: every task fails with the reason.
final class UnavailableTransport: Transport {
    private struct State {
        var nextIdentifier = 0
        var isInvalidated = false
    }

    private let reason: TransportUnavailable
    private let events: any TransportEvents
    private let queue = DispatchQueue(label: "carriageway.unavailable")
    private let state = Locked(State())

    init(reason: TransportUnavailable, events: any TransportEvents) {
        self.reason = reason
        self.events = events
    }

    var maxConnectionsPerHost: Int { 0 }
    var takesIPv6Addresses: Bool { true }
    var canPause: Bool { false }

    func idleTimeoutToKeep(for request: URLRequest) -> Duration? { nil }

    func start(_ request: URLRequest, body: TransportBody, claim: (_ identifier: Int) -> Bool) -> Bool {
        let (isInvalidated, claimed): (Bool, Int?) = state.withLock { state in
            guard !state.isInvalidated else { return (true, nil) }
            state.nextIdentifier += 1
            return (false, claim(state.nextIdentifier) ? state.nextIdentifier : nil)
        }
        if let claimed {
            queue.async { self.events.task(claimed, completedWith: .generalError(self.reason)) }
        }
        return !isInvalidated
    }

    func cancel(_ identifier: Int) {}
    func pause(_ identifier: Int) {}
    func unpause(_ identifier: Int) {}

    func invalidate() {
        state.withLock { $0.isInvalidated = true }
    }
}
