#if os(Linux)
    import CarriagewayCurl
    import Foundation
    import FoundationNetworking

    /// A failure as libcurl tells it, and what Apple's systems call the same.
    struct CurlFault {
        let code: Int
        let text: String
        /// OpenSSL's verdict on the server's certificate, where there is one.
        var verification = 0
        /// The last `errno` of connecting.
        var systemError = 0

        init(code: Int, text: String, verification: Int = 0, systemError: Int = 0) {
            self.code = code
            self.text = text
            self.verification = verification
            self.systemError = systemError
        }

        init(code: Int, text: String, easy: OpaquePointer) {
            let verification = cwcurl_get_long(easy, CWCURL_INFO_SSL_VERIFYRESULT)
            let systemError = cwcurl_get_long(easy, CWCURL_INFO_OS_ERRNO)
            self.init(code: code, text: text, verification: verification, systemError: systemError)
        }

        /// What went wrong, in words.
        var reason: String {
            // libcurl up to 8.5 runs out of the memory that it allows for a header line, and says so.
            if code == CWCURL_OUT_OF_MEMORY || code == CWCURL_TOO_LARGE {
                return "a header line of the response is larger than 100 KB"
            }
            // So it calls a line that goes on with one that there is not, or that has no colon before a CR.
            if code == CWCURL_BAD_ARGUMENT, !isUnusableKey { return "a header line of the response makes no sense" }
            return isHeadTooLarge ? "the head of the response is larger than 300 KB" : text
        }

        /// The key of the client's certificate, in a version after 8.5; those before have a code for it.
        private var isUnusableKey: Bool { text.hasPrefix("unable to set private key") }

        private var isHeadTooLarge: Bool { text.hasPrefix("Too large response headers") }

        var urlErrorCode: URLError.Code {
            switch code {
            case CWCURL_BAD_ARGUMENT where isUnusableKey: .clientCertificateRejected
            // The URL's scheme was checked: it is the answer that is no HTTP, or HTTP/0.9.
            case CWCURL_UNSUPPORTED_PROTOCOL, CWCURL_WEIRD_SERVER_REPLY, CWCURL_OUT_OF_MEMORY, CWCURL_TOO_LARGE,
                CWCURL_BAD_ARGUMENT:
                .cannotParseResponse
            case CWCURL_URL_MALFORMAT: .badURL
            case CWCURL_COULDNT_RESOLVE_HOST, CWCURL_COULDNT_RESOLVE_PROXY: .cannotFindHost
            case CWCURL_COULDNT_CONNECT:
                systemError == Int(ENETUNREACH) ? .notConnectedToInternet : .cannotConnectToHost
            case CWCURL_PROXY_ERROR: .cannotConnectToHost
            case CWCURL_SEND_ERROR: judgement ?? .networkConnectionLost
            case CWCURL_PARTIAL_FILE, CWCURL_GOT_NOTHING, CWCURL_SEND_FAIL_REWIND, CWCURL_ABORTED_BY_CALLBACK,
                CWCURL_HTTP2, CWCURL_HTTP2_STREAM, CWCURL_HTTP3:
                .networkConnectionLost
            case CWCURL_RECV_ERROR: received
            case CWCURL_OPERATION_TIMEDOUT: .timedOut
            case CWCURL_SSL_CONNECT_ERROR, CWCURL_SSL_CIPHER, CWCURL_SSL_SHUTDOWN_FAILED, CWCURL_SSL_ENGINE_NOTFOUND:
                judgement ?? .secureConnectionFailed
            case CWCURL_SSL_CERTPROBLEM: .clientCertificateRejected
            case CWCURL_SSL_CLIENTCERT: .clientCertificateRequired
            case CWCURL_PEER_FAILED_VERIFICATION: certificate
            case CWCURL_SSL_CACERT_BADFILE, CWCURL_SSL_CRL_BADFILE, CWCURL_SSL_ISSUER_ERROR,
                CWCURL_SSL_PINNEDPUBKEYNOTMATCH, CWCURL_SSL_INVALIDCERTSTATUS:
                .serverCertificateUntrusted
            // Apple tells what is encoded in an unknown way from what is encoded badly.
            case CWCURL_BAD_CONTENT_ENCODING:
                text.hasPrefix("Unrecognized content encoding") ? .cannotDecodeContentData : .cannotDecodeRawData
            default: .unknown
            }
        }

        /// What cannot be read, be it that the peer has left or that its chunks make no sense.
        private var received: URLError.Code {
            if let judgement { return judgement }
            if isHeadTooLarge { return .cannotParseResponse }
            if isRefusedTunnel { return .cannotConnectToHost }
            let text = text.lowercased()
            return ["chunk", "hexadecimal", "malformed", "invalid"].contains { text.contains($0) }
                ? .cannotParseResponse : .networkConnectionLost
        }

        /// The proxy said no to `CONNECT`, in the words of versions before and after 7.87.
        private var isRefusedTunnel: Bool {
            text.hasPrefix("CONNECT tunnel failed") || text.hasSuffix("from proxy after CONNECT")
        }

        /// What the server thinks of the client's certificate, if it said so: by an alert (RFC 8446, section 6.2), in the words
        /// of OpenSSL. With TLS 1.3 it comes when the handshake is over for the client.
        private var judgement: URLError.Code? {
            guard let alert = text.range(of: " alert ") else { return nil }
            let words = text[alert.upperBound...]
            if words.hasPrefix("certificate required") { return .clientCertificateRequired }
            return Self.rejections.contains { words.hasPrefix($0) } ? .clientCertificateRejected : nil
        }

        private static let rejections = [
            "bad certificate", "unsupported certificate", "certificate revoked", "certificate expired",
            "certificate unknown", "unknown ca", "access denied",
        ]

        /// Numbers of X509_V_ERR of OpenSSL.
        private var certificate: URLError.Code {
            switch verification {
            case 9: .serverCertificateNotYetValid
            case 10: .serverCertificateHasBadDate
            default: .serverCertificateUntrusted
            }
        }
    }

    extension URLError {
        /// An error as Foundation makes it, with words and the URL that failed.
        static func curl(_ code: Code, _ reason: String, _ url: URL?) -> URLError {
            var information: [String: Any] = [NSLocalizedDescriptionKey: reason]
            if let url { information[NSURLErrorFailingURLErrorKey] = url }
            return URLError(code, userInfo: information)
        }
    }
#endif
