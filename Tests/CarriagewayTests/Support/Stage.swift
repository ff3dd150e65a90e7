import CarriagewayTesting
import Foundation

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// So that suites which need nothing else of it do not import the product.
typealias StubTransport = CarriagewayTesting.StubTransport
typealias VirtualTime = CarriagewayTesting.VirtualTime

/// A session over a stub transport and a virtual clock.
struct Stage {
    let time = VirtualTime()
    let session: NetworkSession
    let transport: StubTransport

    init(
        maxConnectionsPerHost: Int = 0, random: Double = 1,
        answer: @escaping @Sendable (URLRequest, Int) -> StubTransport.Answer = { _, _ in .none }
    ) {
        transport = StubTransport(maxConnectionsPerHost: maxConnectionsPerHost, answer: answer)
        session = NetworkSession(stub: transport, time: time, random: random)
    }
}
