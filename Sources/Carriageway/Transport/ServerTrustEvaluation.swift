#if canImport(Security)
    import CryptoKit
    import Foundation
    import Security

    /// Judges a server's certificates on Apple's systems.
    ///
    /// This file is compiled and run on Apple's systems only.
    extension ServerTrust {
        /// Whether a connection to `url` may go on with these certificates.
        ///
        /// The policy that `URLSession` has set in `trust` stays, so that the host's name and the dates are judged in every
        /// case. It may take a while and read from the network: never on a queue that others wait for.
        func accepts(_ trust: SecTrust, for url: URL) -> Bool {
            switch self.trust(for: url).rule {
            case .system, .byHost:
                return SecTrustEvaluateWithError(trust, nil)
            case .publicKeys(let hashes):
                return SecTrustEvaluateWithError(trust, nil)
                    && Self.chain(of: trust).contains { certificate in
                        guard let key = CertificateKey.subjectPublicKeyInfo(of: certificate) else { return false }
                        return hashes.contains(Data(SHA256.hash(data: key)))
                    }
            case .certificates(let pins):
                return SecTrustEvaluateWithError(trust, nil) && Self.chain(of: trust).contains { pins.contains($0) }
            case .anchors(let anchors):
                let certificates = anchors.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
                // An empty list, or one with what is no certificate, must not fall back to the system's.
                guard !certificates.isEmpty, certificates.count == anchors.count,
                    SecTrustSetAnchorCertificates(trust, certificates as CFArray) == errSecSuccess,
                    SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
                else { return false }
                return SecTrustEvaluateWithError(trust, nil)
            }
        }

        /// The certificates in DER, the server's own first; those of the chain that was judged.
        private static func chain(of trust: SecTrust) -> [Data] {
            let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []
            return chain.map { SecCertificateCopyData($0) as Data }
        }
    }
#endif
