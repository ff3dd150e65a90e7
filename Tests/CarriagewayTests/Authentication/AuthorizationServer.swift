import Foundation

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A real authorization server that runs beside the tests; see `Tests/Servers/authorization-server`.
struct AuthorizationServer {
    /// What one test has to itself.
    struct Client: Decodable {
        let client_id: String
        let client_secret: String
        let user: String
        let password: String
    }

    /// What a client was given so far.
    struct Tokens: Decodable, Equatable {
        /// Refresh tokens, the revoked ones included.
        let refresh: Int
        /// Those of them that are good.
        let good: Int
        let access: Int
    }

    static let variable = "CARRIAGEWAY_AUTHORIZATION_SERVER"

    static let isThere = ProcessInfo.processInfo.environment[variable] != nil

    let base: URL
    let session = Wire.session()

    init() throws {
        let address = ProcessInfo.processInfo.environment[Self.variable] ?? ""
        guard let base = URL(string: address), base.host != nil else { throw URLError(.badURL) }
        self.base = base
    }

    func url(_ path: String) -> URL { base.appendingPathComponent(path) }

    func get(_ path: String) -> URLRequest { URLRequest(url: url(path)) }

    private func post(_ path: String, _ values: [String: String]) async throws -> NetworkResponse {
        var request = get(path)
        request.httpMethod = "POST"
        request.httpBody = try JSONEncoder().encode(values)
        return try await session.response(for: request)
    }

    /// - Parameter settings: "grant", "client_type", "client_id", "client_secret", "user", "password"; all can be left out.
    func client(_ settings: [String: String] = [:]) async throws -> Client {
        try await post("control/client", settings).decoded()
    }

    func revoke(_ client: Client) async throws {
        _ = try await post("control/revoke-client", ["client_id": client.client_id])
    }

    /// Ends the client's access tokens; its refresh tokens stay good.
    func expireTokens(of client: Client) async throws {
        _ = try await post("control/expire", ["client_id": client.client_id])
    }

    func tokens(of client: Client) async throws -> Tokens {
        var parts = URLComponents(url: url("control/tokens"), resolvingAgainstBaseURL: true)
        parts?.queryItems = [URLQueryItem(name: "client_id", value: client.client_id)]
        return try await session.response(for: URLRequest(url: parts?.url ?? base)).decoded()
    }

    /// Revokes a token as RFC 7009 has it.
    func revoke(token: String, of client: Client) async throws {
        var request = get("o/revoke_token/")
        request.httpMethod = "POST"
        request.setValue(FormEncoding.contentType, forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(
            FormEncoding.encode([
                ("token", token), ("client_id", client.client_id), ("client_secret", client.client_secret),
            ]).utf8)
        _ = try await session.response(for: request)
    }

    func authenticator(
        _ client: Client, secret: String? = nil, isPublic: Bool = false,
        by authentication: OAuth2Authenticator.ClientAuthentication = .basic,
        grant: OAuth2Authenticator.Grant = .refreshToken, scopes: [String] = []
    ) -> OAuth2Authenticator {
        OAuth2Authenticator(
            tokenURL: url("o/token/"), clientID: client.client_id,
            clientSecret: isPublic ? nil : secret ?? client.client_secret, clientAuthentication: authentication,
            grant: grant, scopes: scopes, hosts: ["127.0.0.1:\(base.port ?? 0)"])
    }

    /// Logs the client's user in.
    func logIn(_ client: Client, scopes: [String] = []) async throws -> OAuth2Credential {
        try await authenticator(client, scopes: scopes)
            .credential(by: .password(user: client.user, password: client.password), over: session)
    }

    /// Whether the API takes the token.
    func takes(_ credential: OAuth2Credential) async throws -> Bool {
        var request = get("api/read")
        request.setValue("Bearer \(credential.accessToken)", forHTTPHeaderField: "Authorization")
        do throws(NetworkError) {
            return try await session.response(for: request).statusCode == 200
        } catch {
            guard error.response?.statusCode == 401 else { throw error }
            return false
        }
    }
}

/// The error of an OAuth 2 renewal that `body` throws.
func refusal(of body: () async throws -> Void) async throws -> OAuth2Error? {
    do {
        try await body()
        return nil
    } catch NetworkError.authenticationFailed(let error as OAuth2Error) {
        return error
    } catch let error as OAuth2Error {
        return error
    }
}
