import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Joins the URL of a server with the path and the query of an endpoint.
enum EndpointURL {
    /// The base's path, then the endpoint's, with one slash between, whichever of both has it; an empty path adds nothing.
    /// The base's query comes before the endpoint's.
    static func join(_ base: URL, _ path: String, _ query: [URLQueryItem]) throws(NetworkError) -> URL {
        try check(base)
        try check(path)
        let text = base.absoluteString
        let front = text.prefix { $0 != "?" }
        let baseQuery = text.dropFirst(front.count + 1)
        var joined = String(front)
        if !path.isEmpty {
            if joined.hasSuffix("/") { joined.removeLast() }
            joined += "/" + PercentEncoding.path(path.hasPrefix("/") ? path.dropFirst() : path[...])
        }
        let queries = [String(baseQuery), PercentEncoding.query(query)].filter { !$0.isEmpty }
        if !queries.isEmpty { joined += "?" + queries.joined(separator: "&") }
        guard let url = URL(string: joined) else {
            throw .invalidRequest("base URL and path make no URL together")
        }
        return url
    }

    /// The base of a host by itself, port included.
    static func base(scheme: String, host: String) throws(NetworkError) -> URL {
        if host.isEmpty { throw .invalidRequest("the host is empty") }
        if host.contains("://") {
            throw .invalidRequest("the host has a scheme in it; it is a name alone, or a name and a port")
        }
        if let wrong = host.unicodeScalars.first(where: { "/\\?#@%".unicodeScalars.contains($0) || $0.value <= 0x20 }) {
            let name = wrong.value <= 0x20 ? "a blank or control character" : "a \"\(wrong)\""
            throw .invalidRequest("the host has \(name) in it; it is a name alone, or a name and a port")
        }
        guard let url = URL(string: "\(scheme)://\(host)") else {
            throw .invalidRequest("scheme and host make no URL")
        }
        try check(url)
        return url
    }

    private static func check(_ base: URL) throws(NetworkError) {
        do throws(NetworkError) {
            _ = try RequestCheck.checked(URLRequest(url: base))
        } catch {
            guard case .invalidRequest(let reason) = error else { throw error }
            throw .invalidRequest("the base URL cannot be used: \(reason)")
        }
        guard base.fragment == nil else { throw .invalidRequest("the base URL has a fragment") }
    }

    private static func check(_ path: String) throws(NetworkError) {
        let bytes = Array(path.utf8)
        if bytes.contains(UInt8(ascii: "?")) {
            throw .invalidRequest("the path has a question mark; a query goes into `query`, and in a segment it is %3F")
        }
        if bytes.contains(UInt8(ascii: "#")) {
            throw .invalidRequest("the path has a #, which begins a fragment; in a segment it is %23")
        }
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "%") {
            let digits = bytes[(index + 1)...].prefix(2)
            guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
                throw .invalidRequest("the path has a % without two hexadecimal digits; by itself it is %25")
            }
        }
        let scheme = path.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        if !scheme.isEmpty, path.dropFirst(scheme.count).hasPrefix("://") {
            throw .invalidRequest("the path is a URL of its own; it is relative to the base URL")
        }
        for segment in path.split(separator: "/") {
            // In any spelling: URL parsers take %2e for a dot here.
            let plain = segment.lowercased().replacingOccurrences(of: "%2e", with: ".")
            if plain == "." || plain == ".." {
                throw .invalidRequest("the path has the segment \"\(plain)\", which leads to another folder")
            }
        }
    }
}
