import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Secrets of authentication")
struct SecretsTests {
    /// What must not be found anywhere, each also as it looks in a Basic header or a form.
    private static let secrets = [
        "acc3ss/t0ken", "r3fresh/t0ken", "cl1ent/s3cret", "us3r/name", "pa55/word", "k3y/value", "n3w/acc3ss",
        "n3w/r3fresh",
        "aud1ence/value",
    ]

    private static var forms: [String] {
        let basic = ["app:\(FormEncoding.encode("cl1ent/s3cret"))", "us3r/name:pa55/word"]
        return secrets + secrets.map(FormEncoding.encode) + basic.map { Data($0.utf8).base64EncodedString() }
    }

    /// Everything that prints a value.
    private func texts(of value: some Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        var texts = [dumped, "\(value)", String(reflecting: value), String(describing: Optional(value)), "\([value])"]
        if let error = value as? any Error {
            texts += [error.localizedDescription, "\(error as NSError)", "\((error as NSError).userInfo)"]
            texts += wrappedTexts(of: NetworkError.authenticationFailed(error))
            texts += wrappedTexts(of: NetworkError.dependencyFailed(NetworkError.authenticationFailed(error)))
        }
        return texts
    }

    private func wrappedTexts(of error: NetworkError) -> [String] {
        var dumped = ""
        dump(error, to: &dumped)
        return [dumped, "\(error)", String(reflecting: error), error.localizedDescription]
    }

    private func expectNoSecret(in value: some Any, _ place: SourceLocation = #_sourceLocation) {
        for text in texts(of: value) {
            for secret in Self.forms {
                #expect(!text.contains(secret), sourceLocation: place)
            }
        }
    }

    private func authenticators(at url: URL) -> [OAuth2Authenticator] {
        let grants: [OAuth2Authenticator.Grant] = [
            .refreshToken, .clientCredentials, .password(user: "us3r/name", password: "pa55/word"),
        ]
        return grants.flatMap { grant in
            [OAuth2Authenticator.ClientAuthentication.basic, .body].map { authentication in
                OAuth2Authenticator(
                    tokenURL: url, clientID: "app", clientSecret: "cl1ent/s3cret", clientAuthentication: authentication,
                    grant: grant, parameters: ["audience": "aud1ence/value"], hosts: ["127.0.0.1"])
            }
        }
    }

    private let credential = OAuth2Credential(
        accessToken: "acc3ss/t0ken", refreshToken: "r3fresh/t0ken", lifetime: .seconds(60), scopes: ["read"])

    @Test("the search finds what is there")
    func search() {
        struct Open { let token = "acc3ss/t0ken" }
        #expect(texts(of: Open()).allSatisfy { $0.contains("acc3ss/t0ken") })
        #expect(Self.forms.contains("cl1ent%2Fs3cret"))
    }

    @Test("no value of authentication shows a secret")
    func values() throws {
        expectNoSecret(in: credential)
        expectNoSecret(in: OAuth2Credential(refreshToken: "r3fresh/t0ken"))
        expectNoSecret(in: try BasicAuthenticator.Credential(user: "us3r/name", password: "pa55/word"))
        expectNoSecret(in: OAuth2Authenticator.Grant.password(user: "us3r/name", password: "pa55/word"))
        expectNoSecret(in: Secret("acc3ss/t0ken"))
        for authenticator in authenticators(at: Made.url("https://auth.test/")) { expectNoSecret(in: authenticator) }
    }

    @Test("no error of a token endpoint shows a secret, whatever the server says", .overEveryWire)
    func errors() async throws {
        let server = try LoopbackServer()
        let answers = [200, 400, 401, 503].flatMap { status in
            Self.bodies.map { body in
                { @Sendable (request: LoopbackServer.Request) in
                    LoopbackServer.Response.data(
                        Data(body.replacingOccurrences(of: "ECHO", with: Self.echo(request)).utf8), status: status)
                }
            }
        }
        let session = Wire.session()
        var count = 0
        for answer in answers + [{ _ in .reset }, { _ in .raw(Data("HTTP/1.1 n3w/acc3ss\r\n\r\n".utf8)) }] {
            server.on("/token", answer)
            for authenticator in authenticators(at: server.url("/token")) {
                do {
                    expectNoSecret(in: try await authenticator.refresh(credential, over: session))
                } catch {
                    count += 1
                    expectNoSecret(in: error)
                }
            }
        }
        #expect(count == (answers.count + 2) * 6)
    }

    private static let bodies = [
        #"{"error":"ECHO","error_description":"ECHO","error_uri":"ECHO"}"#,
        #"{"error":"invalid_grant","error_description":"ECHO"}"#, #"{"error":{"message":"ECHO"}}"#, "<html>ECHO",
        #"{"access_token":"n3w/acc3ss","token_type":"n3w/acc3ss"}"#,
        #"{"access_token":"n3w/acc3ss\u0000","refresh_token":"n3w/r3fresh"}"#,
    ]

    /// What a server at fault may repeat: the form, raw and decoded, the `Authorization` header, and the old token.
    private static func echo(_ request: LoopbackServer.Request) -> String {
        let form = String(decoding: request.body, as: UTF8.self)
            // The audience is no secret to the endpoint.
            .replacingOccurrences(of: "audience=\(FormEncoding.encode("aud1ence/value"))&", with: "")
        let decoded = form.replacingOccurrences(of: "+", with: " ").removingPercentEncoding ?? ""
        let basic = request.header("Authorization") ?? ""
        return "\(form) \(decoded) \(basic) acc3ss/t0ken cl1ent%2Fs3cret"
    }

    @Test("no error of the others shows a secret")
    func otherErrors() async throws {
        let session = Stage().session
        do {
            _ = try BasicAuthenticator.Credential(user: "us3r/name:", password: "pa55/word")
            Issue.record("a colon was taken")
        } catch { expectNoSecret(in: error) }
        do {
            _ = try BasicAuthenticator.Credential(user: "us3r/name", password: "pa55/word\n")
            Issue.record("a line end was taken")
        } catch { expectNoSecret(in: error) }
        do {
            _ = try await APIKeyAuthenticator(hosts: []).refresh("k3y/value", over: session)
            Issue.record("a key was renewed")
        } catch { expectNoSecret(in: error) }
        do {
            _ = try await BearerTokenAuthenticator(hosts: [], token: { _ in "" }).refresh("acc3ss/t0ken", over: session)
            Issue.record("an empty token was taken")
        } catch { expectNoSecret(in: error) }
        expectNoSecret(in: BearerTokenAuthenticator(hosts: []) { _ in "acc3ss/t0ken" })
    }

    // MARK: In a queue

    @Test(
        "nothing that a queue hands out shows the credential, be it taken, turned down, or not renewed", .overEveryWire)
    func queue() async throws {
        let server = try LoopbackServer()
        server.on("/ok", .text("{}"))
        server.on("/denied", .status(401, headers: ["WWW-Authenticate": "Bearer"]))
        server.on("/moved", .redirect(to: "/ok"))
        server.on("/token", .status(400, body: Data(#"{"error":"invalid_grant"}"#.utf8)))
        let basic = try BasicAuthenticator.Credential(user: "us3r/name", password: "pa55/word")
        for authenticator in authenticators(at: server.url("/token")) {
            try await expectNoSecret(of: Authentication(authenticator, credential: credential), at: server)
        }
        try await expectNoSecret(
            of: Authentication(BasicAuthenticator(hosts: ["127.0.0.1"]), credential: basic), at: server)
        try await expectNoSecret(
            of: Authentication(APIKeyAuthenticator(hosts: ["127.0.0.1"]), credential: "k3y/value"), at: server)
        let bearer = BearerTokenAuthenticator(hosts: ["127.0.0.1"]) { _ in "n3w/acc3ss" }
        try await expectNoSecret(of: Authentication(bearer, credential: "acc3ss/t0ken"), at: server)
    }

    private func expectNoSecret<A: Authenticator>(of authentication: Authentication<A>, at server: LoopbackServer)
        async throws
    {
        let queue = NetworkQueue(session: Wire.session(), authentication: authentication) { $0.retryPolicy = .never }
        for path in ["/ok", "/moved", "/denied", "/ok"] {
            let operation = queue.send(URLRequest(url: server.url(path))) { _ in }
            do throws(NetworkError) {
                let response = try await operation.response
                expectNoSecret(in: response)
                expectNoSecret(in: NetworkError.decodingFailed(CocoaError(.coderInvalidValue), response))
                // So there was something to find.
                #expect(server.requests.last?.headers.contains { Self.carriesSecret($0.value) } == true)
            } catch {
                expectNoSecret(in: error)
            }
            expectNoSecret(in: operation)
            expectNoSecret(in: operation.attempts)
            expectNoSecret(in: operation.result as Any)
            expectNoSecret(in: authentication)
            expectNoSecret(in: queue)
            expectNoSecret(in: queue.session)
        }
    }

    private static func carriesSecret(_ value: String) -> Bool { forms.contains { value.contains($0) } }
}
