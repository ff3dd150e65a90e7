import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Queues whose requests are authorized by a server that we did not write.
@Suite(
    "A queue against a real authorization server", .overEveryWire,
    .enabled(if: AuthorizationServer.isThere, "\(AuthorizationServer.variable) is not set; .ci/run starts one"))
struct AuthorizationServerQueueTests {
    private struct Who: Decodable { let user: String? }

    private let server: AuthorizationServer

    init() throws {
        server = try AuthorizationServer()
    }

    private func queue<A: Authenticator>(_ authentication: Authentication<A>) -> NetworkQueue {
        NetworkQueue(session: server.session, authentication: authentication) { $0.retryPolicy = .never }
    }

    /// How many of so many requests at once succeed.
    private func successes(_ count: Int, on queue: NetworkQueue, as user: String?) async -> Int {
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<count {
                group.addTask {
                    let who = try? await queue.value(for: server.get("api/read"), as: Who.self)
                    return who.map { $0.user == user } ?? false
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
    }

    @Test("C1: of forty requests with a token that has expired at the server one renews, and all succeed")
    func expired() async throws {
        let client = try await server.client()
        let credential = try await server.logIn(client)
        try await server.expireTokens(of: client)
        let queue = self.queue(Authentication(server.authenticator(client), credential: credential))
        #expect(await successes(40, on: queue, as: client.user) == 40)
        #expect(try await server.tokens(of: client) == .init(refresh: 2, good: 1, access: 1))
    }

    @Test("C11: a token that is known to have expired is renewed before anything is sent")
    func expiredAheadOfTime() async throws {
        let client = try await server.client()
        let refresh = try #require(try await server.logIn(client).refreshToken)
        let credential = OAuth2Credential(accessToken: "dead", refreshToken: refresh, lifetime: .zero)
        let queue = self.queue(Authentication(server.authenticator(client), credential: credential))
        let operations = (0..<20).map { _ in queue.send(server.get("api/read")) { _ in } }
        for operation in operations { #expect(try await operation.response.attempts.count == 1) }
        #expect(try await server.tokens(of: client).refresh == 2)
    }

    @Test("C8: each rotated refresh token is handed over before it is used, and serves after a restart")
    func rotation() async throws {
        let client = try await server.client()
        let authenticator = server.authenticator(client)
        var stored = try JSONEncoder().encode(
            OAuth2Credential(refreshToken: try await server.logIn(client).refreshToken ?? ""))
        for run in 1...4 {
            let credential = try JSONDecoder().decode(OAuth2Credential.self, from: stored)
            let authentication = Authentication(authenticator, credential: credential)
            let kept = Locked<[Data]>([])
            authentication.onCredentialChange = { credential in
                let data = (try? JSONEncoder().encode(credential)) ?? Data()
                kept.withLock { $0.append(data) }
            }
            try await server.expireTokens(of: client)
            #expect(await successes(5, on: queue(authentication), as: client.user) == 5)
            #expect(kept.withLock { $0.count } == 1)
            stored = try #require(kept.withLock { $0.last })
            #expect(try await server.tokens(of: client).refresh == 1 + run)
        }
    }

    @Test("C2: an old refresh token is refused once, signs out once, and ends the requests of both sides")
    func reuse() async throws {
        let client = try await server.client()
        let authenticator = server.authenticator(client)
        let stolen = try await server.logIn(client)
        let other = try await authenticator.refresh(stolen, over: server.session)

        let authentication = Authentication(authenticator, credential: stolen)
        let signOuts = Counter()
        authentication.onSignedOut = { _ in signOuts.increment() }
        let queue = self.queue(authentication)
        let operations = (0..<20).map { _ in queue.send(server.get("api/read")) { _ in } }
        for operation in operations {
            let error = try await refusal { _ = try await operation.response }
            #expect(error?.code == .invalidGrant)
        }
        await signOuts.wait(for: 1)
        #expect(authentication.credential == nil)
        let later = try await refusal { _ = try await queue.data(for: server.get("api/read")) }
        #expect(later?.code == .invalidGrant)
        #expect(signOuts.value == 1)

        // The server ended the other side's tokens as well, as it has to. A log-in mends it.
        try await server.expireTokens(of: client)
        let theirs = self.queue(Authentication(authenticator, credential: other))
        let error = try await refusal { _ = try await theirs.data(for: server.get("api/read")) }
        #expect(error?.code == .invalidGrant)
        authentication.credential = try await server.logIn(client)
        #expect(await successes(5, on: queue, as: client.user) == 5)
    }

    @Test("a revoked client ends the credential")
    func revokedClient() async throws {
        let client = try await server.client()
        let authentication = Authentication(
            server.authenticator(client), credential: try await server.logIn(client))
        try await server.revoke(client)
        let error = try await refusal {
            _ = try await self.queue(authentication).data(for: server.get("api/read"))
        }
        #expect(error?.code == .invalidClient)
        #expect(authentication.credential == nil)
    }

    @Test("client credentials are fetched by the first request, and again when they have expired")
    func clientCredentials() async throws {
        let client = try await server.client(["grant": "client-credentials"])
        let authentication = Authentication(
            server.authenticator(client, grant: .clientCredentials, scopes: ["read"]), credential: .pending)
        let queue = self.queue(authentication)
        for run in 1...2 {
            #expect(await successes(20, on: queue, as: nil) == 20)
            #expect(try await server.tokens(of: client).access == run)
            try await server.expireTokens(of: client)
        }
    }

    @Test("a token for too little is not renewed")
    func insufficientScope() async throws {
        let client = try await server.client()
        let credential = try await server.logIn(client, scopes: ["read"])
        let queue = self.queue(Authentication(server.authenticator(client), credential: credential))
        let error = await failure { () async throws(NetworkError) in
            try await queue.data(for: server.get("api/write"))
        }
        #expect(error?.response?.statusCode == 403)
        #expect(try await server.tokens(of: client).refresh == 1)
    }

    @Test("a body that was answered 401 is sent again whole")
    func body() async throws {
        struct Size: Decodable { let length: Int }
        let client = try await server.client()
        let credential = try await server.logIn(client)
        try await server.expireTokens(of: client)
        let queue = self.queue(Authentication(server.authenticator(client), credential: credential))
        var request = server.get("api/read")
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode(["text": String(repeating: "a", count: 100_000)])
        #expect(try await queue.value(for: request, as: Size.self).length == 100_000)
    }

    @Test("a closure that gets the token does as well")
    func bearer() async throws {
        let client = try await server.client()
        let authenticator = BearerTokenAuthenticator(hosts: ["127.0.0.1"]) { [server] _ in
            try await server.logIn(client).accessToken
        }
        let queue = self.queue(Authentication(authenticator, credential: ""))
        #expect(await successes(10, on: queue, as: client.user) == 10)
        try await server.expireTokens(of: client)
        #expect(await successes(10, on: queue, as: client.user) == 10)
        #expect(try await server.tokens(of: client).access == 2)
    }

    @Test("without its server a renewal keeps the credential, which serves once the server is back")
    func unreachable() async throws {
        let client = try await server.client()
        let credential = try await server.logIn(client)
        try await server.expireTokens(of: client)
        let nowhere = OAuth2Authenticator(
            tokenURL: try #require(URL(string: "http://127.0.0.1:9/o/token/")), clientID: client.client_id,
            clientSecret: client.client_secret, hosts: ["127.0.0.1"])
        let authentication = Authentication(nowhere, credential: credential)
        let error = await failure { () async throws(NetworkError) in
            try await self.queue(authentication).data(for: server.get("api/read"))
        }
        #expect(error?.name == "authenticationFailed")
        let kept = try #require(authentication.credential)
        let queue = self.queue(Authentication(server.authenticator(client), credential: kept))
        #expect(await successes(5, on: queue, as: client.user) == 5)
    }
}
