import Foundation

extension OAuth2Credential: Codable {
    private enum CodingKeys: CodingKey {
        case accessToken, tokenType, refreshToken, scopes
        /// Seconds.
        case lifetime
        /// Seconds since 1970: an instant of the monotonic clock means nothing to another process.
        case expires
    }

    /// Writes the tokens in the clear, and the expiry as a calendar date.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(accessToken, forKey: .accessToken)
        try container.encode(tokenType, forKey: .tokenType)
        try container.encodeIfPresent(refreshToken, forKey: .refreshToken)
        try container.encode(scopes.sorted(), forKey: .scopes)
        guard let lifetime, let expiry else { return }
        try container.encode(lifetime.inSeconds, forKey: .lifetime)
        try container.encode(
            Date().timeIntervalSince1970 + (expiry - ContinuousClock.now).inSeconds, forKey: .expires)
    }

    /// Reads a credential of this or an earlier run. What is left of its lifetime is told by the calendar, and is never
    /// more than the whole.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let lifetime = try container.decodeIfPresent(Double.self, forKey: .lifetime)
        let expires = try container.decodeIfPresent(Double.self, forKey: .expires)
        let now = ContinuousClock.now
        let life = (lifetime.map { Duration.saturating(seconds: $0) })
        var received = now
        if let life, let expires {
            let age = life - Self.remaining(until: expires)
            received = now - age.saturated
        }
        self.init(
            accessToken: try container.decode(String.self, forKey: .accessToken),
            refreshToken: try container.decodeIfPresent(String.self, forKey: .refreshToken), lifetime: life,
            scopes: Set(try container.decodeIfPresent([String].self, forKey: .scopes) ?? []),
            tokenType: try container.decodeIfPresent(String.self, forKey: .tokenType) ?? "Bearer",
            received: received)
    }

    /// Negative if the date has passed.
    private static func remaining(until expires: Double) -> Duration {
        let seconds = expires - Date().timeIntervalSince1970
        return seconds < 0 ? .zero - .saturating(seconds: -seconds) : .saturating(seconds: seconds)
    }
}
