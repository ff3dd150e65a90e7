import CarriagewayTesting
import Foundation

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A token with a number, and an authenticator whose renewals a test decides.
struct NumberedToken: Sendable, Equatable {
    var number: Int

    var header: String { "Bearer token-\(number)" }
}

/// Renews by a closure; counts its renewals, and how many ran at once.
struct TestAuthenticator: Authenticator {
    typealias Renew = @Sendable (NumberedToken, NetworkSession) async throws -> NumberedToken

    final class Log: Sendable {
        private let counts = Locked((begun: 0, running: 0, peak: 0))
        let begun = Counter()

        var renewals: Int { counts.withLock { $0.begun } }
        var peak: Int { counts.withLock { $0.peak } }

        func begin() {
            counts.withLock { counts in
                counts.begun += 1
                counts.running += 1
                counts.peak = max(counts.peak, counts.running)
            }
            begun.increment()
        }

        func end() { counts.withLock { $0.running -= 1 } }
    }

    var hosts: Set<String> = ["127.0.0.1", "stub.test"]
    let log = Log()
    var expires: @Sendable (NumberedToken) -> Bool = { _ in false }
    var judge: @Sendable (HTTPURLResponse, Data) -> Bool = { response, _ in response.statusCode == 401 }
    var renew: Renew = { token, _ in NumberedToken(number: token.number + 1) }

    func apply(_ credential: NumberedToken, to request: inout URLRequest) {
        request.setValue(credential.header, forHTTPHeaderField: "Authorization")
    }

    func refresh(_ credential: NumberedToken, over session: NetworkSession) async throws -> NumberedToken {
        log.begin()
        defer { log.end() }
        return try await renew(credential, session)
    }

    func needsRefresh(_ credential: NumberedToken, now: ContinuousClock.Instant) -> Bool { expires(credential) }

    func isUnauthorized(_ response: HTTPURLResponse, _ data: Data) -> Bool { judge(response, data) }
}

/// A server that knows which token is good, and can let it die at any moment.
final class TokenOffice: Sendable {
    private struct State {
        var good: Int
        /// How many more requests the good token is taken for.
        var lifetime = Int.max
        /// And the tokens after it; nil for ever.
        var lifetimes: ClosedRange<Int>?
        var rejections: [String: Int] = [:]
        var order: [String] = []
    }

    let server: LoopbackServer
    private let state: Locked<State>

    /// - Parameter good: the number of the token that is good at first.
    init(good: Int = 1) throws {
        server = try LoopbackServer()
        state = Locked(State(good: good))
        server.on("/token") { [state] _ in
            .text("\(state.withLock { $0.good })")
        }
        server.on("/data*") { [state] request in Self.answer(request, state) }
        server.on("/open*") { request in .text(request.header("Authorization") ?? "none") }
    }

    private static func answer(_ request: LoopbackServer.Request, _ state: Locked<State>) -> LoopbackServer.Response {
        state.withLock { state in
            guard request.header("Authorization") == NumberedToken(number: state.good).header else {
                state.rejections[request.target, default: 0] += 1
                return .text("token is dead", status: 401)
            }
            state.order.append(request.target)
            state.lifetime -= 1
            if state.lifetime == 0 {
                state.good += 1
                state.lifetime = state.lifetimes.map { Int.random(in: $0) } ?? .max
            }
            return .text("ok")
        }
    }

    /// The good token is taken for so many requests, and then for none; those after it for as many as `later` says.
    func limitLifetime(to count: Int, later: ClosedRange<Int>? = nil) {
        state.withLock { state in
            state.lifetime = count
            state.lifetimes = later
        }
    }

    /// No token is good from now on but the next.
    func killToken() { state.withLock { $0.good += 1 } }

    /// How often each target was answered 401.
    var rejections: [String: Int] { state.withLock { $0.rejections } }
    /// The targets that were answered 200, in order.
    var order: [String] { state.withLock { $0.order } }

    /// Fetches the good token over the session, as an application would.
    var renew: TestAuthenticator.Renew {
        let url = server.url("/token")
        return { _, session in
            let data = try await session.data(for: URLRequest(url: url))
            return NumberedToken(number: Int(String(decoding: data, as: UTF8.self)) ?? 0)
        }
    }

    func request(_ path: String = "/data", method: String = "GET", body: Data? = nil) -> URLRequest {
        var request = URLRequest(url: server.url(path))
        request.httpMethod = method
        request.httpBody = body
        return request
    }
}
