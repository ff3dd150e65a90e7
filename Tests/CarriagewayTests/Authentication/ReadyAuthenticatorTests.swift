import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Bearer token, Basic and API key")
struct ReadyAuthenticatorTests {
    private struct Gone: Error {}

    private func header<A: Authenticator>(
        _ authenticator: A, _ credential: A.Credential, in name: String = "Authorization"
    ) -> String? {
        var request = Made.request(headers: [name: "of the caller"])
        authenticator.apply(credential, to: &request)
        return request.value(forHTTPHeaderField: name)
    }

    @Test("a bearer token comes from the closure, over the session")
    func bearer() async throws {
        let stage = Stage()
        let authenticator = BearerTokenAuthenticator(hosts: ["stub.test"]) { session in
            session === stage.session ? "new" : "of another session"
        }
        #expect(header(authenticator, "old") == "Bearer old")
        #expect(try await authenticator.refresh("old", over: stage.session) == "new")
        #expect(authenticator.covers(Made.url("https://stub.test/")))
        #expect(!authenticator.needsRefresh("old", now: .now))
    }

    @Test("an empty bearer token is fetched first, never sent, and never taken for a new one")
    func emptyBearer() async {
        let authenticator = BearerTokenAuthenticator(hosts: []) { _ in "" }
        #expect(authenticator.needsRefresh("", now: .now))
        #expect(header(authenticator, "") == "of the caller")
        let stage = Stage()
        await #expect(throws: AuthenticationError.self) { try await authenticator.refresh("old", over: stage.session) }
    }

    @Test("what the closure throws comes out as it is")
    func bearerFails() async {
        let authenticator = BearerTokenAuthenticator(hosts: []) { _ in throw Gone() }
        await #expect(throws: Gone.self) { try await authenticator.refresh("old", over: Stage().session) }
    }

    @Test(
        "name and password are UTF-8 in Basic",
        arguments: [
            // RFC 7617, sections 2 and 2.1.
            ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123\u{A3}", "dGVzdDoxMjPCow=="),
            ("test", "a:b", "dGVzdDphOmI="), ("", "", "Og=="), ("u", "o\u{308}", "dTrDtg=="),
        ])
    func basic(user: String, password: String, token: String) throws {
        let credential = try BasicAuthenticator.Credential(user: user, password: password)
        #expect(header(BasicAuthenticator(hosts: []), credential) == "Basic \(token)")
    }

    @Test("a name with a colon, or control characters, cannot be sent")
    func basicFaults() throws {
        let error = #expect(throws: AuthenticationError.self) {
            try BasicAuthenticator.Credential(user: "a:b", password: "s3cret")
        }
        #expect(error?.description == "a user name with a colon cannot be sent by Basic authentication")
        for (user, password) in [("a\u{0}", "b"), ("a", "s3cret\r\n"), ("a", "\u{85}"), ("\u{7F}", "b")] {
            let error = #expect(throws: AuthenticationError.self) {
                try BasicAuthenticator.Credential(user: user, password: password)
            }
            #expect(error?.description.contains("control characters") == true)
        }
    }

    @Test("an API key goes into its header")
    func key() {
        #expect(header(APIKeyAuthenticator(hosts: []), "key", in: "X-API-Key") == "key")
        #expect(header(APIKeyAuthenticator(header: "apikey", hosts: []), "key", in: "apikey") == "key")
    }

    @Test("a password and a key cannot be renewed: for good")
    func noRenewal() async throws {
        let session = Stage().session
        let credential = try BasicAuthenticator.Credential(user: "a", password: "b")
        let first = await #expect(throws: AuthenticationError.self) {
            try await BasicAuthenticator(hosts: []).refresh(credential, over: session)
        }
        let second = await #expect(throws: AuthenticationError.self) {
            try await APIKeyAuthenticator(hosts: []).refresh("key", over: session)
        }
        #expect(first?.isFinal == true && second?.isFinal == true)
    }
}
