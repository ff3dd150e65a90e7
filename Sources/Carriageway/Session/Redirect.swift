import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Where a 3xx response leads (RFC 9110, section 15.4): a pure decision.
///
/// The platform is never let to follow by itself: on Linux it keeps `Authorization` and `Cookie` on the way to another
/// host, loses the body after 307 and 308, and resolves a relative `Location` wrongly.
enum Redirect: Equatable {
    /// The response is the answer.
    case stay
    /// This request is sent next.
    case follow(URLRequest)
    /// The way is forbidden.
    case refuse(URLError.Code)

    /// How many redirects one attempt follows.
    static let limit = 20

    init(
        of response: HTTPURLResponse, to request: URLRequest, followed: Int, allowsInsecure: Bool = false,
        confidentialHeaders: Set<String> = []
    ) {
        guard Self.leadsOn(response.statusCode), let origin = request.url,
            let location = response.value(forHTTPHeaderField: "Location")?.trimmingCharacters(in: .whitespaces),
            !location.isEmpty, let target = Self.target(location, from: origin)
        else {
            self = .stay
            return
        }
        guard followed < Self.limit else {
            self = .refuse(.httpTooManyRedirects)
            return
        }
        guard target.scheme == "http" || target.scheme == "https" else {
            self = .refuse(.unsupportedURL)
            return
        }
        if origin.scheme == "https", target.scheme == "http", !allowsInsecure {
            self = .refuse(.appTransportSecurityRequiresSecureConnection)
            return
        }
        self = Self.step(
            from: request, to: target, status: response.statusCode, confidentialHeaders: confidentialHeaders)
    }

    /// Whether a response with this status leads on, if it says where to.
    static func leadsOn(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    private static func step(
        from request: URLRequest, to target: URL, status: Int, confidentialHeaders: Set<String>
    ) -> Redirect {
        var next = request
        next.url = target
        let method = request.httpMethod ?? "GET"
        if method == "POST" && (status == 301 || status == 302) || status == 303 && method != "HEAD" {
            next.httpMethod = "GET"
            next.httpBody = nil
            next.httpBodyStream = nil
            for header in ["Content-Type", "Content-Encoding", "Content-Language", "Content-Location"] {
                next.setValue(nil, forHTTPHeaderField: header)
            }
        } else if request.httpBodyStream != nil {
            // The stream has been read: it cannot be sent a second time.
            return .stay
        }
        if !next.hasSameOrigin(as: request) { next.removeConfidentialHeaders(further: confidentialHeaders) }
        return .follow(next)
    }

    /// The absolute URL, its scheme in small letters as the origin's is, with the old fragment if the new one has none
    /// (RFC 9110, section 10.2.2).
    private static func target(_ location: String, from origin: URL) -> URL? {
        guard let url = URL(string: location, relativeTo: origin)?.absoluteURL,
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return nil }
        if let scheme = parts.scheme { parts.scheme = scheme.lowercased() }
        if parts.percentEncodedFragment == nil, origin.fragment != nil {
            // Taken as it is written: the decoded one would be encoded anew.
            parts.percentEncodedFragment =
                URLComponents(url: origin, resolvingAgainstBaseURL: true)?.percentEncodedFragment
        }
        return parts.url
    }
}
