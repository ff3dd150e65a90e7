import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Exchange: the credential on the way of a redirect")
struct HopTests {
    private let stage = Stage { request, _ in
        switch request.url?.path {
        case "/same": .status(302, headers: ["Location": "/away"])
        case "/away": .status(307, headers: ["Location": "http://other.test/back"])
        case "/back": .status(302, headers: ["Location": "http://stub.test/end"])
        default: .status(200)
        }
    }

    private func outcome(_ hosts: Set<String>, apply: @escaping @Sendable (inout URLRequest) -> Void) async
        -> Exchange.Outcome
    {
        let stamp = CredentialStamp(generation: 1) { request in
            guard hosts.contains(request.url?.host ?? "") else { return false }
            apply(&request)
            return true
        }
        return await withCheckedContinuation { continuation in
            let settings = ExchangeSettings(stamp: stamp)
            Exchange(request: request("/same"), session: stage.session, settings: settings) { _, _, _ in
            } onEnd: {
                continuation.resume(returning: $0)
            }.start()
        }
    }

    @Test("it is put in anew for each request that goes to one of its hosts, and never goes along to another")
    func hosts() async {
        // A header whose name tells nobody that it is a secret.
        let outcome = await outcome(["stub.test"]) { $0.setValue("s3cret", forHTTPHeaderField: "Colour") }
        let sent = stage.transport.sent.map(\.request)
        #expect(sent.map { $0.value(forHTTPHeaderField: "Colour") } == ["s3cret", "s3cret", nil, "s3cret"])
        #expect(sent.compactMap(\.url?.path) == ["/same", "/away", "/back", "/end"])
        #expect(outcome.isAuthorized)
        #expect(outcome.request.value(forHTTPHeaderField: "Colour") == "s3cret")
    }

    @Test("an answer from a host that the credential did not go to says nothing of the credential")
    func elsewhere() async {
        let stage = Stage { request, _ in
            request.url?.path == "/same" ? .status(302, headers: ["Location": "http://other.test/"]) : .status(401)
        }
        let stamp = CredentialStamp(generation: 1) { request in request.url?.host == "stub.test" }
        let outcome: Exchange.Outcome = await withCheckedContinuation { continuation in
            let settings = ExchangeSettings(stamp: stamp)
            Exchange(request: request("/same"), session: stage.session, settings: settings) { _, _, _ in
            } onEnd: {
                continuation.resume(returning: $0)
            }.start()
        }
        #expect(!outcome.isAuthorized)
    }

    @Test("a credential that cannot be sent ends the attempt before anything leaves")
    func injection() async {
        let outcome = await outcome(["stub.test"]) { request in
            request.setValue("b", forHTTPHeaderField: "Colour: a\r\nX-Injected")
        }
        guard case .failure(.invalidRequest) = outcome.result else {
            Issue.record("\(outcome.result)")
            return
        }
        #expect(stage.transport.sent.isEmpty)
    }
}
