import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Basic authentication (RFC 7617): name and password with every request, also with the first.
///
/// A 401 drops the credential: there is nothing to renew it with.
public struct BasicAuthenticator: Authenticator {
    /// The name and the password of a user. Descriptions and dumps do not show them.
    public struct Credential: Sendable, Hashable {
        let token: Secret

        /// A name with its password.
        ///
        /// - Throws: ``AuthenticationError/refused(_:)`` if the name has a colon, or one of the two a control character:
        ///   neither can be sent.
        public init(user: String, password: String) throws(AuthenticationError) {
            guard !user.contains(":") else {
                throw .refused("a user name with a colon cannot be sent by Basic authentication")
            }
            guard !(user + password).unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else {
                throw .refused("a user name or password with control characters cannot be sent by Basic authentication")
            }
            // Section 2.1: UTF-8, in Normalization Form C.
            let text = "\(user):\(password)".precomposedStringWithCanonicalMapping
            token = Secret(Data(text.utf8).base64EncodedString())
        }
    }

    /// Where the credential may go; see ``Authenticator/hosts``.
    public let hosts: Set<String>

    /// Name and password for these hosts.
    ///
    /// - Parameter hosts: where the credential may go; see ``Authenticator/hosts``.
    public init(hosts: Set<String>) {
        self.hosts = hosts
    }

    /// Sets `Authorization: Basic`.
    public func apply(_ credential: Credential, to request: inout URLRequest) {
        request.setValue("Basic \(credential.token.text)", forHTTPHeaderField: "Authorization")
    }

    /// - Throws: ``AuthenticationError/refused(_:)``, always.
    public func refresh(_ credential: Credential, over session: NetworkSession) async throws -> Credential {
        throw AuthenticationError.refused("the server does not take the user name and password")
    }
}
