import Foundation

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One task, 1, of which nothing comes but what the test says; the session keeps its idle timeout.
final class SilentTransport: Transport {
    let events: any TransportEvents
    /// Opens the request's body, which is code of the caller's.
    private let open: @Sendable () -> Void
    /// What was told last of pausing.
    let isPaused = Locked(false)
    /// Called once in the middle of being told to pause or to go on: what happens then comes between the telling and its
    /// being done.
    let meanwhile = Locked<(@Sendable () -> Void)?>(nil)

    init(events: any TransportEvents, open: @escaping @Sendable () -> Void = {}) {
        (self.events, self.open) = (events, open)
    }

    let maxConnectionsPerHost = 1
    let takesIPv6Addresses = true
    let canPause = true

    func idleTimeoutToKeep(for request: URLRequest) -> Duration? { .seconds(request.timeoutInterval) }
    func start(_ request: URLRequest, body: TransportBody, claim: (_ identifier: Int) -> Bool) -> Bool {
        open()
        _ = claim(1)
        return true
    }
    func cancel(_ identifier: Int) { events.task(identifier, completedWith: .urlError(URLError(.cancelled))) }
    func pause(_ identifier: Int) { set(true) }
    func unpause(_ identifier: Int) { set(false) }
    func invalidate() {}

    private func set(_ isPaused: Bool) {
        let meanwhile = meanwhile.withLock { meanwhile in
            defer { meanwhile = nil }
            return meanwhile
        }
        meanwhile?()
        self.isPaused.withLock { $0 = isPaused }
    }
}
