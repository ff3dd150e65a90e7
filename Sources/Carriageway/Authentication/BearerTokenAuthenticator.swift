import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Bearer tokens (RFC 6750) that a closure gets, for servers that give tokens in a way of their own.
///
/// The credential is the token; an empty one is fetched before the first request.
///
/// ```swift
/// let authenticator = BearerTokenAuthenticator(
///     hosts: ["api.example.com"]
/// ) { session in
///     try await session.response(for: loginRequest)
///         .decoded(as: Token.self).value
/// }
/// let authentication = Authentication(authenticator, credential: "")
/// ```
public struct BearerTokenAuthenticator: Authenticator {
    /// Where the credential may go; see ``Authenticator/hosts``.
    public let hosts: Set<String>

    private let token: @Sendable (NetworkSession) async throws -> String

    /// Tokens for these hosts, got by a closure.
    ///
    /// - Parameters:
    ///   - hosts: where the token may go; see ``Authenticator/hosts``.
    ///   - token: gets a new token, over the session that it is given. What it throws decides whether the old one is
    ///     dropped; see ``RefreshFailure``.
    public init(hosts: Set<String>, token: @escaping @Sendable (NetworkSession) async throws -> String) {
        self.hosts = hosts
        self.token = token
    }

    /// Sets `Authorization: Bearer`.
    public func apply(_ credential: String, to request: inout URLRequest) {
        guard !credential.isEmpty else { return }
        request.setValue("Bearer \(credential)", forHTTPHeaderField: "Authorization")
    }

    /// Calls the closure.
    ///
    /// - Throws: what the closure throws; ``AuthenticationError/refused(_:)`` if its token is empty.
    public func refresh(_ credential: String, over session: NetworkSession) async throws -> String {
        let token = try await token(session)
        guard !token.isEmpty else { throw AuthenticationError.refused("the new token is empty") }
        return token
    }

    /// Whether the token is empty.
    public func needsRefresh(_ credential: String, now: ContinuousClock.Instant) -> Bool { credential.isEmpty }
}
