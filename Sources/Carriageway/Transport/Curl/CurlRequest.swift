#if os(Linux)
    import CarriagewayCurl
    import Foundation
    import FoundationNetworking

    /// A request as libcurl takes it: made on the thread of who sends it, so that the event thread has little to do.
    ///
    /// It is handed from one thread to the other by way of the inbox's lock, and is used by one of them at a time.
    final class CurlRequest: @unchecked Sendable {
        /// Set when the request is accepted, before the event thread sees it.
        var identifier = 0
        let url: URL
        let address: String
        let method: String
        let isSecure: Bool
        let body: CurlBody
        /// In nanoseconds.
        let idleTimeout: UInt64
        let mayBeSentTwice: Bool
        let storesCookies: Bool
        /// How the server is judged beyond the usual.
        let trust: CurlTrust?
        private(set) var headers: CurlHeaders?
        /// Why the request cannot be sent.
        private(set) var failure: NetworkError?

        init(_ request: URLRequest, body: TransportBody, settings: CurlSettings) {
            let url = request.url ?? URL(fileURLWithPath: "/")
            self.url = url
            address = url.absoluteString
            method = request.httpMethod ?? "GET"
            isSecure = url.isSecure
            idleTimeout = settings.idleTimeout(of: request)
            mayBeSentTwice = MethodRule.mayBeSentTwice(request)
            storesCookies = settings.cookies != nil && request.httpShouldHandleCookies
            trust = isSecure ? settings.trust(url) : nil
            do throws(NetworkError) {
                self.body = try CurlBody(body)
                // A C string ends at a NUL, and a line at its end: neither comes this far.
                let isClean = address.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
                if !isClean { failure = .urlError(URLError(.badURL)) }
                if trust?.trustsNobody == true { failure = .urlError(URLError(.serverCertificateUntrusted)) }
            } catch {
                self.body = .none
                failure = error
            }
            addHeaders(of: request, settings)
        }

        private func addHeaders(of request: URLRequest, _ settings: CurlSettings) {
            let own = request.allHTTPHeaderFields ?? [:]
            var cookie: String?
            if storesCookies, !Self.has("Cookie", own) { cookie = settings.cookies?.header(for: url) }
            guard !own.isEmpty || cookie != nil || sendsLength else { return headers = settings.usualHeaders }
            let headers = CurlHeaders()
            self.headers = headers
            for (name, value) in own { add(name, value, to: headers) }
            for (name, value) in settings.headers where !Self.has(name, own) { add(name, value, to: headers) }
            if let cookie { add("Cookie", cookie, to: headers) }
            guard sendsLength else { return }
            // libcurl would wait a second for the server's word before it sends a large body.
            add("Expect", nil, to: headers)
            if !Self.has("Content-Type", own) { add("Content-Type", nil, to: headers) }
        }

        private func add(_ name: String, _ value: String?, to headers: CurlHeaders) {
            if failure == nil, !headers.add(name, value) {
                failure = .invalidRequest("the value of the header \(name) has control characters")
            }
        }

        /// Whether a length is sent also when there is no body (RFC 9110, section 8.6).
        var sendsLength: Bool {
            if case .none = body { return method == "POST" || method == "PUT" || method == "PATCH" }
            return true
        }

        private static func has(_ name: String, _ fields: [String: String]) -> Bool {
            fields.keys.contains { $0.utf8.count == name.utf8.count && $0.lowercased() == name.lowercased() }
        }
    }

    /// A request's body as the event thread reads it.
    enum CurlBody {
        case none
        case data(Data)
        case reader(CurlBodyReader, length: Int64?)

        /// - Throws: what keeps the body from being opened.
        init(_ body: TransportBody) throws(NetworkError) {
            let length = try body.length()
            if let length, length < 0 { throw .invalidRequest("the length of the body is negative") }
            switch body {
            case .none: self = .none
            case .data(let data): self = data.isEmpty ? .none : .data(data)
            case .file, .stream: self = .reader(try CurlBodyReader(body), length: length)
            }
        }
    }
#endif
