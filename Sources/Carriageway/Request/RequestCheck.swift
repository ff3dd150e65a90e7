import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The check that every request passes before it leaves: what would hang, trap or inject fails here with a reason.
enum RequestCheck {
    /// The request as it can be sent: scheme in small letters, a content type where there is a body.
    ///
    /// - Parameters:
    ///   - body: what is sent with it, if it has no body of its own.
    ///   - takesIPv6: whether the transport can reach a host that is given as an IPv6 address.
    static func checked(
        _ request: URLRequest, body: RequestBody? = nil, takesIPv6: Bool = true
    ) throws(NetworkError) -> URLRequest {
        var request = request
        // Assigning would copy the request, also where nothing changes.
        if let normalized = try normalized(request.url, takesIPv6) { request.url = normalized }
        try checkMethodAndBody(of: request, hasBody: body.map { !$0.isInMemory } ?? false)
        for (name, value) in request.allHTTPHeaderFields ?? [:] {
            try checkHeader(name, value)
        }
        // Foundation would say application/x-www-form-urlencoded for some kinds of task, and nothing for others.
        if request.httpBody != nil || request.httpBodyStream != nil,
            request.value(forHTTPHeaderField: "Content-Type") == nil
        {
            request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
        }
        return request
    }

    /// The URL with its scheme in small letters; nil if that is how it is.
    private static func normalized(_ url: URL?, _ takesIPv6: Bool) throws(NetworkError) -> URL? {
        guard let url, !url.absoluteString.isEmpty else { throw .invalidRequest("the URL is empty") }
        if PlainAddress(url) != nil { return nil }
        guard let scheme = url.scheme else { throw .invalidRequest("the URL has no scheme") }
        let plainScheme = scheme.lowercased()
        guard plainScheme == "http" || plainScheme == "https" else {
            throw .invalidRequest("the scheme \"\(scheme)\" is not http or https")
        }
        guard let host = url.host, !host.isEmpty else { throw .invalidRequest("the URL has no host") }
        guard host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw .invalidRequest("the host has blanks or control characters")
        }
        if let port = url.port {
            guard 1...65_535 ~= port else { throw .invalidRequest("the port \(port) does not exist") }
        } else if hasPort(url) {
            throw .invalidRequest("the port is not a number that a port can have")
        }
        guard takesIPv6 || !host.utf8.contains(UInt8(ascii: ":")) else {
            throw .invalidRequest("URLSession on Linux cannot send to an IPv6 address")
        }
        guard scheme != plainScheme else { return nil }
        // Foundation on Linux takes "HTTP" for an unknown scheme.
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.scheme = plainScheme
        guard let normalized = parts?.url else { throw .invalidRequest("the URL is malformed") }
        return normalized
    }

    /// Whether there is a port in the URL, also one so large that `URL` does not give it.
    private static func hasPort(_ url: URL) -> Bool {
        let bytes = url.absoluteString.utf8
        guard let scheme = bytes.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let authority = bytes[scheme...].dropFirst(3).prefix { !"/?#".utf8.contains($0) }
        let afterUser = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[$0...].dropFirst() } ?? authority
        guard let colon = afterUser.lastIndex(of: UInt8(ascii: ":")) else { return false }
        let port = afterUser[colon...].dropFirst()
        return !port.isEmpty && !port.contains(UInt8(ascii: "]"))
    }

    private static func checkMethodAndBody(of request: URLRequest, hasBody: Bool) throws(NetworkError) {
        let method = request.httpMethod ?? "GET"
        guard isToken(method) else { throw .invalidRequest("the method is not a token of RFC 9110") }
        // URLSession refuses a GET with a body after it has been sent on its way; an empty one counts as none.
        guard method == "GET" || method == "HEAD" else { return }
        guard request.httpBody?.isEmpty ?? true, request.httpBodyStream == nil, !hasBody else {
            throw .invalidRequest("a \(method) request has no body")
        }
    }

    /// Whether a header can be sent; for those of a session's configuration, which are left out otherwise.
    static func isSendable(_ name: String, _ value: String) -> Bool {
        (try? checkHeader(name, value)) != nil
    }

    private static func checkHeader(_ name: String, _ value: String) throws(NetworkError) {
        guard isToken(name) else { throw .invalidRequest("a header name is not a token of RFC 9110") }
        switch name.lowercased() {
        case "content-length", "transfer-encoding", "host", "connection", "expect":
            throw .invalidRequest("the header \(name) is set by the transport")
        default: break
        }
        let isClean = value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
        guard isClean else { throw .invalidRequest("the value of the header \(name) has control characters") }
    }

    /// Whether the text is a token (RFC 9110, section 5.6.2).
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}

extension URLRequest {
    /// Host and port, under which slots, holds and budgets are kept; the port is given even where it is the usual one.
    var hostKey: String {
        guard let url else { return "" }
        if let plain = PlainAddress(url) { return plain.key }
        guard let host = url.host else { return "" }
        return "\(host.lowercased()):\(url.port ?? (url.scheme == "https" ? 443 : 80))"
    }
}
