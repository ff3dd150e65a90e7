import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("OAuth 2 against a server", .overEveryWire)
struct OAuth2AuthenticatorTests {
    private let server: LoopbackServer
    private let session = Wire.session()

    init() throws {
        server = try LoopbackServer()
    }

    private func authenticator(
        secret: String? = "s3cret", by authentication: OAuth2Authenticator.ClientAuthentication = .basic,
        grant: OAuth2Authenticator.Grant = .refreshToken, scopes: [String] = [], parameters: [String: String] = [:],
        at tokenURL: URL? = nil
    ) -> OAuth2Authenticator {
        OAuth2Authenticator(
            tokenURL: tokenURL ?? server.url("/token"), clientID: "app", clientSecret: secret,
            clientAuthentication: authentication, grant: grant, scopes: scopes, parameters: parameters,
            hosts: ["api.example.com"])
    }

    private let old = OAuth2Credential(accessToken: "a0", refreshToken: "r0", scopes: ["read"])

    private func answer(_ text: String, status: Int = 200) {
        server.on("/token", .data(Data(text.utf8), contentType: "application/json", status: status))
    }

    private func error(_ authenticator: OAuth2Authenticator? = nil) async -> (any Error)? {
        do {
            _ = try await (authenticator ?? self.authenticator()).refresh(old, over: session)
            return nil
        } catch {
            return error
        }
    }

    private func form(_ request: LoopbackServer.Request) -> String { String(decoding: request.body, as: UTF8.self) }

    @Test("a refresh is a form, the client in the Authorization header")
    func refresh() async throws {
        answer(#"{"access_token":"a1","refresh_token":"r1","token_type":"bearer","expires_in":60}"#)
        let credential = try await authenticator().refresh(old, over: session)
        #expect(credential.accessToken == "a1")
        #expect(credential.refreshToken == "r1")
        #expect(credential.scopes == ["read"])
        #expect(credential.lifetime == .seconds(60))
        let request = try #require(server.requests.first)
        #expect(server.requestCount == 1)
        #expect(request.method == "POST")
        #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
        #expect(request.header("Accept") == "application/json")
        #expect(request.header("Authorization") == "Basic \(Data("app:s3cret".utf8).base64EncodedString())")
        #expect(form(request) == "grant_type=refresh_token&refresh_token=r0")
    }

    @Test("the client goes into the body where it is to, and a public client says its name only")
    func clients() async throws {
        answer(#"{"access_token":"a1"}"#)
        _ = try await authenticator(by: .body, scopes: ["b", "a"]).refresh(old, over: session)
        _ = try await authenticator(secret: nil).refresh(old, over: session)
        _ = try await authenticator(secret: nil, by: .body).refresh(old, over: session)
        let forms = server.requests.map(form)
        #expect(
            forms == [
                "client_id=app&client_secret=s3cret&grant_type=refresh_token&refresh_token=r0&scope=b+a",
                "client_id=app&grant_type=refresh_token&refresh_token=r0",
                "client_id=app&grant_type=refresh_token&refresh_token=r0",
            ])
        #expect(server.requests.allSatisfy { $0.header("Authorization") == nil })
    }

    @Test("whatever is in a name, a secret or a token arrives")
    func encoding() async throws {
        answer(#"{"access_token":"a1"}"#)
        let authenticator = OAuth2Authenticator(
            tokenURL: server.url("/token?tenant=1"), clientID: "my app:ü", clientSecret: "s:&=+ %~",
            grant: .refreshToken, parameters: ["audience": "https://a.test/?x=1&y", "grant_type": "none"], hosts: [])
        _ = try await authenticator.refresh(OAuth2Credential(refreshToken: "r&=+\r\n%20 ä"), over: session)
        let request = try #require(server.requests.first)
        let basic = Data("my+app%3A%C3%BC:s%3A%26%3D%2B+%25%7E".utf8).base64EncodedString()
        #expect(request.header("Authorization") == "Basic \(basic)")
        #expect(
            form(request)
                == "audience=https%3A%2F%2Fa.test%2F%3Fx%3D1%26y&grant_type=refresh_token"
                + "&refresh_token=r%26%3D%2B%0D%0A%2520+%C3%A4")
        #expect(request.query == ["tenant": "1"])
    }

    @Test("client credentials ask anew each time, and need no token")
    func clientCredentials() async throws {
        answer(#"{"access_token":"a1"}"#)
        let authenticator = authenticator(grant: .clientCredentials, scopes: ["read", "write"])
        #expect(authenticator.needsRefresh(.pending, now: .now))
        let first = try await authenticator.refresh(.pending, over: session)
        #expect(first.scopes == ["read", "write"])
        _ = try await authenticator.refresh(old, over: session)
        let expected = "grant_type=client_credentials&scope=read+write"
        #expect(server.requests.map(form) == [expected, expected])
    }

    @Test("a password is sent when there is no refresh token, or when the server does not take it")
    func password() async throws {
        let authenticator = authenticator(grant: .password(user: "ada", password: "pass word"))
        answer(#"{"access_token":"a1","refresh_token":"r1"}"#)
        let first = try await authenticator.refresh(.pending, over: session)
        #expect(first.refreshToken == "r1")
        _ = try await authenticator.refresh(first, over: session)
        let byPassword = "grant_type=password&password=pass+word&username=ada"
        #expect(server.requests.map(form) == [byPassword, "grant_type=refresh_token&refresh_token=r1"])
        server.resetRecords()

        server.on(
            "/token", .data(Data(#"{"error":"invalid_grant"}"#.utf8), status: 400),
            .data(Data(#"{"access_token":"a2"}"#.utf8)))
        let second = try await authenticator.refresh(first, over: session)
        #expect(second.accessToken == "a2")
        // The one that the server does not take is not kept.
        #expect(second.refreshToken == nil)
        #expect(server.requests.map(form).last == byPassword)
        server.resetRecords()

        server.on("/token", .data(Data(#"{"error":"invalid_grant"}"#.utf8), status: 503))
        await #expect(throws: OAuth2Error.self) { try await authenticator.refresh(first, over: session) }
        #expect(server.requestCount == 1)
    }

    @Test("a first token can be fetched by another grant than the one it is renewed by")
    func logIn() async throws {
        answer(#"{"access_token":"a1","refresh_token":"r1"}"#)
        let credential = try await authenticator().credential(
            by: .password(user: "ada", password: "word"), over: session)
        #expect(credential.refreshToken == "r1")
        #expect(server.requests.map(form) == ["grant_type=password&password=word&username=ada"])
    }

    @Test("without a refresh token there is nothing to renew with, and nothing is sent")
    func nothingToRenewWith() async {
        let authenticator = authenticator()
        let error = await #expect(throws: AuthenticationError.self) {
            try await authenticator.refresh(OAuth2Credential(accessToken: "a"), over: session)
        }
        #expect(error?.isFinal == true)
        #expect(server.requestCount == 0)
        // The token is used as long as the server takes it.
        let expired = OAuth2Credential(accessToken: "a", lifetime: .zero)
        #expect(!authenticator.needsRefresh(expired, now: .now + .seconds(1)))
        #expect(authenticator.needsRefresh(.pending, now: .now))
    }

    @Test("a token within its leeway is renewed ahead of time")
    func needsRefresh() {
        let token = OAuth2Credential(accessToken: "a", refreshToken: "r", lifetime: .seconds(600))
        #expect(!authenticator().needsRefresh(token, now: token.received))
        #expect(authenticator().needsRefresh(token, now: token.received + .seconds(541)))
    }

    @Test(
        "a refusal is final, with the server's words",
        arguments: [
            (400, "invalid_grant"), (401, "invalid_client"), (400, "unauthorized_client"), (400, "invalid_scope"),
            (403, "access_denied"), (200, "bad_refresh_token"),
        ])
    func refused(status: Int, code: String) async throws {
        answer(#"{"error":"\#(code)","error_description":"Token r0 of s3cret is gone."}"#, status: status)
        let thrown = await self.error()
        let error = try #require(thrown as? OAuth2Error)
        #expect(error.code.rawValue == code)
        #expect(error.explanation == "Token *** of *** is gone.")
        #expect(error.statusCode == status)
        #expect(RefreshOutcome(of: error) == .refused)
        #expect(server.requestCount == 1)
    }

    @Test(
        "a server that is busy, at fault, or not there leaves the credential alive",
        arguments: [429, 500, 502, 503, 504])
    func unreachable(status: Int) async throws {
        for body in ["<html>", #"{"error":"invalid_grant"}"#, ""] {
            answer(body, status: status)
            let error = try #require(await error())
            #expect(RefreshOutcome(of: error) == .unreachable)
        }
        answer(#"{"error":"temporarily_unavailable"}"#, status: 400)
        #expect(RefreshOutcome(of: try #require(await error())) == .unreachable)
        server.on("/token", .reset)
        #expect(RefreshOutcome(of: try #require(await error())) == .unreachable)
        server.on("/token", .data(Data(#"{"access_token":"a1"}"#.utf8)).truncated(after: 5, then: .close))
        #expect(RefreshOutcome(of: try #require(await error())) == .unreachable)
        let closed = try ClosedPort()
        defer { closed.letGo() }
        let nobody = authenticator(at: closed.url("/token"))
        #expect(RefreshOutcome(of: try #require(await error(nobody))) == .unreachable)
    }

    @Test(
        "a refusal without the words of the standard is one all the same, without its body", arguments: [400, 401, 403])
    func refusedInOtherWords(status: Int) async throws {
        answer("no r0 here", status: status)
        let error = try #require(await error())
        #expect(RefreshOutcome(of: error) == .refused)
        guard case NetworkError.endpointError(let response, let data) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(response.statusCode == status && data.isEmpty)
    }

    @Test("a page in place of an answer, as in a hotel, leaves the credential alive")
    func page() async throws {
        answer("<html>Welcome, r0</html>")
        let error = try #require(await error())
        #expect(RefreshOutcome(of: error) == .unreachable)
        #expect(!"\(error)".contains("r0"))
    }

    @Test(
        "a redirect takes the secrets nowhere, and leaves the credential alive", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) async throws {
        server.on("/token", .redirect(to: "/elsewhere", status: status))
        server.on("/elsewhere", .data(Data(#"{"access_token":"a1"}"#.utf8)))
        let error = try #require(await error())
        #expect(RefreshOutcome(of: error) == .unreachable)
        #expect("\(error)".contains("redirect"))
        #expect(server.requests(to: "/elsewhere").isEmpty)
    }

    @Test("an answer without end is not read to its end")
    func endless() async throws {
        let answer = Data(#"{"access_token":"a1","x":""#.utf8) + Data(repeating: 97, count: 3 << 20)
        server.on("/token", LoopbackServer.Response.data(answer).truncated(after: 2 << 20, then: .stall))
        let error = try #require(await error())
        #expect(RefreshOutcome(of: error) == .unreachable)
        #expect("\(error)".contains("more than a token"))
    }

    @Test("the client's 401 with a Basic challenge ends with the server's words")
    func basicChallenge() async throws {
        server.on(
            "/token",
            .data(Data(#"{"error":"invalid_client"}"#.utf8), contentType: "application/json", status: 401)
                .header("WWW-Authenticate", "Basic realm=\"token\""))
        let error = await error()
        #expect((error as? OAuth2Error)?.code == .invalidClient)
    }

    @Test("requests carry the token")
    func apply() {
        var request = Made.request()
        authenticator().apply(.pending, to: &request)
        #expect(request.value(forHTTPHeaderField: "Authorization") == nil)
        authenticator().apply(old, to: &request)
        #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer a0")
    }

    @Test(
        "401 asks for a new token, unless the token is for too little",
        arguments: [
            (401, nil, true), (401, "", true), (401, "Bearer", true), (401, "Basic realm=\"x\"", true),
            (401, "Bearer error=\"invalid_token\"", true), (401, "Bearer error=\"insufficient_scope\"", false),
            (401, "Basic, bearer realm=\"a,b\", error=insufficient_scope, scope=\"c d\"", false),
            (401, "Bearer realm=\"error=\\\"insufficient_scope\\\"\"", true),
            (401, "Other error=\"insufficient_scope\"", true), (403, "Bearer error=\"insufficient_scope\"", false),
            (403, "Bearer error=\"invalid_token\"", false), (400, "Bearer error=\"invalid_request\"", false),
            (200, nil, false), (407, nil, false), (500, nil, false),
        ] as [(Int, String?, Bool)])
    func unauthorized(status: Int, header: String?, expected: Bool) {
        let response = Made.response(status, header.map { ["WWW-Authenticate": $0] } ?? [:])
        #expect(authenticator().isUnauthorized(response, Data()) == expected)
    }

    @Test("several WWW-Authenticate headers are read as one")
    func severalHeaders() async throws {
        server.on(
            "/api",
            LoopbackServer.Response.empty(401).header(
                "WWW-Authenticate", "Bearer realm=\"a\", error=\"insufficient_scope\""
            )
            .header("WWW-Authenticate", "Negotiate"))
        let error = await failure { () async throws(NetworkError) in
            try await session.data(for: URLRequest(url: server.url("/api")))
        }
        let response = try #require(error?.response)
        #expect(response.statusCode == 401)
        #expect(!authenticator().isUnauthorized(response, Data()))
    }
}
