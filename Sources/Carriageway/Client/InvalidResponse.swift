import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A response that validation refused, for ``APIClient/recover`` to answer in its stead.
public struct InvalidResponse: Sendable {
    /// Why it was refused: ``NetworkError/endpointError(_:_:)`` or ``NetworkError/unacceptableResponse(_:_:reason:)``.
    public let error: NetworkError

    /// Status and headers.
    public let http: HTTPURLResponse

    /// The body.
    public let data: Data

    /// The request as it was sent.
    public let request: URLRequest

    /// Every attempt that was made, the refused one last.
    public let attempts: [NetworkAttempt]

    /// The same response with another body, to be taken for a success.
    public func answer(_ data: Data) -> NetworkResponse {
        NetworkResponse(data: data, http: http, request: request, attempts: attempts)
    }

    /// Nil if the failure is another than that of a response.
    init?(_ error: NetworkError, request: URLRequest, attempts: [NetworkAttempt]) {
        switch error {
        case .endpointError(let http, let data), .unacceptableResponse(let http, let data, _):
            self.http = http
            self.data = data
        default: return nil
        }
        self.error = error
        self.request = request
        self.attempts = attempts
    }
}
