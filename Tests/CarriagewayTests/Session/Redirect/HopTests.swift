import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The hook of an exchange that is called for each hop, on a stub transport.
struct HopTests {
    private struct Refusal: Error {}

    private let stage = Stage { request, _ in
        switch request.url?.path {
        case "/same": .status(302, headers: ["Location": "/away"])
        case "/away": .status(307, headers: ["Location": "http://other.test/end"])
        default: .status(200)
        }
    }

    private func outcome(
        redirects: RedirectPolicy = .follow,
        onHop: @escaping @Sendable (ExchangeSettings.Hop) async throws -> URLRequest
    ) async -> Exchange.Outcome {
        var start = request("/same")
        start.setValue("Bearer old", forHTTPHeaderField: "Authorization")
        let settings = ExchangeSettings(redirects: redirects, onHop: onHop)
        return await withCheckedContinuation { continuation in
            Exchange(request: start, session: stage.session, settings: settings) { _, _, _ in
            } onEnd: {
                continuation.resume(returning: $0)
            }.start()
        }
    }

    @Test("it sees each hop in order, whether the origin changes, and sets what is sent")
    func order() async throws {
        let seen = Locked<[String]>([])
        let outcome = await outcome { hop in
            let before = hop.previous.value(forHTTPHeaderField: "Authorization") ?? "none"
            let now = hop.request.value(forHTTPHeaderField: "Authorization") ?? "none"
            let path = hop.request.url?.path ?? ""
            seen.withLock { $0.append("\(hop.response.statusCode) \(path) \(hop.changesOrigin) \(before) \(now)") }
            var request = hop.request
            request.setValue("Bearer for \(request.url?.host ?? "")", forHTTPHeaderField: "Authorization")
            return request
        }
        #expect(
            seen.withLock { $0 } == [
                "302 /away false Bearer old Bearer old", "307 /end true Bearer for stub.test none",
            ])
        let authorizations = stage.transport.sent.map { $0.request.value(forHTTPHeaderField: "Authorization") }
        #expect(authorizations == ["Bearer old", "Bearer for stub.test", "Bearer for other.test"])
        #expect(try outcome.result.get().redirects.map(\.statusCode) == [302, 307])
    }

    @Test("it comes after the redirect policy, which may spare it the trouble")
    func afterPolicy() async throws {
        let hops = Counter()
        let policy = RedirectPolicy.custom { response, request in response.statusCode == 302 ? request : nil }
        let outcome = await outcome(redirects: policy) { hop in
            hops.increment()
            return hop.request
        }
        #expect(hops.value == 1)
        #expect(try outcome.result.get().http.statusCode == 307)
    }

    @Test("what it throws is the failure of the attempt")
    func failure() async {
        let outcome = await outcome { _ in throw Refusal() }
        guard case .failure(.generalError(let error)) = outcome.result else {
            Issue.record("\(outcome.result)")
            return
        }
        #expect(error is Refusal)
        #expect(stage.transport.sent.count == 1)
    }
}
