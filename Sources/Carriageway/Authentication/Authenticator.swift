import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// How requests get their credential, and how it is renewed.
///
/// An authenticator holds no state: the credential is kept, and the one renewal in flight watched over, elsewhere. Ready
/// ones are ``OAuth2Authenticator``, ``BearerTokenAuthenticator``, ``BasicAuthenticator`` and ``APIKeyAuthenticator``.
public protocol Authenticator: Sendable {
    /// What requests are given: a token, a key, a name with its password.
    associatedtype Credential: Sendable

    /// Where the credential may go; it goes nowhere else, and not along with a redirect either.
    ///
    /// - "api.example.com": this host, at any port.
    /// - "127.0.0.1:8080", "[::1]:8080": this port only; "api.example.com:443" includes https URLs without a port.
    /// - "\*.example.com", "\*.example.com:8443": every host below the domain, however deep, not the domain itself.
    ///
    /// Case does not matter. With anything else in it, such as "\*" or a whole URL, each request that is to be
    /// authenticated fails with ``NetworkError/invalidRequest(_:)``.
    var hosts: Set<String> { get }

    /// Puts the credential into a request, as a rule into its `Authorization` header.
    func apply(_ credential: Credential, to request: inout URLRequest)

    /// Gets a new credential for an old one.
    ///
    /// - Parameters:
    ///   - credential: the one that is to be replaced.
    ///   - session: where to send what is needed, past every queue and without credential.
    /// - Throws: whatever says why there is none. Whether the old one is dropped depends on the error; see
    ///   ``RefreshFailure``.
    func refresh(_ credential: Credential, over session: NetworkSession) async throws -> Credential

    /// Whether the credential is to be renewed before anything is sent with it; false by default.
    ///
    /// Not asked about a credential that has just been received.
    ///
    /// - Parameters:
    ///   - credential: the one in use.
    ///   - now: the present on the monotonic clock.
    func needsRefresh(_ credential: Credential, now: ContinuousClock.Instant) -> Bool

    /// Whether the response says that the credential is not, or no longer, good; a status of 401 by default.
    ///
    /// - Parameters:
    ///   - response: status and headers.
    ///   - data: the response's body.
    func isUnauthorized(_ response: HTTPURLResponse, _ data: Data) -> Bool
}

extension Authenticator {
    /// False: the credential's end is not known beforehand.
    public func needsRefresh(_ credential: Credential, now: ContinuousClock.Instant) -> Bool { false }

    /// Whether the status is 401.
    public func isUnauthorized(_ response: HTTPURLResponse, _ data: Data) -> Bool { response.statusCode == 401 }

    /// Whether the credential may go to this URL.
    func covers(_ url: URL) -> Bool {
        HostPatterns(hosts).cover(url)
    }
}
