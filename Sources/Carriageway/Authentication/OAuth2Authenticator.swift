import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Bearer tokens of an OAuth 2 token endpoint (RFC 6749, 6750, 9700).
///
/// ```swift
/// let authenticator = OAuth2Authenticator(
///     tokenURL: tokenURL, clientID: "app", clientSecret: secret,
///     hosts: ["api.example.com"])
/// let authentication = Authentication(
///     authenticator, credential: OAuth2Credential(refreshToken: stored))
/// let queue = NetworkQueue(authentication: authentication)
/// ```
///
/// The endpoint's error, such as `invalid_grant`, is thrown as ``OAuth2Error``. Secrets and tokens go to the token endpoint
/// as they are: outside of tests its URL should be https. It is not looked up in ``hosts``, and redirects
/// from there are not followed.
public struct OAuth2Authenticator: Authenticator {
    /// How a token is asked for.
    public struct Grant: Sendable {
        enum Kind: Sendable {
            case refreshToken
            case clientCredentials
            case password(user: Secret, password: Secret)
        }

        let kind: Kind

        /// By the credential's refresh token (RFC 6749, section 6). A new refresh token takes the place of the old one;
        /// if the server gives none, the old one stays.
        public static let refreshToken = Grant(kind: .refreshToken)

        /// By the client's own name and secret (RFC 6749, section 4.4).
        public static let clientCredentials = Grant(kind: .clientCredentials)

        /// By name and password of a user (RFC 6749, section 4.3), for old servers. The credential's refresh token goes
        /// first, as long as there is one that the server takes.
        public static func password(user: String, password: String) -> Grant {
            Grant(kind: .password(user: Secret(user), password: Secret(password)))
        }
    }

    /// How the client says who it is (RFC 6749, section 2.3.1).
    public enum ClientAuthentication: Sendable {
        /// In the `Authorization` header, as every server has to understand it.
        case basic
        /// In the body, for servers that do not.
        case body
    }

    /// Where the credential may go; see ``Authenticator/hosts``.
    public let hosts: Set<String>

    /// Where tokens are asked for.
    public let tokenURL: URL

    /// The name of the client at the token endpoint.
    public let clientID: String

    private let clientSecret: Secret?
    private let clientAuthentication: ClientAuthentication
    private let grant: Grant
    private let scopes: [String]
    private let parameters: [String: Secret]

    /// One for a client, a token endpoint, and the hosts that its tokens are for.
    ///
    /// - Parameters:
    ///   - tokenURL: the token endpoint.
    ///   - clientID: the client's name at the server.
    ///   - clientSecret: nil for a public client, which says no more than its name.
    ///   - clientAuthentication: how the secret is sent.
    ///   - grant: how a token is renewed.
    ///   - scopes: what is asked for each time; empty leaves it to the server, which then keeps what was granted.
    ///   - parameters: further fields for the token endpoint, such as `audience` or `resource` (RFC 8707). They do not
    ///     replace the ones that the grant sets, and are not kept out of errors if the server repeats them.
    ///   - hosts: where the token may go; see ``Authenticator/hosts``.
    public init(
        tokenURL: URL, clientID: String, clientSecret: String? = nil,
        clientAuthentication: ClientAuthentication = .basic, grant: Grant = .refreshToken, scopes: [String] = [],
        parameters: [String: String] = [:], hosts: Set<String>
    ) {
        self.tokenURL = tokenURL
        self.clientID = clientID
        self.clientSecret = clientSecret.map(Secret.init)
        self.clientAuthentication = clientAuthentication
        self.grant = grant
        self.scopes = scopes
        self.parameters = parameters.mapValues(Secret.init)
        self.hosts = hosts
    }

    /// Sets `Authorization: Bearer` (RFC 6750, section 2.1).
    public func apply(_ credential: OAuth2Credential, to request: inout URLRequest) {
        guard !credential.accessToken.isEmpty else { return }
        request.setValue("Bearer \(credential.accessToken)", forHTTPHeaderField: "Authorization")
    }

    /// Whether the token has yet to be fetched, or ends within its leeway, and there is something to renew it with.
    public func needsRefresh(_ credential: OAuth2Credential, now: ContinuousClock.Instant) -> Bool {
        guard credential.isExpiring(at: now) else { return false }
        switch grant.kind {
        // Without a refresh token the server has the last word about the token.
        case .refreshToken: return credential.refreshToken != nil || credential.accessToken.isEmpty
        case .clientCredentials, .password: return true
        }
    }

    /// Whether the status is 401, and not because the token is for too little (RFC 6750, section 3.1): renewing it
    /// gives no more.
    public func isUnauthorized(_ response: HTTPURLResponse, _ data: Data) -> Bool {
        guard response.statusCode == 401 else { return false }
        let header = response.value(forHTTPHeaderField: "WWW-Authenticate") ?? ""
        let errors = AuthenticationChallenge.parse(header).filter { $0.scheme == "bearer" }
            .compactMap { $0.parameters["error"] }
        return errors.isEmpty || errors.contains { $0 != "insufficient_scope" }
    }

    /// Asks the token endpoint for a new token, by the grant given at `init`.
    ///
    /// - Throws: ``OAuth2Error`` for what the endpoint refused, ``AuthenticationError`` for an answer that is none or if
    ///   there is nothing to renew with, ``NetworkError`` if no answer came.
    public func refresh(
        _ credential: OAuth2Credential, over session: NetworkSession
    ) async throws -> OAuth2Credential {
        guard case .password = grant.kind, credential.refreshToken != nil else {
            return try await token(by: grant, renewing: credential, over: session)
        }
        do {
            return try await token(by: .refreshToken, renewing: credential, over: session)
        } catch let error as OAuth2Error where error.code == .invalidGrant && error.isFinal {
            return try await token(by: grant, renewing: credential, over: session)
        }
    }

    /// Asks for a first token by a grant of its own, as for a log-in with a password that is not kept.
    ///
    /// - Throws: as ``refresh(_:over:)`` does.
    public func credential(by grant: Grant, over session: NetworkSession) async throws -> OAuth2Credential {
        try await token(by: grant, renewing: .pending, over: session)
    }
}

// MARK: - The token endpoint

extension OAuth2Authenticator {
    private func token(
        by grant: Grant, renewing old: OAuth2Credential, over session: NetworkSession
    ) async throws -> OAuth2Credential {
        let form = try form(for: grant, renewing: old)
        let response: NetworkResponse
        do throws(NetworkError) {
            response = try await session.response(for: request(form.fields)) { operation in
                // 307 and 308 would take the secrets along in the body.
                operation.redirects = .refuse
                operation.maxResponseSize = 1 << 20
            }
        } catch {
            throw Self.failure(error, without: form.secrets)
        }
        guard !(300..<400).contains(response.statusCode) else {
            throw AuthenticationError.unreachable("the token endpoint answered with a redirect, which is not followed")
        }
        guard let answer = TokenAnswer(response.data) else {
            throw AuthenticationError.unreachable("the token endpoint answered with something that is not JSON")
        }
        // Some servers refuse with a status of 200.
        if let refusal = answer.refusal(status: 200, without: form.secrets) { throw refusal }
        let isRenewal = if case .refreshToken = grant.kind { true } else { false }
        return try answer.credential(
            renewing: isRenewal ? old : nil, asking: Set(scopes), received: session.time.now)
    }

    private typealias Form = (fields: [String: String], secrets: [Secret])

    /// What the form says, and what of it must not stand in an error; the client's own fields come with the request.
    private func form(for grant: Grant, renewing old: OAuth2Credential) throws(AuthenticationError) -> Form {
        var fields = parameters.mapValues(\.text)
        var secrets = (clientSecret.map { [$0, Secret(basicToken($0))] } ?? []) + [Secret(old.accessToken)]
        switch grant.kind {
        case .refreshToken:
            guard let token = old.refreshToken else {
                throw .refused("there is no refresh token to renew the credential with")
            }
            fields["grant_type"] = "refresh_token"
            fields["refresh_token"] = token
            secrets.append(Secret(token))
        case .clientCredentials:
            fields["grant_type"] = "client_credentials"
        case .password(let user, let password):
            fields["grant_type"] = "password"
            fields["username"] = user.text
            fields["password"] = password.text
            secrets += [user, password]
        }
        if !scopes.isEmpty { fields["scope"] = scopes.joined(separator: " ") }
        return (fields, secrets)
    }

    private func request(_ fields: [String: String]) -> URLRequest {
        var request = URLRequest(url: tokenURL)
        var fields = fields
        switch (clientSecret, clientAuthentication) {
        case (nil, _): fields["client_id"] = clientID
        case (let secret?, .body):
            fields["client_id"] = clientID
            fields["client_secret"] = secret.text
        case (let secret?, .basic):
            request.setValue("Basic \(basicToken(secret))", forHTTPHeaderField: "Authorization")
        }
        request.httpMethod = "POST"
        request.setValue(FormEncoding.contentType, forHTTPHeaderField: "Content-Type")
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        let sorted = fields.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        request.httpBody = Data(FormEncoding.encode(sorted).utf8)
        return request
    }

    /// Name and secret are encoded as in a form before they are joined (RFC 6749, section 2.3.1).
    private func basicToken(_ secret: Secret) -> String {
        Data("\(FormEncoding.encode(clientID)):\(FormEncoding.encode(secret.text))".utf8).base64EncodedString()
    }

    private static func failure(_ error: NetworkError, without secrets: [Secret]) -> any Error {
        if case .responseTooLarge = error {
            return AuthenticationError.unreachable("the token endpoint answered with more than a token")
        }
        guard case .endpointError(let response, let data) = error else { return error }
        let refusal = TokenAnswer(data)?.refusal(status: response.statusCode, without: secrets)
        // Without its body: a server at fault may repeat in it what it was sent.
        return refusal ?? NetworkError.endpointError(response, Data())
    }
}
