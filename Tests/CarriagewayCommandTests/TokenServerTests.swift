import Carriageway
import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

private let address = ProcessInfo.processInfo.environment["CARRIAGEWAY_AUTHORIZATION_SERVER"]

@Suite(
    "Fetching with a token of a real authorization server", .timeLimit(.minutes(10)),
    .enabled(if: address != nil, "CARRIAGEWAY_AUTHORIZATION_SERVER is not set; .ci/run starts one"))
struct TokenServerTests {
    private struct Client: Decodable {
        let client_id: String
        let client_secret: String
        let user: String
        let password: String
    }

    private let base: URL
    private let session = NetworkSession()

    init() throws {
        base = try #require(URL(string: address ?? ""))
    }

    private func url(_ path: String) -> String { base.appendingPathComponent(path).absoluteString }

    private func client(grant: String) async throws -> Client {
        var request = URLRequest(url: base.appendingPathComponent("control/client"))
        request.httpMethod = "POST"
        request.httpBody = try JSONEncoder().encode(["grant": grant])
        return try await session.response(for: request).decoded()
    }

    @Test("runs that follow each other go on with the rotated refresh token")
    func rotation() async throws {
        let client = try await client(grant: "password")
        let token = try await OAuth2Authenticator(
            tokenURL: base.appendingPathComponent("o/token/"), clientID: client.client_id,
            clientSecret: client.client_secret, hosts: []
        ).credential(by: .password(user: client.user, password: client.password), over: session)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("refresh-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        var stored = try #require(token.refreshToken)
        try Data(stored.utf8).write(to: file)
        for _ in 1...3 {
            let outcome = try await CommandProcess(
                [
                    "--token-url", url("o/token/"), "--client-id", client.client_id, "--refresh-token-file", file.path,
                    url("api/read"), url("api/read"), url("api/write"), url("api/read"), url("api/read"),
                ], environment: ["CARRIAGEWAY_CLIENT_SECRET": client.client_secret]
            ).outcome()
            #expect(outcome.status == 0, "\(outcome)")
            let new = try String(contentsOf: file, encoding: .utf8)
            #expect(new != stored && !new.isEmpty)
            stored = new
        }
    }

    @Test("a client asks in its own name")
    func clientCredentials() async throws {
        let client = try await client(grant: "client-credentials")
        let words = ["--token-url", url("o/token/"), "--client-id", client.client_id, "--scope", "read"]
        let environment = ["CARRIAGEWAY_CLIENT_SECRET": client.client_secret]
        let outcome = try await CommandProcess(words + [url("api/read")], environment: environment).outcome()
        #expect(outcome.status == 0, "\(outcome)")
        let denied = try await CommandProcess(
            words + [url("api/write")], environment: ["CARRIAGEWAY_CLIENT_SECRET": "s3cret"]
        ).outcome()
        #expect(denied.status == 1)
        #expect(denied.output.contains("invalid_client"))
    }
}
