import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Names and passwords for servers that ask for them with `WWW-Authenticate: Basic` (RFC 7617).
///
/// The platform is never let to answer: on Linux it waits for ever without a credential, asks without end with a wrong one,
/// and loses the body of a stream.
struct ChallengeCredentials: Sendable {
    /// For the host that the request is made to, and for none that a redirect leads to.
    var own: URLCredential?
    /// By host as in ``Authenticator/hosts``.
    var byHost: [String: URLCredential] = [:]
    /// The session's, by host, port, scheme and realm.
    var storage: URLCredentialStorage?

    var isEmpty: Bool { own == nil && byHost.isEmpty && storage == nil }

    /// The request once more, with name and password; nil if the response does not ask for them by Basic, or there are none
    /// that may go there.
    ///
    /// - Parameter isFirstOrigin: whether the request goes to where the first one went.
    func answer(to response: HTTPURLResponse, of request: URLRequest, isFirstOrigin: Bool) -> URLRequest? {
        guard let url = request.url, let header = response.value(forHTTPHeaderField: "WWW-Authenticate") else {
            return nil
        }
        let challenge = AuthenticationChallenge.parse(header).first { $0.scheme == "basic" }
        guard let challenge else { return nil }
        let found =
            (isFirstOrigin ? own : nil) ?? HostPatterns.mostExact(in: byHost, for: url) ?? stored(for: url, challenge)
        guard let found, let user = found.user, let password = found.password,
            let credential = try? BasicAuthenticator.Credential(user: user, password: password)
        else { return nil }
        var answer = request
        BasicAuthenticator(hosts: []).apply(credential, to: &answer)
        return answer
    }

    private func stored(for url: URL, _ challenge: AuthenticationChallenge) -> URLCredential? {
        guard let storage, let host = url.host, let scheme = url.scheme else { return nil }
        let space = URLProtectionSpace(
            host: host, port: url.port ?? (scheme == "https" ? 443 : 80), protocol: scheme,
            realm: challenge.parameters["realm"], authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        #if canImport(FoundationNetworking)
            // On Linux no protection space is equal to another, so that only the very one that was stored finds its credential.
            let known = storage.allCredentials.keys.first { known in
                known.host == space.host && known.port == space.port && known.protocol == space.protocol
                    && known.realm == space.realm && known.authenticationMethod == space.authenticationMethod
            }
            return known.flatMap { storage.defaultCredential(for: $0) }
        #else
            return storage.defaultCredential(for: space)
        #endif
    }
}
