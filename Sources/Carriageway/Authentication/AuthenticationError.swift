import Foundation

/// Why there is no credential to send, where the reason is not an error of the network or of a token endpoint.
///
/// Authenticators of your own may throw it from ``Authenticator/refresh(_:over:)``. Keep secrets out of the text.
public enum AuthenticationError: RefreshFailure, Equatable {
    /// The credential is worth nothing any longer, and is dropped; the text says why.
    case refused(String)
    /// No answer for now; the credential is kept. The text says why.
    case unreachable(String)

    /// True for ``refused(_:)``.
    public var isFinal: Bool {
        switch self {
        case .refused: true
        case .unreachable: false
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
        }
    }
}
