import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The authenticator alone, against a server that we did not write.
@Suite(
    "OAuth 2 against a real authorization server", .overEveryWire,
    .enabled(if: AuthorizationServer.isThere, "\(AuthorizationServer.variable) is not set; .ci/run starts one"))
struct AuthorizationServerTests {
    @Test("a password becomes a token that the API takes")
    func password() async throws {
        let server = try AuthorizationServer()
        let client = try await server.client()
        let credential = try await server.logIn(client)
        #expect(credential.scopes == ["read", "write"])
        #expect(credential.lifetime == .seconds(3_600))
        #expect(credential.refreshToken != nil)
        #expect(try await server.takes(credential))
        #expect(try await server.logIn(client, scopes: ["read"]).scopes == ["read"])
    }

    @Test("a wrong password is refused for good")
    func wrongPassword() async throws {
        let server = try AuthorizationServer()
        let client = try await server.client()
        let error = try await refusal {
            _ = try await server.authenticator(client)
                .credential(by: .password(user: client.user, password: "wrong"), over: server.session)
        }
        #expect(error?.code == .invalidGrant)
        #expect(error?.explanation?.isEmpty == false)
        #expect(error?.isFinal == true)
    }

    @Test("a refresh gives a new pair of tokens, and the old access token ends")
    func refresh() async throws {
        let server = try AuthorizationServer()
        let client = try await server.client()
        let first = try await server.logIn(client, scopes: ["read"])
        let second = try await server.authenticator(client).refresh(first, over: server.session)
        #expect(second.accessToken != first.accessToken)
        #expect(second.refreshToken != nil && second.refreshToken != first.refreshToken)
        #expect(second.scopes == ["read"])
        #expect(try await server.takes(second))
        #expect(try await !server.takes(first))
        #expect(try await server.tokens(of: client) == .init(refresh: 2, good: 1, access: 1))
    }

    @Test("an old refresh token is refused, and ends the new one too")
    func reuse() async throws {
        let server = try AuthorizationServer()
        let client = try await server.client()
        let authenticator = server.authenticator(client)
        let first = try await server.logIn(client)
        let second = try await authenticator.refresh(first, over: server.session)
        let reused = try await refusal { _ = try await authenticator.refresh(first, over: server.session) }
        #expect(reused?.code == .invalidGrant && reused?.isFinal == true)
        let revoked = try await refusal { _ = try await authenticator.refresh(second, over: server.session) }
        #expect(revoked?.code == .invalidGrant)
        #expect(try await server.tokens(of: client).good == 0)
    }

    @Test("a revoked refresh token is refused")
    func revokedToken() async throws {
        let server = try AuthorizationServer()
        let client = try await server.client()
        let credential = try await server.logIn(client)
        try await server.revoke(token: try #require(credential.refreshToken), of: client)
        let error = try await refusal {
            _ = try await server.authenticator(client).refresh(credential, over: server.session)
        }
        #expect(error?.code == .invalidGrant)
    }

    @Test("a client that was revoked, or has the wrong secret, is refused for good")
    func revokedClient() async throws {
        let server = try AuthorizationServer()
        let client = try await server.client()
        let credential = try await server.logIn(client)
        for authentication in [OAuth2Authenticator.ClientAuthentication.basic, .body] {
            let authenticator = server.authenticator(client, secret: "wrong", by: authentication)
            let error = try await refusal { _ = try await authenticator.refresh(credential, over: server.session) }
            #expect(error?.code == .invalidClient && error?.statusCode == 401)
        }
        try await server.revoke(client)
        let error = try await refusal {
            _ = try await server.authenticator(client).refresh(credential, over: server.session)
        }
        #expect(error?.code == .invalidClient)
        #expect(error?.isFinal == true)
    }

    @Test("client credentials give a token without a user, anew each time")
    func clientCredentials() async throws {
        let server = try AuthorizationServer()
        let client = try await server.client(["grant": "client-credentials"])
        let authenticator = server.authenticator(client, grant: .clientCredentials, scopes: ["read"])
        let first = try await authenticator.refresh(.pending, over: server.session)
        #expect(first.refreshToken == nil)
        #expect(first.scopes == ["read"])
        #expect(try await server.takes(first))
        let second = try await authenticator.refresh(first, over: server.session)
        #expect(second.accessToken != first.accessToken)
    }

    @Test("a grant or a scope that the client may not use is refused for good")
    func notAllowed() async throws {
        let server = try AuthorizationServer()
        let client = try await server.client()
        let grant = try await refusal {
            _ = try await server.authenticator(client, grant: .clientCredentials)
                .refresh(.pending, over: server.session)
        }
        #expect(grant?.code == .unauthorizedClient && grant?.isFinal == true)
        let scope = try await refusal { _ = try await server.logIn(client, scopes: ["everything"]) }
        #expect(scope?.code == .invalidScope && scope?.isFinal == true)
    }

    @Test(
        "a secret arrives whatever is in it, in the header and in the body",
        arguments: [OAuth2Authenticator.ClientAuthentication.basic, .body])
    func oddSecrets(authentication: OAuth2Authenticator.ClientAuthentication) async throws {
        let server = try AuthorizationServer()
        let secret = "s:&=+ %25~*\u{FC}\u{20AC}\"'/\\"
        let client = try await server.client([
            "client_secret": secret, "user": "\u{FC}ser &=\(UInt64.random(in: 0...UInt64.max))", "password": secret,
            "client_id": "app:+% \(UInt64.random(in: 0...UInt64.max))",
        ])
        let authenticator = server.authenticator(client, by: authentication)
        let credential = try await authenticator.credential(
            by: .password(user: client.user, password: client.password), over: server.session)
        #expect(try await server.takes(try await authenticator.refresh(credential, over: server.session)))
    }

    @Test("a public client says its name only")
    func publicClient() async throws {
        let server = try AuthorizationServer()
        let client = try await server.client(["client_type": "public"])
        let authenticator = server.authenticator(client, isPublic: true)
        let credential = try await authenticator.credential(
            by: .password(user: client.user, password: client.password), over: server.session)
        #expect(try await server.takes(try await authenticator.refresh(credential, over: server.session)))
    }

    @Test("with a password at hand a refused refresh token is no end")
    func passwordAfterRefusal() async throws {
        let server = try AuthorizationServer()
        let client = try await server.client()
        let authenticator = server.authenticator(
            client, grant: .password(user: client.user, password: client.password))
        let first = try await authenticator.refresh(.pending, over: server.session)
        try await server.revoke(token: try #require(first.refreshToken), of: client)
        let second = try await authenticator.refresh(first, over: server.session)
        #expect(try await server.takes(second))
    }
}
