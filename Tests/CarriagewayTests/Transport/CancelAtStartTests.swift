#if canImport(FoundationNetworking)
    import CarriagewayTesting
    import Foundation
    import FoundationNetworking
    import Testing

    @testable import Carriageway

    /// A task of `URLSession` that is cancelled while it is being started: on Linux that does not wait for the start.
    struct CancelAtStartTests {
        @Test("cancelled as soon as its identifier is known, it is not sent, and ends once", arguments: [false, true])
        func cancelled(hasBody: Bool) async throws {
            let server = try LoopbackServer()
            server.on("/", .text("x"))
            let ends = TaskEnds()
            let transport = URLSessionTransport(configuration: .ephemeral, events: ends)
            var sent = URLRequest(url: server.url())
            if hasBody { sent.httpMethod = "POST" }
            let canSend = transport.start(sent, body: hasBody ? .data(Data("x".utf8)) : .none) { identifier in
                // As another thread may, once it can see the identifier.
                transport.cancel(identifier)
                return true
            }
            #expect(canSend)
            await ends.count.wait(for: 1)
            transport.invalidate()
            #expect(ends.errors.withLock { $0 }.map { $0?.urlErrorCode } == [.cancelled])
            #expect(server.requestCount == 0)
        }
    }
#endif
