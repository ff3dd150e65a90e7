import Foundation

/// A URL from the command line that can be tried.
struct FetchTarget: Equatable, Sendable {
    let url: URL
    /// The URL as it was given, but for a password.
    let shown: String

    /// - Parameters:
    ///   - word: what was given.
    ///   - number: its place among the URLs, from 1; names it where it may not be shown.
    init(_ word: String, number: Int) throws(UsageError) {
        guard !word.isEmpty else { throw UsageError("URL \(number) is empty") }
        // It may be a header whose option was forgotten: not for the screen.
        guard !word.unicodeScalars.contains(where: { $0.value <= 0x20 || $0.value == 0x7F }) else {
            throw UsageError("URL \(number) has spaces or control characters")
        }
        guard let separator = word.range(of: "://"), separator.lowerBound > word.startIndex else {
            // Up to the colon: "Name:value" is shown without the value.
            let start = UsageError.quoted(word.prefix { $0 != ":" })
            throw UsageError("\(start) is no option and has no scheme: a URL begins with http:// or https://")
        }
        let scheme = word[..<separator.lowerBound]
        guard ["http", "https"].contains(scheme.lowercased()) else {
            throw UsageError("the scheme \(UsageError.quoted(scheme)) is not http or https")
        }
        guard let url = URL(string: word), let host = url.host, !host.isEmpty,
            url.port.map({ (1...65_535).contains($0) }) ?? true
        else {
            let shown = UsageError.quoted(Self.withoutPassword(word))
            throw UsageError("\(shown) is not a URL with a host and, if any, a port that exists")
        }
        self.url = url
        shown = Self.withoutPassword(word)
    }

    /// The text between "user:" and "@" is replaced.
    private static func withoutPassword(_ word: String) -> String {
        guard let separator = word.range(of: "://") else { return word }
        let authority = word[separator.upperBound...].prefix { !"/?#".contains($0) }
        guard let end = authority.lastIndex(of: "@"), let colon = authority[..<end].firstIndex(of: ":") else {
            return word
        }
        return word.replacingCharacters(in: word.index(after: colon)..<end, with: "***")
    }
}
