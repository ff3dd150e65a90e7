import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Why a request failed.
///
/// Descriptions name the step that failed and never hold a secret: user names and passwords of URLs, query values,
/// header values and bodies are left out.
public enum NetworkError: Error, Sendable {
    /// The operation, or the task that awaited it, was cancelled.
    case cancelled
    /// The transport failed: no connection, a lost one, a timeout, TLS.
    case urlError(URLError)
    /// Code of the caller threw an error: `prepare`, or the closure that builds a request from a dependency.
    case generalError(any Error)
    /// The request cannot be sent as it is; the text says what is wrong. Nothing left the process.
    case invalidRequest(String)
    /// The answer was not an HTTP response.
    case invalidResponseType(URLResponse)
    /// The server answered with a status that validation refuses, 400 and above by default; with the body.
    case endpointError(HTTPURLResponse, Data)
    /// The server answered without a body where one is needed.
    case noResponseData(HTTPURLResponse)
    /// The server answered with a status below 400 or a content type that validation refuses.
    case unacceptableResponse(HTTPURLResponse, Data, reason: String)
    /// The body grew past `limit` bytes and was not read further.
    case responseTooLarge(limit: Int64)
    /// The body could not be decoded; with the decoder's error and the response.
    indirect case decodingFailed(any Error, NetworkResponse)
    /// The operation's `timeout` ran out.
    case deadlineExceeded
    /// A dependency failed or was cancelled; with the error that began it, also at the end of a long chain.
    case dependencyFailed(any Error)
    /// There is no credential: none is set, or it could not be renewed.
    case authenticationFailed(any Error)
    /// Every retry was used up: the number of attempts made, and the error of the last.
    indirect case inaccessible(after: Int, last: NetworkError)
    /// The session was invalidated, before the request or while it was on the wire.
    case sessionInvalidated
    /// A file could not be read, written or moved.
    case fileError(any Error)
}

extension NetworkError {
    /// Whether the failure is transient, so that the same request may succeed later.
    ///
    /// It says nothing of whether sending again is safe; see ``RetryPolicy`` for the method rule. The statuses are 408,
    /// 421, 425, 429, 444, 500, 502, 503, 504 and 599, and 413 when it carries `Retry-After` (RFC 9110, 6585, 8470).
    public var shouldRetry: Bool {
        switch self {
        case .urlError(let error):
            error.isTransient
        case .endpointError(let response, _):
            switch response.statusCode {
            case 408, 421, 425, 429, 444, 500, 502, 503, 504, 599: true
            // Whether the header says anything does not depend on the time.
            case 413: RetryAfter.delay(in: response, now: .distantPast) != nil
            default: false
            }
        case .cancelled, .generalError, .invalidRequest, .invalidResponseType, .noResponseData, .unacceptableResponse,
            .responseTooLarge, .decodingFailed, .deadlineExceeded, .dependencyFailed, .authenticationFailed,
            .inaccessible, .sessionInvalidated, .fileError:
            false
        }
    }

    /// The HTTP response that came with the failure, if one came; that of the last attempt once retries are used up.
    public var response: HTTPURLResponse? {
        switch self {
        case .endpointError(let response, _), .noResponseData(let response), .unacceptableResponse(let response, _, _):
            response
        case .decodingFailed(_, let response): response.http
        case .inaccessible(_, let last): last.response
        case .cancelled, .urlError, .generalError, .invalidRequest, .invalidResponseType, .responseTooLarge,
            .deadlineExceeded, .dependencyFailed, .authenticationFailed, .sessionInvalidated, .fileError:
            nil
        }
    }

    /// Whether the failure proves that the server never saw the request, so that any method may be sent again.
    var provesUnsent: Bool {
        guard case .urlError(let error) = self else { return false }
        switch error.code {
        case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet: return true
        default: return false
        }
    }

    /// Whether the connection ended under the request, as one does that the server closed while it was idle.
    var isLostConnection: Bool {
        guard case .urlError(let error) = self else { return false }
        return error.code == .networkConnectionLost
    }

    /// The error that a closure of the caller threw, as one of ours.
    init(thrown error: any Error) {
        switch error {
        case let error as NetworkError: self = error
        case let error as URLError: self = error.code == .cancelled ? .cancelled : .urlError(error)
        case is CancellationError: self = .cancelled
        default: self = .generalError(error)
        }
    }
}

extension URLError {
    fileprivate var isTransient: Bool {
        switch code {
        case .timedOut, .networkConnectionLost, .badServerResponse, .secureConnectionFailed, .cannotFindHost,
            .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet:
            true
        default:
            false
        }
    }
}
