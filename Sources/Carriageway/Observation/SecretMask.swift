import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Which parts of a request are not shown in events, logs and cURL commands.
///
/// ```swift
/// let queue = NetworkQueue(session: session) {
///     $0.secretMask.queryNames.insert("customer")
/// }
/// ```
///
/// User names and passwords in URLs, the values of listed query items and headers, and fragments are replaced by `***`; names are compared
/// without regard to case. Nothing can be known of secrets in a path. Bodies are not part of any event.
public struct SecretMask: Sendable, Hashable {
    /// The query items whose values are masked, beside those whose names speak of a secret, as "refresh_token" does.
    public var queryNames: Set<String>

    /// The headers whose values are masked, beside those whose names speak of a secret, as "X-Api-Key" does.
    public var headerNames: Set<String>

    private let isOff: Bool

    /// A mask for the usual secrets and for the given names.
    public init(queryNames: Set<String> = [], headerNames: Set<String> = []) {
        self.queryNames = queryNames
        self.headerNames = headerNames
        isOff = false
    }

    private init(isOff: Bool) {
        queryNames = []
        headerNames = []
        self.isOff = isOff
    }

    /// The usual secrets.
    public static let standard = SecretMask()

    /// Shows everything. For use on one's own machine only: what is shown may be worth an account.
    public static let none = SecretMask(isOff: true)

    static let mask = "***"

    func hides(queryName: String) -> Bool {
        if isOff { return false }
        let name = queryName.lowercased()
        return Self.secretQueryNames.contains(Self.letters(of: name)) || Self.speaksOfSecret(name)
            || queryNames.contains { $0.lowercased() == name }
    }

    func hides(headerName: String) -> Bool {
        if isOff { return false }
        let name = headerName.lowercased()
        return Self.secretHeaderNames.contains(name) || Self.speaksOfSecret(name)
            || name.hasSuffix("-key") && name != "idempotency-key" || headerNames.contains { $0.lowercased() == name }
    }

    private static let secretHeaderNames: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "cookie2", "set-cookie", "set-cookie2",
    ]

    /// Without the signs that are no letters or digits.
    private static let secretQueryNames: Set<String> = [
        "key", "code", "sig", "sid", "pass", "pwd", "pin", "otp", "hash", "user", "username", "email", "login",
    ]

    private static let secretWords = [
        "token", "secret", "password", "passwd", "passphrase", "apikey", "accesskey", "privatekey", "subscriptionkey",
        "signature", "credential", "assertion", "session", "jwt", "auth", "cookie", "codeverifier", "nonce",
    ]

    private static func speaksOfSecret(_ name: String) -> Bool {
        let letters = letters(of: name)
        return secretWords.contains { letters.contains($0) }
    }

    private static func letters(of name: String) -> String {
        String(name.unicodeScalars.filter { CharacterSet.alphanumerics.contains($0) })
    }
}

extension SecretMask {
    /// The URL as it may be shown. It is taken as it is written, so that one that cannot be parsed is masked too.
    func masked(_ url: URL) -> String {
        if isOff { return url.absoluteString }
        var rest = Substring(url.absoluteString)
        var fragment = ""
        if let sign = rest.firstIndex(of: "#") {
            fragment = "#" + Self.mask
            rest = rest[..<sign]
        }
        var query = ""
        if let sign = rest.firstIndex(of: "?") {
            query = "?" + masked(query: rest[rest.index(after: sign)...])
            rest = rest[..<sign]
        }
        return masked(place: rest) + query + fragment
    }

    /// Scheme, authority and path, without user and password.
    private func masked(place: Substring) -> String {
        guard let slashes = place.range(of: "//") else { return String(place) }
        let authority = place[slashes.upperBound...].prefix { $0 != "/" && $0 != "\\" }
        guard let sign = authority.lastIndex(of: "@") else { return String(place) }
        return place[..<slashes.upperBound] + Self.mask + place[sign...]
    }

    private func masked(query: Substring) -> String {
        var parts: [String] = []
        for part in query.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "&" || $0 == ";" }) {
            guard let sign = part.firstIndex(of: "=") else {
                parts.append(String(part))
                continue
            }
            let name = part[..<sign]
            // A name that is not valid encoding could be anything.
            let plainName = name.replacingOccurrences(of: "+", with: " ").removingPercentEncoding
            parts.append(plainName.map { !hides(queryName: $0) } ?? false ? String(part) : "\(name)=\(Self.mask)")
        }
        return parts.joined(separator: "&")
    }
}
