import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A key in a header of the server's choice. The credential is the key.
///
/// A 401 drops the key: there is nothing to renew it with.
public struct APIKeyAuthenticator: Authenticator {
    /// Where the credential may go; see ``Authenticator/hosts``.
    public let hosts: Set<String>

    /// The name of the header.
    public let header: String

    /// A key for these hosts, in a header of any name.
    ///
    /// - Parameters:
    ///   - header: a name that a header can have; with another one every request fails with
    ///     ``NetworkError/invalidRequest(_:)``.
    ///   - hosts: where the key may go; see ``Authenticator/hosts``.
    public init(header: String = "X-API-Key", hosts: Set<String>) {
        self.header = header
        self.hosts = hosts
    }

    /// Sets the header.
    public func apply(_ credential: String, to request: inout URLRequest) {
        request.setValue(credential, forHTTPHeaderField: header)
    }

    /// - Throws: ``AuthenticationError/refused(_:)``, always.
    public func refresh(_ credential: String, over session: NetworkSession) async throws -> String {
        throw AuthenticationError.refused("the server does not take the key")
    }
}
