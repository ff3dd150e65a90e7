#if os(Linux)
    import CarriagewayCurl
    import Foundation

    /// The libcurl of this process.
    enum CurlLibrary {
        /// Why there is none that can be used; nil if there is.
        static let unavailability: TransportUnavailable? = {
            switch cwcurl_load() {
            case CWCURL_LOADED: nil
            case CWCURL_TOO_OLD: TransportUnavailable(reason: "libcurl \(version) is older than 7.68")
            case CWCURL_INCOMPLETE: TransportUnavailable(reason: "libcurl.so.4 lacks functions that it should have")
            default: TransportUnavailable(reason: "there is no libcurl.so.4")
            }
        }()

        /// "7.88.1", for example.
        static var version: String { String(cString: cwcurl_version()) }

        static let http2 = Int(CWCURL_FEATURE_HTTP2)

        /// Whether a handle that is used again holds on to the last header of the transfer before, which is freed by then.
        ///
        /// A server whose first header begins with a blank, as if it went on with that, then ends the process:
        /// https://github.com/curl/curl/issues/11101, in the versions from 7.83 on; https://github.com/curl/curl/issues/11620
        /// is the last that is known of it. These versions show each line of a head as a part of the body first, if asked to,
        /// and the transfer can be ended then. A handle of its own for each transfer would cost two microseconds.
        static let remembersHeaders = isAtLeast(7, 83) && !isAtLeast(8, 3)

        /// Whether the system's authorities are to be had from one file, and libcurl keeps what it has read of it (from 7.87
        /// on, for a day), provided that it is told to look into no folder besides.
        ///
        /// Else each new connection with TLS reads them all: 140 of them keep the event thread for 20 ms.
        static let keepsAuthorities: Bool = {
            guard unavailability == nil, isAtLeast(7, 87), let easy = cwcurl_easy_make() else { return false }
            defer { cwcurl_easy_free(easy) }
            guard let bundle = cwcurl_get_text(easy, CWCURL_INFO_CAINFO) else { return false }
            return FileManager.default.isReadableFile(atPath: String(cString: bundle))
        }()

        static func has(_ feature: Int) -> Bool { Int(cwcurl_features()) & feature != 0 }

        static func isAtLeast(_ major: UInt32, _ minor: UInt32) -> Bool {
            cwcurl_version_number() >= major << 16 | minor << 8
        }
    }
#endif
