import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The right sides of "Coming from Avenue".
struct ComingFromAvenueTests {
    @Test("parity: NetworkOperation(urlRequest:urlSession:maxRetries:allowEmptyData:callback:) on one shared session")
    func operation() async {
        let stage = Stage { _, number in .status(number < 3 ? 503 : 200) }
        let session = stage.session
        let request = request()
        let operation = NetworkOperation(request, session: session)
        operation.retryPolicy = .fixed(interval: .zero, maxRetries: 3)
        let called = Counter()
        operation.onCompletion { result in
            #expect((try? result.get().statusCode) == 200)
            called.increment()
        }
        OperationQueue().addOperation(operation)
        await called.wait(for: 1)
        #expect(operation.attempts.count == 3)
    }

    @Test("parity: NetworkPayload: the request, response, data, error, start and end time")
    func payload() async throws {
        let stage = Stage { _, _ in .status(200, headers: ["X-A": "1"], body: Data("x".utf8)) }
        let queue = NetworkQueue(session: stage.session) {
            $0.prepare = { $0.setValue("1", forHTTPHeaderField: "X-B") }
        }
        let operation = queue.send(request())
        let response = try await operation.response
        let (sent, http, duration) = (response.request, response.http, response.attempts[0].duration)
        #expect(sent.value(forHTTPHeaderField: "X-B") == "1" && response.data == Data("x".utf8))
        #expect(http.value(forHTTPHeaderField: "X-A") == "1" && duration >= .zero)
        #expect(response.attempts[0].started <= stage.time.date)
        #expect(operation.result?.error == nil)
    }

    @Test("parity: pausing the stream of requests while a token is fetched; queued requests authenticated later")
    func pausing() async throws {
        let stage = Stage { _, _ in .status(200) }
        let token = Locked("old")
        let queue = NetworkQueue(session: stage.session) {
            $0.prepare = { request in
                request.setValue(token.withLock { $0 }, forHTTPHeaderField: "Authorization")
            }
        }
        queue.isSuspended = true
        let waiting = queue.send(request())
        #expect(stage.transport.sent.isEmpty)
        token.withLock { $0 = "new" }
        queue.isSuspended = false
        _ = try await waiting.response
        #expect(stage.transport.sent.map { $0.request.value(forHTTPHeaderField: "Authorization") } == ["new"])
    }

    @Test(
        "parity: delegate form: challenges end with the server's answer, ServerTrustPolicy is ServerTrust",
        arguments: Wire.all)
    func challenges(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/", .text("who?", status: 401).header("WWW-Authenticate", "Basic realm=\"x\""))
        let queue = NetworkQueue(session: wire.session())
        let error = await failure { () async throws(NetworkError) in
            try await queue.data(for: URLRequest(url: server.url()))
        }
        guard case .endpointError(let response, let body) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(response.statusCode == 401 && body == Data("who?".utf8))
    }

    #if os(Linux)
        @Test("parity: ServerTrustPolicy is ServerTrust: what the transport cannot judge as asked it does not send")
        func serverTrust() async throws {
            let key = Data(repeating: 7, count: 32)
            let session = NetworkSession(configuration: .ephemeral, serverTrust: .pinnedPublicKeys([key]))
            let url = try #require(URL(string: "https://127.0.0.1:1/"))
            let error = await failure { () async throws(NetworkError) in
                try await session.data(for: URLRequest(url: url))
            }
            #expect(error?.name == "invalidRequest")
        }
    #endif
}
