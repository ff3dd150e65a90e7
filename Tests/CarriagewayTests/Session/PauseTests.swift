import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Pausing a transfer and letting it go on, from several threads.
struct PauseTests {
    private func underWay() throws -> (NetworkOperation, Exchange, SilentTransport) {
        let session = NetworkSession(time: VirtualTime()) { SilentTransport(events: $0) }
        let operation = NetworkOperation(request(), session: session)
        operation.retryPolicy = .never
        operation.start()
        let exchange = try #require(operation.shared.withLock { $0.running.exchange })
        return (operation, exchange, try #require(session.transport as? SilentTransport))
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
