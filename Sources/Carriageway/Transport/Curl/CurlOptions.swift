#if os(Linux)
    import Foundation

    extension NetworkSession {
        /// What a session over libcurl can be told beyond its configuration.
        public struct CurlOptions: Sendable, Hashable {
            /// Every request goes over this Unix-domain socket, whatever host its URL names; nil for the network.
            public var unixSocketPath: String?

            /// The oldest version of TLS that is spoken; 1.2 unless changed.
            public var minimumTLSVersion = TLSVersion.v1_2

            /// What the client shows to servers that ask for a certificate; nil for nothing.
            public var clientCertificate: ClientCertificate?

            /// How long a connection may be without use and still be taken for the next request, in whole seconds, rounded up;
            /// nil for 118 s. Less than a load balancer allows spares the requests that it would cut off. One that is not
            /// idempotent takes none that was idle for longer than 4 s.
            public var idleConnectionTimeout: Duration?

            /// The usual: the network, TLS 1.2 or newer, no client certificate.
            public init() {}
        }

        /// A version of TLS (RFC 5246, RFC 8446).
        public enum TLSVersion: Sendable, Hashable {
            /// TLS 1.2.
            case v1_2
            /// TLS 1.3.
            case v1_3
        }

        /// A certificate with its private key, in files. They are read when a connection is made; if they cannot be, the
        /// request fails with `URLError.clientCertificateRejected`.
        public struct ClientCertificate: Sendable, Hashable {
            let certificate: URL
            let key: URL?
            let password: Secret?

            /// Two files in PEM: the certificate, which may be followed by those that signed it, and the key.
            ///
            /// - Parameters:
            ///   - certificate: where the certificate is.
            ///   - key: where the key is.
            ///   - password: of the key's file, if it has one; no description shows it.
            public static func pem(certificate: URL, key: URL, password: String? = nil) -> ClientCertificate {
                ClientCertificate(certificate: certificate, key: key, password: password.map { Secret($0) })
            }

            /// One file in PKCS 12 (RFC 7292).
            ///
            /// - Parameters:
            ///   - file: where it is.
            ///   - password: of the file, if it has one; no description shows it.
            public static func pkcs12(_ file: URL, password: String? = nil) -> ClientCertificate {
                ClientCertificate(certificate: file, key: nil, password: password.map { Secret($0) })
            }
        }
    }
#endif
