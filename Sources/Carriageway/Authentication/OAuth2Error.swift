import Foundation

/// What a token endpoint said in place of a token (RFC 6749, section 5.2).
///
/// Its texts are the server's, cut to a readable length, without control characters, and without the secrets that the
/// request held.
public struct OAuth2Error: RefreshFailure, Equatable {
    /// The kind of the error.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// As it came: "invalid_grant".
        public let rawValue: String

        /// Any code, also one that no standard knows.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The refresh token, or the name with its password, is wrong, revoked, expired, or was used before.
        public static let invalidGrant = Code(rawValue: "invalid_grant")
        /// The client is unknown, or its secret is wrong.
        public static let invalidClient = Code(rawValue: "invalid_client")
        /// The client may not use this grant.
        public static let unauthorizedClient = Code(rawValue: "unauthorized_client")
        /// The server does not know this grant.
        public static let unsupportedGrantType = Code(rawValue: "unsupported_grant_type")
        /// The scope is unknown, or more than was granted.
        public static let invalidScope = Code(rawValue: "invalid_scope")
        /// A parameter is missing, doubled, or malformed.
        public static let invalidRequest = Code(rawValue: "invalid_request")
        /// The server has a fault of its own. Not of RFC 6749's token endpoint, but in use.
        public static let serverError = Code(rawValue: "server_error")
        /// The server is busy. Not of RFC 6749's token endpoint, but in use.
        public static let temporarilyUnavailable = Code(rawValue: "temporarily_unavailable")
    }

    /// `error`.
    public let code: Code

    /// `error_description`, if there was one.
    public let explanation: String?

    /// `error_uri`, where people can read more, if there was one.
    public let page: String?

    /// The status of the response: 400 as a rule, 401 for a client that is not known.
    public let statusCode: Int

    /// An error of given parts, which are not changed.
    public init(code: Code, explanation: String? = nil, page: String? = nil, statusCode: Int = 400) {
        self.code = code
        self.explanation = explanation
        self.page = page
        self.statusCode = statusCode
    }

    /// True but for a server that is busy or at fault: with a status of 408, 421, 425, 429, 444 or 500 and above, or one
    /// of the codes for that.
    public var isFinal: Bool {
        switch (code, statusCode) {
        case (.serverError, _), (.temporarilyUnavailable, _), (_, 500...), (_, 408), (_, 421), (_, 425), (_, 429),
            (_, 444):
            false
        default: true
        }
    }
}

extension OAuth2Error: LocalizedError, CustomStringConvertible {
    /// The error in one line.
    public var errorDescription: String? { description }

    /// The error in one line.
    public var description: String {
        let reason = explanation.map { ": \($0)" } ?? ""
        let more = page.map { " (\($0))" } ?? ""
        return "the token endpoint answered \(code.rawValue)\(reason)\(more)"
    }
}
