import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension NetworkSession {
    /// How a session's bytes travel.
    public struct TransportKind: Sendable, Equatable {
        enum Choice: Sendable, Equatable {
            case urlSession
            #if os(Linux)
                case curl(CurlOptions)
            #endif
        }

        let choice: Choice

        /// Foundation's `URLSession`: the usual one, and the only one on Apple's systems.
        public static let urlSession = TransportKind(choice: .urlSession)

        #if os(Linux)
            /// libcurl 7.68 or newer, which Foundation on Linux itself loads, driven directly: a fraction of the cost of
            /// `URLSession` there, and none of its process deaths.
            ///
            /// Without such a libcurl every request of the session fails with ``TransportUnavailable``; see
            /// ``unavailability``.
            ///
            /// Of the configuration count: `timeoutIntervalForRequest` (to the millisecond), `timeoutIntervalForResource`,
            /// `httpAdditionalHeaders`, `httpMaximumConnectionsPerHost`, `httpCookieStorage` with `httpShouldSetCookies`
            /// and its accept policy, and `connectionProxyDictionary`; without the last the environment's `http_proxy`
            /// and the like. `urlCache`, `requestCachePolicy`, `networkServiceType`, `httpShouldUsePipelining` and
            /// `protocolClasses` have no effect. Certificates are judged by the bundle that libcurl was built with, as it was at
            /// most a day ago.
            public static let curl = TransportKind(choice: .curl(CurlOptions()))

            /// libcurl with options of its own.
            public static func curl(_ options: CurlOptions) -> TransportKind {
                TransportKind(choice: .curl(options))
            }

            /// libcurl over a Unix-domain socket: every request goes there, whatever host its URL names.
            public static func curl(unixSocket path: String) -> TransportKind {
                var options = CurlOptions()
                options.unixSocketPath = path
                return curl(options)
            }
        #else
            /// On Linux only.
            @available(*, unavailable, message: "libcurl is a transport on Linux only")
            public static var curl: TransportKind { urlSession }

            /// On Linux only.
            @available(*, unavailable, message: "libcurl is a transport on Linux only")
            public static func curl(unixSocket path: String) -> TransportKind { urlSession }
        #endif

        /// Why the transport cannot be used on this system; nil if it can.
        public var unavailability: TransportUnavailable? {
            switch choice {
            case .urlSession: nil
            #if os(Linux)
                case .curl: CurlLibrary.unavailability
            #endif
            }
        }

        func make(
            _ configuration: URLSessionConfiguration, _ serverTrust: ServerTrust, _ events: any TransportEvents
        ) -> any Transport {
            switch choice {
            case .urlSession:
                return URLSessionTransport(configuration: configuration, serverTrust: serverTrust, events: events)
            #if os(Linux)
                case .curl(let options):
                    do throws(TransportUnavailable) {
                        return try CurlTransport(
                            configuration: configuration, options: options,
                            trust: { CurlTrust(serverTrust.trust(for: $0)) }, events: events)
                    } catch {
                        return UnavailableTransport(reason: error, events: events)
                    }
            #endif
            }
        }
    }
}
