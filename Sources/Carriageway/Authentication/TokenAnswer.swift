import Foundation

/// The JSON of a token endpoint, success or error (RFC 6749, sections 5.1 and 5.2), read as leniently as servers are:
/// a field of the wrong kind is as none.
struct TokenAnswer: Decodable {
    let error: String?
    let errorDescription: String?
    let errorURI: String?
    let accessToken: String?
    let tokenType: String?
    let refreshToken: String?
    let scopes: Set<String>?
    /// Nil if it is missing, no number, or not above 0: a token that has just been received is used.
    let lifetime: Duration?

    private enum CodingKeys: String, CodingKey {
        case error
        case errorDescription = "error_description"
        case errorURI = "error_uri"
        case accessToken = "access_token"
        case tokenType = "token_type"
        case refreshToken = "refresh_token"
        case scope
        case expiresIn = "expires_in"
    }

    /// Nil for what is no JSON object.
    init?(_ data: Data) {
        guard let answer = try? JSONDecoder().decode(TokenAnswer.self, from: data) else { return nil }
        self = answer
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys) -> String? {
            (try? container.decode(String.self, forKey: key)).flatMap { $0.isEmpty ? nil : $0 }
        }
        error = text(.error)
        errorDescription = text(.errorDescription)
        errorURI = text(.errorURI)
        accessToken = text(.accessToken)
        tokenType = text(.tokenType)
        refreshToken = text(.refreshToken)
        let list = try? container.decode([String].self, forKey: .scope)
        scopes = list.map(Set.init) ?? text(.scope).map { Set($0.split(separator: " ").map(String.init)) }
        let number = try? container.decode(Double.self, forKey: .expiresIn)
        let seconds = number ?? text(.expiresIn).flatMap { Double($0.trimmingCharacters(in: .whitespaces)) } ?? 0
        lifetime = seconds > 0 ? .saturating(seconds: seconds) : nil
    }

    /// The error that the server names, if it names one.
    func refusal(status: Int, without secrets: [Secret]) -> OAuth2Error? {
        error.map { code in
            OAuth2Error(
                code: OAuth2Error.Code(rawValue: code.inMessage(limit: 60, without: secrets)),
                explanation: errorDescription?.inMessage(limit: 300, without: secrets),
                page: errorURI?.inMessage(limit: 200, without: secrets), statusCode: status)
        }
    }

    /// The credential that the server gave.
    ///
    /// - Parameters:
    ///   - old: what has been renewed; what the answer leaves out stays as it was (RFC 6749, section 6).
    ///   - scopes: what was asked for: what is granted if the answer says nothing else (section 5.1).
    /// - Throws: ``AuthenticationError`` if there is no token in it that can be used.
    func credential(renewing old: OAuth2Credential?, asking scopes: Set<String>, received: ContinuousClock.Instant)
        throws(AuthenticationError) -> OAuth2Credential
    {
        guard let accessToken else { throw .unreachable("the token endpoint answered without an access token") }
        // Section A.12; anything else could not be sent in a header.
        guard accessToken.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw .unreachable("the token endpoint answered with an access token that cannot be sent")
        }
        let tokenType = tokenType ?? "Bearer"
        guard tokenType.lowercased() == "bearer" else {
            // Section 7.1: a token of a kind that one does not understand must not be used.
            let secrets = [accessToken, refreshToken].compactMap { $0.map(Secret.init) }
            let shown = tokenType.inMessage(limit: 60, without: secrets)
            throw .refused("the token endpoint answered with a token of type \(shown)")
        }
        return OAuth2Credential(
            accessToken: accessToken, refreshToken: refreshToken ?? old?.refreshToken, lifetime: lifetime,
            scopes: self.scopes ?? old?.scopes ?? scopes, tokenType: tokenType, received: received)
    }
}
