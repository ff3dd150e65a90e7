#if os(Linux)
    import CarriagewayCurl
    import Foundation

    /// An easy handle of libcurl's with the transfer that it makes; used for one after the other.
    final class CurlHandle {
        private(set) var easy: OpaquePointer
        var transfer: CurlTransfer?
        private unowned let loop: CurlLoop
        private let settings: CurlSettings
        private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: errorSize)
        /// Whether more is set than what every transfer sets for itself.
        private var isSpecial = true
        private var isSecure = false
        private var isUsed = false

        private static let errorSize = 256
        /// The most that is handed on at once, in bytes.
        private static let portion = 256 << 10

        init?(loop: CurlLoop, settings: CurlSettings) {
            guard let easy = cwcurl_easy_make() else { return nil }
            self.easy = easy
            self.loop = loop
            self.settings = settings
        }

        deinit {
            cwcurl_easy_free(easy)
            errorText.deallocate()
        }

        /// Makes the handle ready to send a request; 0, or libcurl's code for what is wrong with it.
        func prepare(_ transfer: CurlTransfer) -> Int {
            let request = transfer.request
            self.transfer = transfer
            errorText[0] = 0
            if isUsed, CurlLibrary.remembersHeaders {
                guard let fresh = cwcurl_easy_make() else { return CWCURL_OUT_OF_MEMORY }
                cwcurl_easy_free(easy)
                easy = fresh
                (isSpecial, isUsed) = (true, false)
            }
            if isSpecial {
                if isUsed { cwcurl_easy_reset(easy) }
                let code = setUp()
                guard code == 0 else { return code }
                isSpecial = false
            }
            isUsed = true
            if isSecure != request.isSecure {
                isSecure = request.isSecure
                setProxy()
                // Waiting for a connection that others can share makes sense where HTTP/2 may be spoken.
                let isShared = isSecure && CurlLibrary.has(CWCURL_FEATURE_HTTP2)
                cwcurl_set_long(easy, CWCURL_HTTP_VERSION, isShared ? CWCURL_HTTP_2_OVER_TLS : CWCURL_HTTP_1_1)
                cwcurl_set_long(easy, CWCURL_PIPEWAIT, isShared ? 1 : 0)
            }
            cwcurl_set_list(easy, CWCURL_HTTPHEADER, request.headers)
            // So that the second of two addresses is tried while there is time.
            cwcurl_set_long(
                easy, CWCURL_CONNECTTIMEOUT_MS, Int(min(max(request.idleTimeout / 1_000_000, 1), 86_400_000)))
            setMethod(of: request)
            if let trust = request.trust {
                isSpecial = true
                let code = trust.apply(to: easy)
                guard code == 0 else { return code }
            }
            return cwcurl_set_text(easy, CWCURL_URL, request.address)
        }

        /// The configuration's proxy for http or https; an empty one keeps libcurl from looking into the environment.
        private func setProxy() {
            guard let proxies = settings.proxies else { return }
            cwcurl_set_text(easy, CWCURL_PROXY, (isSecure ? proxies.secure : proxies.plain) ?? "")
            cwcurl_set_text(easy, CWCURL_NOPROXY, proxies.exceptions ?? "")
        }

        /// What holds for every transfer.
        private func setUp() -> Int {
            isSecure = false
            let context = Unmanaged.passUnretained(self).toOpaque()
            var codes = [
                cwcurl_set_long(easy, CWCURL_NOSIGNAL, 1),
                cwcurl_set_long(easy, CWCURL_FOLLOWLOCATION, 0),
                cwcurl_set_long(easy, CWCURL_PROTOCOLS, CWCURL_PROTOCOL_HTTP | CWCURL_PROTOCOL_HTTPS),
                cwcurl_set_long(easy, CWCURL_REDIR_PROTOCOLS, CWCURL_PROTOCOL_HTTP | CWCURL_PROTOCOL_HTTPS),
                cwcurl_set_callbacks(
                    easy, context, CurlCallbacks.head, CurlCallbacks.body, CurlCallbacks.upload, CurlCallbacks.seek),
                cwcurl_set_socket_observer(easy, loop.socketObserver),
                cwcurl_set_pointer(easy, CWCURL_ERRORBUFFER, errorText),
                cwcurl_set_text(easy, CWCURL_ACCEPT_ENCODING, ""),
                cwcurl_set_text(easy, CWCURL_USERAGENT, settings.userAgent),
                cwcurl_set_long(easy, CWCURL_HTTP_VERSION, CWCURL_HTTP_1_1),
            ]
            if CurlLibrary.has(CWCURL_FEATURE_TLS) { codes += setUpTLS() }
            setProxy()
            if let path = settings.options.unixSocketPath {
                codes.append(cwcurl_set_text(easy, CWCURL_UNIX_SOCKET_PATH, path))
            }
            if let share = loop.share { codes.append(cwcurl_set_share(easy, share)) }
            // Good to have, but nothing depends on them.
            cwcurl_set_prerequest(easy, context, CurlCallbacks.prerequest)
            cwcurl_set_long(easy, CWCURL_SUPPRESS_CONNECT_HEADERS, 1)
            // Else a transfer that is cancelled while its host's name is looked up keeps the thread until the answer.
            cwcurl_set_long(easy, CWCURL_QUICK_EXIT, 1)
            cwcurl_set_long(easy, CWCURL_PATH_AS_IS, 1)
            // Just small enough that glibc does not tidy up its whole heap each time that libcurl lets go of it.
            cwcurl_set_long(easy, CWCURL_BUFFERSIZE, 60 << 10)
            return codes.first { $0 != 0 } ?? 0
        }

        private func setUpTLS() -> [Int] {
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

        private func setMethod(of request: CurlRequest) {
            if request.method == "GET", case .none = request.body { return }
            isSpecial = true
            switch request.body {
            case .none where request.method == "HEAD": cwcurl_set_long(easy, CWCURL_NOBODY, 1)
            case .none where request.sendsLength:
                cwcurl_set_long(easy, CWCURL_POST, 1)
                cwcurl_set_int64(easy, CWCURL_POSTFIELDSIZE_LARGE, 0)
                cwcurl_set_text(easy, CWCURL_COPYPOSTFIELDS, "")
            case .none: break
            case .data(let data) where data.count <= 64 << 10:
                // It goes out with the head, in one piece.
                cwcurl_set_long(easy, CWCURL_POST, 1)
                cwcurl_set_int64(easy, CWCURL_POSTFIELDSIZE_LARGE, Int64(data.count))
                data.withUnsafeBytes { bytes in
                    _ = cwcurl_set_pointer(
                        easy, CWCURL_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
                }
                transfer?.sentCount = Int64(data.count)
            case .data(let data): setUpload(length: Int64(data.count))
            case .reader(_, let length): setUpload(length: length ?? -1)
            }
            if request.method != "HEAD" { cwcurl_set_text(easy, CWCURL_CUSTOMREQUEST, request.method) }
            guard !request.mayBeSentTwice else { return }
            if CurlLibrary.isAtLeast(7, 80) {
                // A server that closes idle connections is about to do so to one that was idle for long.
                cwcurl_set_long(easy, CWCURL_MAXAGE_CONN, 4)
            } else {
                // Without word of a second sending only a connection of its own makes sure that there is none.
                cwcurl_set_long(easy, CWCURL_FRESH_CONNECT, 1)
            }
        }

        private func setUpload(length: Int64) {
            cwcurl_set_long(easy, CWCURL_UPLOAD, 1)
            cwcurl_set_int64(easy, CWCURL_INFILESIZE_LARGE, length)
        }

        /// libcurl's own words for what went wrong.
        func describe(_ code: Int) -> String {
            String(cString: errorText[0] != 0 ? UnsafePointer(errorText) : cwcurl_describe(code))
        }

        // MARK: Pausing

        func applyPause() {
            var bits = 0
            if transfer?.isPaused == true { bits |= CWCURL_PAUSE_RECEIVING }
            if transfer?.isWaitingForBody == true { bits |= CWCURL_PAUSE_SENDING }
            cwcurl_pause(easy, bits)
        }

        // MARK: Called by libcurl

        func receivedHead(_ bytes: UnsafeRawBufferPointer) -> Int {
            guard let transfer else { return 0 }
            transfer.lastActivity = loop.now
            switch transfer.head.add(bytes) {
            case .tooLarge:
                let reason = "the head of the response is larger than \(ResponseHead.limit) bytes"
                transfer.failure = .urlError(.curl(.cannotParseResponse, reason, transfer.request.url))
                return 0
            case .complete: loop.mark(self, transfer)
            case .incomplete: break
            }
            return bytes.count
        }

        func receivedBody(_ bytes: UnsafeRawBufferPointer) -> Int {
            guard let transfer else { return 0 }
            if transfer.isPaused { return Int(CWCURL_WRITE_PAUSE) }
            transfer.lastActivity = loop.now
            transfer.received.append(bytes.bindMemory(to: UInt8.self))
            loop.mark(self, transfer)
            if transfer.received.count >= Self.portion {
                loop.flush(transfer)
                // libcurl may have megabytes for us before the inbox is looked into.
                if loop.holdsBack(transfer) { transfer.isPaused = true }
            }
            return bytes.count
        }

        func readBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            guard let transfer else { return Int(CWCURL_READ_ABORT) }
            let count = transfer.readBody(into: buffer)
            if !transfer.isWaitingForBody {
                transfer.lastActivity = loop.now
                loop.mark(self, transfer)
            }
            return count
        }

        /// Whether the request may go out: not a second time if that could do something twice.
        func maySend() -> Bool {
            guard let transfer else { return false }
            transfer.sendCount += 1
            guard transfer.sendCount > 1, !transfer.request.mayBeSentTwice else { return true }
            transfer.failure = .urlError(
                .curl(.networkConnectionLost, "the connection was lost before a response came", transfer.request.url))
            return false
        }
    }
#endif
