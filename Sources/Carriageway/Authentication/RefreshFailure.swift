import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An error that says whether the credential is lost with the renewal that failed.
///
/// What ``Authenticator/refresh(_:over:)`` throws decides what becomes of the credential:
///
/// | thrown | so |
/// |---|---|
/// | an error that conforms to this | as it says |
/// | a failed transfer (`URLError`), a cancelled one, one past its time; a status that is transient, or any of 500 and above | the credential is kept |
/// | any other status, such as 400, 401 and 403, and every other error | the credential is dropped |
///
/// A credential that is kept is renewed again at the next need. Throw ``AuthenticationError`` where no error of your own is
/// at hand.
public protocol RefreshFailure: Error {
    /// True if the credential is worth nothing any longer: it was revoked, used up, or cannot be renewed at all.
    var isFinal: Bool { get }
}

/// What a failed renewal means for the credential: a pure decision.
enum RefreshOutcome: Equatable {
    /// The credential is dropped.
    case refused
    /// The credential is kept, and renewed again at the next need.
    case unreachable

    init(of error: any Error) {
        switch error {
        case let error as any RefreshFailure: self = error.isFinal ? .refused : .unreachable
        case let error as NetworkError: self.init(of: error)
        // Nobody has judged the credential.
        case is URLError, is CancellationError: self = .unreachable
        default: self = .refused
        }
    }

    private init(of error: NetworkError) {
        switch error {
        case .urlError, .cancelled, .deadlineExceeded, .sessionInvalidated: self = .unreachable
        case .endpointError(let response, _):
            self = error.shouldRetry || response.statusCode >= 500 ? .unreachable : .refused
        case .inaccessible(_, let last): self.init(of: last)
        case .generalError(let cause), .dependencyFailed(let cause), .authenticationFailed(let cause):
            self.init(of: cause)
        case .invalidRequest, .invalidResponseType, .noResponseData, .unacceptableResponse, .responseTooLarge,
            .decodingFailed, .fileError:
            self = .refused
        }
    }
}
