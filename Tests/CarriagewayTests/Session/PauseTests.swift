import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Pausing a transfer and letting it go on, from several threads.
struct PauseTests {
    /// Keeps what it was told last.
    private final class PausedTransport: Transport {
        private let events: any TransportEvents
        let isPaused = Locked(false)
        /// Called in the middle of being told: what happens then comes between the telling and its being done.
        let meanwhile = Locked<(@Sendable () -> Void)?>(nil)

        init(events: any TransportEvents) { self.events = events }

        let maxConnectionsPerHost = 1
        let takesIPv6Addresses = true
        let canPause = true

        func idleTimeoutToKeep(for request: URLRequest) -> Duration? { nil }
        func start(_ request: URLRequest, body: TransportBody, claim: (_ identifier: Int) -> Bool) -> Bool { claim(1) }
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

    private final class Transports: Sendable {
        let made = Locked<PausedTransport?>(nil)

        func make(_ events: any TransportEvents) -> PausedTransport {
            let transport = PausedTransport(events: events)
            made.withLock { $0 = transport }
            return transport
        }
    }

    private func underWay() throws -> (NetworkOperation, Exchange, PausedTransport) {
        let transports = Transports()
        let session = NetworkSession(time: VirtualTime()) { transports.make($0) }
        let operation = NetworkOperation(request(), session: session)
        operation.retryPolicy = .never
        operation.start()
        let exchange = try #require(operation.shared.withLock { $0.running.exchange })
        return (operation, exchange, try #require(transports.made.withLock { $0 }))
    }

    @Test("who changes it while another is at it has the last word", arguments: [true, false])
    func between(pausesFirst: Bool) throws {
        let (operation, exchange, transport) = try underWay()
        exchange.hold(!pausesFirst)
        transport.meanwhile.withLock { $0 = { exchange.hold(!pausesFirst) } }
        exchange.hold(pausesFirst)
        #expect(transport.isPaused.withLock { $0 } == !pausesFirst)
        operation.cancel()
    }

    @Test("two threads that pause and resume leave the transport as the operation is")
    func threads() throws {
        let (operation, exchange, transport) = try underWay()
        for _ in 0..<2_000 {
            DispatchQueue.concurrentPerform(iterations: 2) { exchange.hold($0 == 0) }
            #expect(transport.isPaused.withLock { $0 } == exchange.state.withLock { $0.isHeld })
        }
        operation.cancel()
    }
}
