import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Which headers stay with the origin that they were made for.
enum ConfidentialHeaders {
    /// Whether a header with this name goes to no other origin.
    ///
    /// - Parameter further: names that the caller keeps back besides.
    static func contains(_ name: String, further: Set<String> = []) -> Bool {
        let name = name.lowercased()
        if further.contains(where: { $0.lowercased() == name }) { return true }
        let words = name.split { $0 == "-" || $0 == "_" }
        if words.contains(where: { secretWords.contains($0) }) { return true }
        // A key of somebody's, and not the key of something, as in Idempotency-Key.
        guard let key = words.lastIndex(of: "key"), key > 0 else { return false }
        return keyOwners.contains(words[key - 1])
    }

    private static let secretWords: Set<Substring> = [
        "authorization", "authentication", "auth", "cookie", "cookie2", "token", "accesstoken", "authtoken", "apitoken",
        "apikey", "accesskey", "secret", "password", "passwd", "credential", "credentials", "jwt", "csrf", "xsrf",
        "dpop",
        "session", "sessionid",
    ]
    private static let keyOwners: Set<Substring> = [
        "api", "access", "app", "application", "auth", "client", "consumer", "functions", "master", "private", "secret",
        "service", "subscription", "user", "rapidapi",
    ]
}

extension URLRequest {
    /// Whether both go to the same scheme, host and port.
    func hasSameOrigin(as other: URLRequest) -> Bool {
        originKey == other.originKey
    }

    /// Removes the headers that stay with their origin, where `isUnwanted` says so of name and value.
    mutating func removeConfidentialHeaders(
        further: Set<String> = [], where isUnwanted: (_ name: String, _ value: String) -> Bool = { _, _ in true }
    ) {
        for (name, value) in allHTTPHeaderFields ?? [:]
        where ConfidentialHeaders.contains(name, further: further) && isUnwanted(name, value) {
            setValue(nil, forHTTPHeaderField: name)
        }
    }
}
