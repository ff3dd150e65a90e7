#if os(Linux)
    import CarriagewayCurl
    import Foundation

    /// Which servers are trusted beyond, or in place of, what the system does. What libcurl cannot do fails; nothing is let
    /// pass for want of a check.
    struct CurlTrust: Sendable, Hashable {
        /// Authorities in DER, in place of the system's; nil for those.
        var anchors: Set<Data>?
        /// SHA-256 of the public keys (SubjectPublicKeyInfo) of which the server's own certificate must have one; nil for
        /// any.
        var publicKeys: Set<Data>?

        /// What libcurl cannot be asked for.
        var refusal: String?

        init(anchors: Set<Data>? = nil, publicKeys: Set<Data>? = nil) {
            self.anchors = anchors
            self.publicKeys = publicKeys
        }

        /// Nil for the system's judgement. `trust` is that for one URL.
        init?(_ trust: ServerTrust) {
            switch trust.rule {
            case .system, .byHost: return nil
            case .publicKeys(let hashes): self.init(publicKeys: hashes)
            case .anchors(let certificates): self.init(anchors: certificates)
            case .certificates:
                self.init()
                refusal = "libcurl cannot look for a certificate in the server's chain; pin the server's public key"
            }
        }

        /// Nobody could be trusted.
        var trustsNobody: Bool { anchors?.isEmpty ?? false || publicKeys?.isEmpty ?? false }

        /// Sets it; 0, or libcurl's code if it cannot be.
        func apply(to easy: OpaquePointer) -> Int {
            var codes: [Int] = []
            if let anchors {
                // The system's authorities are a file and a folder by default.
                codes.append(cwcurl_set_text(easy, CWCURL_CAINFO, nil))
                codes.append(cwcurl_set_text(easy, CWCURL_CAPATH, nil))
                let text = Data(anchors.map(Self.pem).joined().utf8)
                codes.append(
                    text.withUnsafeBytes { cwcurl_set_blob(easy, CWCURL_CAINFO_BLOB, $0.baseAddress, $0.count) })
            }
            if let publicKeys {
                let text = publicKeys.map { "sha256//\($0.base64EncodedString())" }.joined(separator: ";")
                codes.append(cwcurl_set_text(easy, CWCURL_PINNEDPUBLICKEY, text))
            }
            return codes.first { $0 != 0 } ?? 0
        }

        private static func pem(_ certificate: Data) -> String {
            let text = certificate.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            return "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
        }
    }
#endif
