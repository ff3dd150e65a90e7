import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// What `URLSession` on Linux needs so that it neither traps nor differs from Apple's systems: all of it is here.

extension URLSessionConfiguration {
    /// A copy that a session can be made with.
    func adapted() -> URLSessionConfiguration {
        guard let copy = self.copy() as? URLSessionConfiguration else { return self }
        // Foundation on Linux traps on values that are no strings.
        copy.httpAdditionalHeaders = copy.httpAdditionalHeaders?.reduce(into: [:]) { headers, header in
            headers[header.key] = header.value as? String ?? "\(header.value)"
        }
        #if canImport(FoundationNetworking)
            // With a cache the process dies when a task is cancelled soon after it was resumed; it never stores anything.
            copy.urlCache = nil
            // Credentials that Foundation finds are tried again without end when they are wrong.
            copy.urlCredentialStorage = nil
            copy.timeoutIntervalForRequest = Self.wholeSeconds(copy.timeoutIntervalForRequest)
        #endif
        return copy
    }

    /// Foundation on Linux cuts the fraction of a timeout off, so that 0.5 s fails at once, and traps on a huge one.
    static func wholeSeconds(_ interval: TimeInterval) -> TimeInterval {
        guard interval > 0 else { return 60 }
        return min(max(interval.rounded(.up), 1), 365 * 86_400)
    }
}

extension URLRequest {
    /// The request with a timeout that the platform understands.
    func adapted(idleTimeout: Duration) -> URLRequest {
        var copy = self
        #if canImport(FoundationNetworking)
            copy.timeoutInterval = URLSessionConfiguration.wholeSeconds(idleTimeout.inSeconds)
        #else
            // Not a number, zero and below mean the default, as they do on Linux.
            if !(timeoutInterval > 0) { copy.timeoutInterval = 60 }
        #endif
        return copy
    }
}

extension URLError {
    /// The error with the code that Apple's systems give for the same fault.
    static func mapped(from error: any Error) -> URLError {
        guard let error = error as? URLError else { return URLError(.unknown) }
        #if canImport(FoundationNetworking)
            let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
            let text = underlying?.localizedDescription ?? error.localizedDescription
            guard let code = Code.onApple(for: error.code, text: text) else { return error }
            return URLError(code, userInfo: error.userInfo)
        #else
            return error
        #endif
    }
}

#if canImport(FoundationNetworking)
    extension URLError.Code {
        /// libcurl's failures reach us as -1 and a text; here they get their names back. Nil where the code is right.
        static func onApple(for code: URLError.Code, text: String) -> URLError.Code? {
            switch code {
            case .unsupportedURL:
                // The URL was checked before: what is not supported is the answer, such as HTTP/0.9 or no HTTP at all.
                return .cannotParseResponse
            case .badServerResponse:
                // The server closed the connection without a byte.
                return .networkConnectionLost
            case .unknown:
                let text = text.lowercased()
                return causes.first { cause in cause.words.contains { text.contains($0) } }?.code
            default:
                return nil
            }
        }

        private static let causes: [(words: [String], code: URLError.Code)] = [
            (["transfer closed", "outstanding read data", "partial file"], .networkConnectionLost),
            (
                ["self-signed", "self signed", "unable to get local issuer", "certificate verify failed"],
                .serverCertificateUntrusted
            ),
            (["certificate has expired"], .serverCertificateHasBadDate),
            (["certificate is not yet valid"], .serverCertificateNotYetValid),
            (["certificate", "no alternative certificate subject name"], .serverCertificateUntrusted),
            (["ssl", "tls"], .secureConnectionFailed),
            (
                ["content encoding", "unrecognized content", "error while processing content unencoding"],
                .cannotDecodeContentData
            ),
            (
                ["failed writing header", "header line", "out of memory", "weird server reply", "invalid"],
                .cannotParseResponse
            ),
        ]
    }
#endif
