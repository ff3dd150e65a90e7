import Foundation

/// What a token endpoint gave: an access token, and what there is to renew it with (RFC 6749, section 5.1).
///
/// Descriptions and dumps do not show the tokens. Encoded it holds them in the clear, together with the expiry as a
/// calendar date, so that it can be kept over a restart; keep it where secrets are kept.
public struct OAuth2Credential: Sendable, Hashable {
    private let access: Secret
    private let refresh: Secret?

    /// The kind of token as the server calls it; always a bearer token (RFC 6750).
    public let tokenType: String

    /// When the token was received; its lifetime counts from here.
    public let received: ContinuousClock.Instant

    /// How long the token is good after it was received; nil if the server did not say.
    public let lifetime: Duration?

    /// What the token is good for, as far as it is known (RFC 6749, section 3.3).
    public let scopes: Set<String>

    /// A token that is at hand.
    ///
    /// - Parameters:
    ///   - accessToken: what goes into requests.
    ///   - refreshToken: what a new one is got for, if there is one.
    ///   - lifetime: from `received` on; nil if it is not known. Negative counts as 0.
    ///   - scopes: what the token is good for.
    ///   - tokenType: how it is sent (RFC 6749, section 7.1).
    ///   - received: now, unless the token has been at hand for a while.
    public init(
        accessToken: String, refreshToken: String? = nil, lifetime: Duration? = nil, scopes: Set<String> = [],
        tokenType: String = "Bearer", received: ContinuousClock.Instant = .now
    ) {
        access = Secret(accessToken)
        refresh = refreshToken.map(Secret.init)
        self.lifetime = lifetime?.saturated
        self.scopes = scopes
        self.tokenType = tokenType
        self.received = received
    }

    /// A refresh token alone: the first request gets the access token.
    public init(refreshToken: String) {
        self.init(accessToken: "", refreshToken: refreshToken)
    }

    /// No token at all: the first request gets one, by a grant that needs none, such as
    /// ``OAuth2Authenticator/Grant/clientCredentials``.
    public static let pending = OAuth2Credential(accessToken: "")

    /// The access token; empty if it has yet to be fetched.
    public var accessToken: String { access.text }

    /// What the access token is renewed with; nil if the server gave nothing.
    public var refreshToken: String? { refresh?.text }

    /// When the access token ends; nil if the server did not say.
    public var expiry: ContinuousClock.Instant? { lifetime.map { received.advanced(by: $0) } }

    /// How long before its end the token is renewed: a tenth of its lifetime, at most a minute.
    public var leeway: Duration { min(.seconds(60), (lifetime ?? .zero) / 10) }

    /// Whether the token has yet to be fetched, has ended, or ends within the leeway.
    public func isExpiring(at now: ContinuousClock.Instant) -> Bool {
        if access.text.isEmpty { return true }
        guard let expiry else { return false }
        return now >= expiry - leeway
    }
}

extension OAuth2Credential: CustomStringConvertible, CustomDebugStringConvertible {
    /// What the credential is, without the tokens.
    public var description: String {
        let life = lifetime.map { "lifetime \(Int($0.inSeconds)) s" } ?? "lifetime unknown"
        let renewal = refresh == nil ? "no refresh token" : "with refresh token"
        let scopes = scopes.isEmpty ? "" : ", scopes: \(scopes.sorted().joined(separator: " "))"
        return "OAuth2Credential(\(access.text.isEmpty ? "to be fetched" : tokenType), \(life), \(renewal)\(scopes))"
    }

    /// What the credential is, without the tokens.
    public var debugDescription: String { description }
}
