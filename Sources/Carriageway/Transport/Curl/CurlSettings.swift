#if os(Linux)
    import CarriagewayCurl
    import Foundation
    import FoundationNetworking

    /// What a session's configuration means for libcurl; the same for all its requests.
    struct CurlSettings: Sendable {
        let headers: [(name: String, value: String)]
        /// Those alone, for the many requests that have none of their own.
        let usualHeaders = CurlHeaders()
        let userAgent: String
        let cookies: CurlCookies?
        let maxConnectionsPerHost: Int
        /// Seconds.
        private let usualIdleTimeout: TimeInterval
        let wholeTimeout: Duration?
        /// Nil if the environment counts.
        let proxies: CurlProxies?
        let options: NetworkSession.CurlOptions
        /// What a URL's server is judged by beyond the usual.
        let trust: @Sendable (URL) -> CurlTrust?

        init(
            _ configuration: URLSessionConfiguration, options: NetworkSession.CurlOptions,
            trust: @escaping @Sendable (URL) -> CurlTrust?
        ) {
            let configuration = configuration.adapted()
            // Those of the configuration are the session's to add.
            headers = Self.languages.map { [("Accept-Language", $0)] } ?? []
            for header in headers { _ = usualHeaders.add(header.name, header.value) }
            userAgent = "\(ProcessInfo.processInfo.processName) (unknown version) curl/\(CurlLibrary.version)"
            cookies = CurlCookies(configuration)
            maxConnectionsPerHost = configuration.httpMaximumConnectionsPerHost
            usualIdleTimeout = configuration.timeoutIntervalForRequest
            wholeTimeout = configuration.wholeTimeout
            proxies = configuration.connectionProxyDictionary.map { CurlProxies($0) }
            self.options = options
            self.trust = trust
        }

        /// How long a transfer may be idle, in nanoseconds.
        func idleTimeout(of request: URLRequest) -> UInt64 {
            Self.nanoseconds(request.idleTimeout(usual: usualIdleTimeout))
        }

        /// What is no number of seconds means the default.
        private static func nanoseconds(_ seconds: TimeInterval) -> UInt64 {
            guard seconds > 0 else { return 60_000_000_000 }
            return UInt64(min(seconds, Duration.longest.inSeconds) * 1e9)
        }

        /// As Foundation sends it: the languages of the user, each liked a little less than the one before.
        private static let languages: String? = {
            let languages = Locale.preferredLanguages.prefix(6).filter { RequestCheck.isSendable("A", $0) }
            guard !languages.isEmpty else { return nil }
            return languages.enumerated().map { $0 == 0 ? $1 : "\($1);q=0.\(10 - $0)" }.joined(separator: ", ")
        }()
    }

    /// The session's cookies, which libcurl itself knows nothing of.
    struct CurlCookies: Sendable {
        private let storage: HTTPCookieStorage

        init?(_ configuration: URLSessionConfiguration) {
            guard configuration.httpShouldSetCookies, let storage = configuration.httpCookieStorage else { return nil }
            self.storage = storage
        }

        /// The value of the `Cookie` header for a URL; nil if there are no cookies for it.
        func header(for url: URL) -> String? {
            guard let stored = storage.cookies(for: url), !stored.isEmpty else { return nil }
            // Foundation on Linux gives those of other paths of the host too.
            let path = url.path.isEmpty ? "/" : url.path
            let cookies = stored.filter { cookie in
                Self.matches(path, cookie.path) && (!cookie.isSecure || url.scheme == "https")
                    && (cookie.expiresDate ?? .distantFuture) > Date()
            }
            guard !cookies.isEmpty else { return nil }
            let value = HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
            return value.flatMap { RequestCheck.isSendable("Cookie", $0) ? $0 : nil }
        }

        /// Whether a cookie of that path is sent with requests to this one (RFC 6265, section 5.1.4).
        private static func matches(_ path: String, _ own: String) -> Bool {
            guard path.hasPrefix(own) else { return false }
            return path.utf8.count == own.utf8.count || own.hasSuffix("/")
                || path.utf8[path.utf8.index(path.utf8.startIndex, offsetBy: own.utf8.count)] == UInt8(ascii: "/")
        }

        /// Stores what a response to `url` has set; may write to disk.
        func store(_ values: [String], of url: URL) {
            let cookies = values.flatMap { HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": $0], for: url) }
            if !cookies.isEmpty { storage.setCookies(cookies, for: url, mainDocumentURL: nil) }
        }
    }
#endif
