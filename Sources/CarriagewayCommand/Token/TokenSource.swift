import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Gets the token of a run, and sees to it that no new refresh token is lost.
///
/// The token goes to the hosts of the run's URLs and nowhere else.
final class TokenSource: Sendable {
    let authentication: Authentication<StoringAuthenticator>
    private let authenticator: StoringAuthenticator

    /// - Parameter environment: where secrets are looked for that the command line does not name.
    init(
        _ plan: TokenPlan, targets: [FetchTarget], environment: [String: String]
    ) throws(SecretFile.Fault) {
        let secret = try Self.secret(
            plan.clientSecret, option: .clientSecretFile, environment["CARRIAGEWAY_CLIENT_SECRET"])
        let token = try Self.secret(
            plan.refreshToken, option: .refreshTokenFile, environment["CARRIAGEWAY_REFRESH_TOKEN"])
        if token == nil, secret == nil {
            throw SecretFile.Fault(text: "a token needs a client secret or a refresh token to be fetched with")
        }
        var file: SecretFile?
        if case .file(let path) = plan.refreshToken {
            let found = SecretFile(option: TokenWords.Option.refreshTokenFile.rawValue, path: path)
            try found.checkWritable()
            file = found
        }
        authenticator = StoringAuthenticator(
            OAuth2Authenticator(
                tokenURL: plan.url.url, clientID: plan.clientID, clientSecret: secret,
                grant: token == nil ? .clientCredentials : .refreshToken, scopes: plan.scopes,
                hosts: Set(targets.compactMap { Self.place(of: $0.url) })),
            file: file)
        authentication = Authentication(
            authenticator, credential: token.map { OAuth2Credential(refreshToken: $0) } ?? .pending)
    }

    /// Ends the renewing, and returns once none is under way; a token that could not be stored is told.
    ///
    /// - Returns: whether everything was stored.
    func settle() async -> Bool {
        await authenticator.log.close()
        guard let fault = authenticator.log.fault else { return true }
        Console.complain(fault)
        return false
    }

    private static func secret(
        _ source: TokenPlan.Source?, option: TokenWords.Option, _ inherited: String?
    ) throws(SecretFile.Fault) -> String? {
        switch source {
        case .word(let text): text
        case .file(let path): try SecretFile(option: option.rawValue, path: path).read()
        case nil: inherited.flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// Host and port, as ``Authenticator/hosts`` takes them.
    private static func place(of url: URL) -> String? {
        guard let host = url.host else { return nil }
        let port = url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80)
        return host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
