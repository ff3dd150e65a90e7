import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension NetworkError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What failed, in one line, without secrets.
    public var errorDescription: String? { description }

    /// What failed, in one line, without secrets.
    public var description: String {
        switch self {
        case .cancelled: "The request was cancelled."
        case .urlError(let error): "The transfer failed: \(error.plainText)."
        case .generalError(let error): "The request could not be made: \(Self.plainText(of: error))."
        case .invalidRequest(let reason): "The request is invalid: \(reason)."
        case .invalidResponseType(let response):
            "The answer from \(Self.place(of: response.url)) is not an HTTP response."
        case .endpointError(let response, _):
            "\(Self.place(of: response.url)) answered with status \(Self.status(of: response))."
        case .noResponseData(let response):
            "\(Self.place(of: response.url)) answered with status \(Self.status(of: response)) and no body."
        case .unacceptableResponse(let response, _, let reason):
            "The response from \(Self.place(of: response.url)) is not acceptable: \(reason)."
        case .responseTooLarge(let limit): "The response is larger than \(limit) bytes."
        case .decodingFailed(let error, let response):
            "The response from \(Self.place(of: response.http.url)) could not be decoded: \(Self.plainText(of: error))."
        case .deadlineExceeded: "The request did not end within its timeout."
        case .dependencyFailed(let error): "A request that this one depends on failed: \(Self.plainText(of: error))"
        case .authenticationFailed(AuthenticationError.missingCredential):
            "The request needs a credential, and none is set."
        case .authenticationFailed(let error): "The credential could not be renewed: \(Self.plainText(of: error))"
        case .inaccessible(let attempts, let last): "No success after \(attempts) attempts. \(last.description)"
        case .sessionInvalidated: "The session was invalidated."
        case .fileError(let error): "A file could not be read or written: \(Self.plainText(of: error))."
        }
    }

    /// The same, with what came of a response that was refused: the names of its headers and the length of its body.
    ///
    /// The headers' values and the body are not shown, since either may hold a secret: they are in ``response`` and in the
    /// case itself.
    public var debugDescription: String {
        guard let response else { return description }
        let names = response.allHeaderFields.keys.map { "\($0)" }.sorted().joined(separator: ", ")
        let length = body.map { ", body: \($0.count) bytes" } ?? ""
        return "\(description) [headers: \(names.isEmpty ? "none" : names)\(length)]"
    }

    private var body: Data? {
        switch self {
        case .endpointError(_, let data), .unacceptableResponse(_, let data, _): data
        case .decodingFailed(_, let response): response.data
        case .inaccessible(_, let last): last.body
        default: nil
        }
    }

    /// What dumps show: the same as ``description``. What the cases hold, such as headers and bodies, is left out.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description], displayStyle: .enum)
    }

    /// Scheme, host, port and path of a URL: no user, password, query or fragment.
    private static func place(of url: URL?) -> String {
        guard let url, var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return "The server" }
        parts.user = nil
        parts.password = nil
        parts.query = nil
        parts.fragment = nil
        return parts.string ?? "The server"
    }

    private static func status(of response: HTTPURLResponse) -> String {
        "\(response.statusCode) (\(HTTPURLResponse.localizedString(forStatusCode: response.statusCode)))"
    }

    /// An error of somebody else in words. Values that it may hold are not printed, only its kind and its own text.
    private static func plainText(of error: any Error) -> String {
        switch error {
        case let error as NetworkError: error.description
        case let error as URLError: error.plainText
        case let error as DecodingError: error.plainText
        case let error as any LocalizedError: error.errorDescription ?? String(describing: type(of: error))
        default: "\(type(of: error))"
        }
    }
}

extension URLError {
    /// The failure in words, with its number; `userInfo` is left out, since it holds the URL.
    fileprivate var plainText: String {
        let words: String =
            switch code {
            case .timedOut: "timed out"
            case .networkConnectionLost: "the connection was lost"
            case .cannotFindHost: "the host was not found"
            case .dnsLookupFailed: "the name lookup failed"
            case .cannotConnectToHost: "no connection to the host"
            case .notConnectedToInternet: "not connected to the internet"
            case .badServerResponse: "a bad response from the server"
            case .cannotParseResponse: "the response is not HTTP"
            case .cannotDecodeContentData, .cannotDecodeRawData: "the body's encoding is broken"
            case .secureConnectionFailed: "no secure connection"
            case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
                .serverCertificateHasUnknownRoot:
                "the server's certificate is not trusted"
            case .httpTooManyRedirects: "too many redirects"
            case .unsupportedURL: "the URL is not supported"
            case .badURL: "the URL is malformed"
            default: "URL error"
            }
        return "\(words) (\(code.rawValue))"
    }
}

extension DecodingError {
    /// What does not fit and where, without the values.
    fileprivate var plainText: String {
        switch self {
        case .typeMismatch(let type, let context): "not a \(type) at \(Self.path(context.codingPath))"
        case .valueNotFound(let type, let context): "no \(type) at \(Self.path(context.codingPath))"
        case .keyNotFound(let key, let context): "no key \"\(key.stringValue)\" at \(Self.path(context.codingPath))"
        case .dataCorrupted(let context): "malformed data at \(Self.path(context.codingPath))"
        @unknown default: "malformed data"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce("$") { path, key in key.intValue.map { "\(path)[\($0)]" } ?? "\(path).\(key.stringValue)" }
    }
}
