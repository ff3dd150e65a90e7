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
            public static let curl = TransportKind(choice: .curl(CurlOptions()))

            /// libcurl over a Unix-domain socket: every request goes there, whatever host its URL names.
            public static func curl(unixSocket path: String) -> TransportKind {
                TransportKind(choice: .curl(CurlOptions(unixSocketPath: path)))
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

        func make(_ configuration: URLSessionConfiguration, _ events: any TransportEvents) -> any Transport {
            switch choice {
            case .urlSession: return URLSessionTransport(configuration: configuration, events: events)
            #if os(Linux)
                case .curl(let options):
                    do throws(TransportUnavailable) {
                        return try CurlTransport(configuration: configuration, options: options, events: events)
                    } catch {
                        return UnavailableTransport(reason: error, events: events)
                    }
            #endif
            }
        }
    }
}
