import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// What `URLSession` on Linux needs so that it neither traps nor differs from Apple's systems: all of it is here.

extension URLSessionConfiguration {
    /// A copy that a session can be made with.
    func adapted() -> URLSessionConfiguration {
        guard let copy = self.copy() as? URLSessionConfiguration else { return self }
        // What is no number of seconds means the default.
        if !(copy.timeoutIntervalForRequest > 0) { copy.timeoutIntervalForRequest = 60 }
        #if canImport(FoundationNetworking)
            // With a cache the process dies when a task is cancelled soon after it was resumed; it never stores anything.
            copy.urlCache = nil
            // Credentials that Foundation finds are tried again without end when they are wrong.
            copy.urlCredentialStorage = nil
        #endif
        return copy
    }

    /// A copy with a few connections more for each host than slots are given out: a request past every queue, as to renew
    /// a token, would else wait for those that wait for it.
    func withSpareConnections() -> URLSessionConfiguration {
        guard httpMaximumConnectionsPerHost > 0, let copy = self.copy() as? URLSessionConfiguration else { return self }
        let (sum, isTooLarge) = httpMaximumConnectionsPerHost.addingReportingOverflow(4)
        if !isTooLarge { copy.httpMaximumConnectionsPerHost = sum }
        return copy
    }

    /// How long an attempt may take in all; nil for the default, a week, which is not worth a timer for each request.
    var wholeTimeout: Duration? {
        let timeout = timeoutIntervalForResource
        return timeout > 0 && timeout < 7 * 86_400 ? .saturating(seconds: timeout) : nil
    }

    /// A copy for the transport: the session adds the headers itself, to the requests but not to those that a redirect
    /// leads to.
    var withoutHeaders: URLSessionConfiguration {
        guard let copy = self.copy() as? URLSessionConfiguration else { return self }
        copy.httpAdditionalHeaders = nil
        return copy
    }

    /// The headers that all requests get, those left out that cannot be sent.
    var sendableHeaders: [String: String] {
        // Foundation on Linux traps on names and values that are no strings, and sends line ends in them as they are.
        (httpAdditionalHeaders ?? [:]).reduce(into: [:]) { headers, header in
            let name = header.key.base as? String ?? "\(header.key.base)"
            let value = header.value as? String ?? "\(header.value)"
            if RequestCheck.isSendable(name, value) { headers[name] = value }
        }
    }

    #if canImport(FoundationNetworking)
        /// A copy for a session that keeps no idle timeout, as its exchanges do.
        ///
        /// Foundation on Linux makes another timer for each line of a response's head, and wakes a thread to do so: that is a
        /// quarter of all that a small request costs. And it cuts the fraction of a timeout off, so that 0.5 s fails at once.
        func withoutIdleTimeout() -> URLSessionConfiguration {
            guard let copy = self.copy() as? URLSessionConfiguration else { return self }
            copy.timeoutIntervalForRequest = URLRequest.endless
            return copy
        }
    #endif
}

extension URLRequest {
    /// The request with those of the headers that it does not have.
    func adding(_ headers: [String: String]) -> URLRequest {
        guard !headers.isEmpty else { return self }
        var copy = self
        for (name, value) in headers where self.value(forHTTPHeaderField: name) == nil {
            copy.setValue(value, forHTTPHeaderField: name)
        }
        return copy
    }

    /// How many seconds a transfer may be idle; `usual` is the session's. What is no number of seconds counts as the
    /// default.
    func idleTimeout(usual: TimeInterval) -> TimeInterval {
        #if canImport(FoundationNetworking)
            // Foundation on Linux cannot tell a request's own timeout from the default of 60 s.
            if timeoutInterval == 60 { return usual }
        #endif
        return timeoutInterval > 0 ? timeoutInterval : 60
    }

    #if canImport(FoundationNetworking)
        /// So many seconds that Dispatch never has to look for their end, and that Foundation can count them in milliseconds.
        fileprivate static let endless: TimeInterval = 1e15

        /// The request for a session without idle timeout. Also of one that has the default of 60 s: it cannot be told whether
        /// that was set, and counts then.
        var withoutIdleTimeout: URLRequest {
            var copy = self
            copy.timeoutInterval = Self.endless
            return copy
        }
    #else
        /// The request with a timeout that is one.
        func withTimeout() -> URLRequest {
            guard !(timeoutInterval > 0) else { return self }
            var copy = self
            copy.timeoutInterval = 60
            return copy
        }
    #endif
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
            (["transfer closed", "outstanding read data", "partial file", "send failure"], .networkConnectionLost),
            (
                ["self-signed", "self signed", "unable to get local issuer", "certificate verify failed"],
                .serverCertificateUntrusted
            ),
            (["certificate has expired"], .serverCertificateHasBadDate),
            (["certificate is not yet valid"], .serverCertificateNotYetValid),
            (["certificate", "no alternative certificate subject name"], .serverCertificateUntrusted),
            (["ssl", "tls"], .secureConnectionFailed),
            // Apple tells what is encoded in an unknown way from what is encoded badly.
            (["unrecognized content encoding type"], .cannotDecodeContentData),
            (["content encoding", "content or transfer-encoding", "content unencoding"], .cannotDecodeRawData),
            (
                [
                    "failed writing header", "header line", "out of memory", "hexadecimal", "chunk",
                    "weird server reply", "invalid", "header without colon", "nul byte in header", "bad argument",
                ],
                .cannotParseResponse
            ),
        ]
    }
#endif
