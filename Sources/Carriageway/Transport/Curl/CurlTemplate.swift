#if os(Linux)
    import CarriagewayCurl

    /// What holds for every transfer of a session: an easy handle that is copied, never used.
    final class CurlTemplate {
        private let settings: CurlSettings
        /// Nil if there is no memory for one.
        private let easy = cwcurl_easy_make()
        /// How long a connection may be idle, if the session says so; 0 would be no limit to libcurl.
        let idleConnectionSeconds: Int?
        /// 0, or libcurl's code for what it does not take.
        private(set) var code = 0

        init(settings: CurlSettings, socketObserver: UnsafeMutablePointer<cwcurl_socket_observer>) {
            self.settings = settings
            idleConnectionSeconds = settings.options.idleConnectionTimeout.map {
                Int(min(max($0.inSeconds.rounded(.up), 1), 1e9))
            }
            guard let easy else { return }
            code = setUp(easy, socketObserver).first { $0 != 0 } ?? 0
        }

        deinit {
            if let easy { cwcurl_easy_free(easy) }
        }

        /// A handle for a transfer over http; nil if there is no memory for one.
        func copy() -> OpaquePointer? { easy.flatMap { cwcurl_easy_copy($0) } }

        private func setUp(
            _ easy: OpaquePointer, _ socketObserver: UnsafeMutablePointer<cwcurl_socket_observer>
        ) -> [Int] {
            var codes = [
                cwcurl_set_long(easy, CWCURL_NOSIGNAL, 1),
                cwcurl_set_long(easy, CWCURL_FOLLOWLOCATION, 0),
                cwcurl_set_long(easy, CWCURL_PROTOCOLS, CWCURL_PROTOCOL_HTTP | CWCURL_PROTOCOL_HTTPS),
                cwcurl_set_long(easy, CWCURL_REDIR_PROTOCOLS, CWCURL_PROTOCOL_HTTP | CWCURL_PROTOCOL_HTTPS),
                cwcurl_set_callbacks(
                    easy, CurlCallbacks.head, CurlCallbacks.body, CurlCallbacks.upload, CurlCallbacks.seek,
                    CurlCallbacks.prerequest),
                cwcurl_set_socket_observer(easy, socketObserver),
                cwcurl_set_text(easy, CWCURL_ACCEPT_ENCODING, ""),
                cwcurl_set_text(easy, CWCURL_USERAGENT, settings.userAgent),
                cwcurl_set_long(easy, CWCURL_HTTP_VERSION, CWCURL_HTTP_1_1),
            ]
            if CurlLibrary.remembersHeaders { codes.append(cwcurl_set_long(easy, CWCURL_HEADER, 1)) }
            if CurlLibrary.has(CWCURL_FEATURE_TLS) { codes += setUpTLS(easy) }
            setProxy(of: easy, isSecure: false)
            if let path = settings.options.unixSocketPath {
                codes.append(cwcurl_set_text(easy, CWCURL_UNIX_SOCKET_PATH, path))
            }
            if let seconds = idleConnectionSeconds {
                codes.append(cwcurl_set_long(easy, CWCURL_MAXAGE_CONN, seconds))
            }
            // Good to have, but nothing depends on them.
            cwcurl_set_long(easy, CWCURL_SUPPRESS_CONNECT_HEADERS, 1)
            // Else a transfer that is cancelled while its host's name is looked up keeps the thread until the answer.
            cwcurl_set_long(easy, CWCURL_QUICK_EXIT, 1)
            cwcurl_set_long(easy, CWCURL_PATH_AS_IS, 1)
            // Just small enough that glibc does not tidy up its whole heap each time that libcurl lets go of it.
            cwcurl_set_long(easy, CWCURL_BUFFERSIZE, 60 << 10)
            return codes
        }

        private func setUpTLS(_ easy: OpaquePointer) -> [Int] {
            let options = settings.options
            var codes = [
                cwcurl_set_long(easy, CWCURL_SSL_VERIFYPEER, 1),
                cwcurl_set_long(easy, CWCURL_SSL_VERIFYHOST, 2),
                cwcurl_set_long(
                    easy, CWCURL_SSLVERSION, options.minimumTLSVersion == .v1_2 ? CWCURL_TLS_1_2 : CWCURL_TLS_1_3),
            ]
            if CurlLibrary.keepsAuthorities { codes.append(cwcurl_set_text(easy, CWCURL_CAPATH, nil)) }
            guard let own = options.clientCertificate else { return codes }
            codes.append(cwcurl_set_text(easy, CWCURL_SSLCERT, own.certificate.path))
            codes.append(cwcurl_set_text(easy, CWCURL_SSLCERTTYPE, own.key == nil ? "P12" : "PEM"))
            if let key = own.key { codes.append(cwcurl_set_text(easy, CWCURL_SSLKEY, key.path)) }
            // Without any, OpenSSL would ask for one at the terminal, and the thread would wait for an answer.
            codes.append(cwcurl_set_text(easy, CWCURL_KEYPASSWD, own.password?.text ?? ""))
            return codes
        }

        /// The configuration's proxy for http or https; an empty one keeps libcurl from looking into the environment.
        func setProxy(of easy: OpaquePointer, isSecure: Bool) {
            guard let proxies = settings.proxies else { return }
            cwcurl_set_text(easy, CWCURL_PROXY, (isSecure ? proxies.secure : proxies.plain) ?? "")
            cwcurl_set_text(easy, CWCURL_NOPROXY, proxies.exceptions ?? "")
        }
    }
#endif
