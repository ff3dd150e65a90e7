import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One entry of ``Authenticator/hosts``, read.
///
/// In doubt nothing matches: a credential that is missing is a 401, one that went to the wrong host is a leak.
struct HostPattern: Equatable {
    private enum Name: Equatable {
        case exact(HostName)
        /// Every name that ends in this, which begins with a dot.
        case below(String)
    }

    private let name: Name
    private let port: Int?

    /// Nil for a text that is no pattern.
    init?(_ text: String) {
        guard let (host, port) = Self.parts(of: text) else { return nil }
        self.port = port
        if host.hasPrefix("*.") {
            guard case .registered(let domain) = HostName(String(host.dropFirst(2))) else { return nil }
            name = .below(".\(domain)")
        } else {
            guard let host = HostName(host) else { return nil }
            name = .exact(host)
        }
    }

    func matches(_ host: HostName, port: Int?) -> Bool {
        if let wanted = self.port, wanted != port { return false }
        switch (name, host) {
        case (.exact(let name), _): return name == host
        case (.below(let suffix), .registered(let text)): return text.hasSuffix(suffix) && text != suffix
        case (.below, .address): return false
        }
    }

    /// Host and port of "host", "host:port", "[address]", "[address]:port", or an IPv6 address as it stands.
    private static func parts(of text: String) -> (host: String, port: Int?)? {
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let host = String(text[...end])
            let rest = text[text.index(after: end)...]
            return rest.isEmpty ? (host, nil) : port(rest).map { (host, $0) }
        }
        guard let colon = text.lastIndex(of: ":"), text.firstIndex(of: ":") == colon else { return (text, nil) }
        return port(text[colon...]).map { (String(text[..<colon]), $0) }
    }

    /// The number after a colon.
    private static func port(_ text: Substring) -> Int? {
        let digits = text.dropFirst()
        guard text.first == ":", digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let port = Int(digits), 1...65_535 ~= port
        else { return nil }
        return port
    }
}

/// A host in the form in which two that are the same are equal.
enum HostName: Equatable {
    /// A name, in small letters.
    case registered(String)
    /// The bytes of an IPv4 or IPv6 address.
    case address([UInt8])

    /// Nil for what is no host: empty, with an empty part, percent-encoded, or with characters that no name has.
    init?(_ text: String) {
        if text.utf8.contains(UInt8(ascii: ":")) || text.hasPrefix("[") {
            let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
            guard let bytes = Self.address(isBracketed ? String(text.dropFirst().dropLast()) : text, AF_INET6, 16)
            else { return nil }
            self = .address(bytes)
        } else if let bytes = Self.address(text, AF_INET, 4) {
            self = .address(bytes)
        } else {
            guard let name = Self.name(text) else { return nil }
            self = .registered(name)
        }
    }

    private static func name(_ text: String) -> String? {
        var text = text
        if !text.utf8.allSatisfy({ $0 < 0x80 }) {
            // An international name, in the form that goes over the wire.
            guard let encoded = URL(string: "https://\(text)/")?.host else { return nil }
            text = encoded
        }
        let isName = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        guard isName, labels.allSatisfy({ !$0.isEmpty }) else { return nil }
        return text.lowercased()
    }

    private static func address(_ text: String, _ family: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return inet_pton(family, text, &bytes) == 1 ? bytes : nil
    }
}

/// All entries of ``Authenticator/hosts``, read once.
struct HostPatterns {
    private let patterns: [HostPattern]
    /// Whether an entry is none, so that its credential would be sent nowhere.
    let isFaulty: Bool

    init(_ hosts: Set<String>) {
        patterns = hosts.compactMap(HostPattern.init)
        isFaulty = patterns.count < hosts.count
    }

    /// Whether one of the entries matches the URL. The scheme matters for the port only, where the URL has none.
    func cover(_ url: URL) -> Bool {
        guard !patterns.isEmpty, let host = url.host(percentEncoded: true).flatMap(HostName.init) else { return false }
        let port = url.port ?? Self.usualPort(of: url)
        return patterns.contains { $0.matches(host, port: port) }
    }

    private static func usualPort(of url: URL) -> Int? {
        switch url.scheme?.lowercased() {
        case "http": 80
        case "https": 443
        default: nil
        }
    }
}
