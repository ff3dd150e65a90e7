import Foundation

/// Which servers an https connection trusts. The name in the certificate has to be the host's in every case, and there is no
/// way to trust everybody.
///
/// ```swift
/// let trust = ServerTrust.pinnedPublicKeys([oldKey, nextKey])
/// let session = NetworkSession(
///     configuration: .ephemeral,
///     serverTrust: .byHost(["api.example.com": trust]))
/// ```
///
/// `URLSession` on Linux judges by the system's authorities and lets nobody have a say. A session over it that is asked for
/// anything but ``system`` fails each https request with ``NetworkError/invalidRequest(_:)``, rather than send it over a
/// connection that was not judged as asked. Over libcurl (``NetworkSession/TransportKind/curl``) a pinned public key has to
/// be that of the server's own certificate, and pinned certificates are refused in the same way.
public struct ServerTrust: Sendable, Hashable {
    package indirect enum Rule: Sendable, Hashable {
        case system
        case publicKeys(Set<Data>)
        case certificates(Set<Data>)
        case anchors(Set<Data>)
        case byHost([String: ServerTrust], otherwise: ServerTrust)
    }

    package let rule: Rule

    /// As the system judges, and no more.
    public static let system = ServerTrust(rule: .system)

    /// As the system judges, and besides a certificate of the chain must have one of these public keys.
    ///
    /// - Parameter hashes: the SHA-256 of each key's SubjectPublicKeyInfo, 32 bytes (RFC 7469, section 2.4), as this gives
    ///   them: `openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary`. Give the
    ///   next key too, before it is in use. Without any nobody is trusted.
    public static func pinnedPublicKeys(_ hashes: Set<Data>) -> ServerTrust {
        ServerTrust(rule: .publicKeys(hashes))
    }

    /// As the system judges, and besides the chain must have one of these certificates.
    ///
    /// - Parameter certificates: in DER. Without any nobody is trusted.
    public static func pinnedCertificates(_ certificates: Set<Data>) -> ServerTrust {
        ServerTrust(rule: .certificates(certificates))
    }

    /// These authorities in place of the system's: for servers with certificates of one's own.
    ///
    /// - Parameter certificates: in DER. Without any nobody is trusted.
    public static func anchors(_ certificates: Set<Data>) -> ServerTrust {
        ServerTrust(rule: .anchors(certificates))
    }

    /// One for each host, by entries as "api.example.com", "127.0.0.1:8443", "*.example.com"; the most exact entry counts.
    ///
    /// - Parameters:
    ///   - trusts: which trust for which entry.
    ///   - otherwise: for hosts without an entry.
    public static func byHost(_ trusts: [String: ServerTrust], otherwise: ServerTrust = .system) -> ServerTrust {
        ServerTrust(rule: .byHost(trusts, otherwise: otherwise))
    }

    /// What holds for a URL: never a ``byHost(_:otherwise:)``.
    package func trust(for url: URL) -> ServerTrust {
        guard case .byHost(let trusts, let otherwise) = rule else { return self }
        let trust = HostPatterns.mostExact(in: trusts, for: url) ?? otherwise
        return trust.trust(for: url)
    }
}

extension HostPatterns {
    /// The value of the entry that matches the URL: a host before a wildcard, a longer text before a shorter.
    static func mostExact<Value>(in values: [String: Value], for url: URL) -> Value? {
        values.filter { HostPatterns([$0.key]).cover(url) }
            .min { ($0.key.hasPrefix("*") ? 1 : 0, -$0.key.count) < ($1.key.hasPrefix("*") ? 1 : 0, -$1.key.count) }?
            .value
    }
}
