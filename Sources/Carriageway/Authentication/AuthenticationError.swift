import Foundation

/// Why there is no credential to send, where the reason is not an error of the network or of a token endpoint.
///
/// Authenticators of your own may throw it from ``Authenticator/refresh(_:over:)``. Keep secrets out of the text.
public enum AuthenticationError: RefreshFailure, Equatable {
    /// The credential is worth nothing any longer, and is dropped; the text says why.
    case refused(String)
    /// No credential is set.
    case missingCredential
    /// So many renewals have come to nothing that no more is made for now.
    case tooManyRenewals
    /// The server turned the credential down, and the request's body, a stream, cannot be sent again with a new one.
    case bodyNotReplayable
    /// No answer for now; the credential is kept. The text says why.
    case unreachable(String)

    /// True for ``refused(_:)`` and ``missingCredential``.
    public var isFinal: Bool {
        switch self {
        case .refused, .missingCredential: true
        case .unreachable, .tooManyRenewals, .bodyNotReplayable: false
        }
    }
}

extension AuthenticationError: LocalizedError, CustomStringConvertible {
    /// The reason.
    public var errorDescription: String? { description }

    /// The reason.
    public var description: String {
        switch self {
        case .refused(let reason), .unreachable(let reason): reason
        case .missingCredential: "no credential is set"
        case .tooManyRenewals: "the credential was renewed too often within 30 seconds"
        case .bodyNotReplayable: "the credential was turned down, and the body, a stream, cannot be sent again"
        }
    }
}
