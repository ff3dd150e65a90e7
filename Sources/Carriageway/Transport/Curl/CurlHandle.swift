#if os(Linux)
    import CarriagewayCurl
    import Foundation

    /// An easy handle of libcurl's with the transfer that it makes; used for one after the other.
    final class CurlHandle {
        private(set) var easy: OpaquePointer
        var transfer: CurlTransfer?
        private unowned let loop: CurlLoop
        private let template: CurlTemplate
        private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: errorSize)
        /// Whether it cannot make another transfer: more is set than what every one sets for itself.
        private var isSpent = false
        private var isSecure = false

        private static let errorSize = 256
        /// The most that is handed on at once, in bytes.
        private static let portion = 256 << 10

        init?(loop: CurlLoop, template: CurlTemplate) {
            guard let easy = template.copy() else { return nil }
            self.easy = easy
            self.loop = loop
            self.template = template
            adopt()
        }

        deinit {
            cwcurl_easy_free(easy)
            errorText.deallocate()
        }

        /// What a copy of the template does not have from that.
        private func adopt() {
            cwcurl_set_context(easy, Unmanaged.passUnretained(self).toOpaque())
            cwcurl_set_pointer(easy, CWCURL_ERRORBUFFER, errorText)
            if let share = loop.share { cwcurl_set_share(easy, share) }
        }

        /// Makes the handle ready to send a request; 0, or libcurl's code for what is wrong with it.
        func prepare(_ transfer: CurlTransfer) -> Int {
            let request = transfer.request
            self.transfer = transfer
            errorText[0] = 0
            guard template.code == 0 else { return template.code }
            if isSpent {
                guard let fresh = template.copy() else { return CWCURL_OUT_OF_MEMORY }
                cwcurl_easy_free(easy)
                easy = fresh
                isSecure = false
                adopt()
            }
            isSpent = false
            if isSecure != request.isSecure {
                isSecure = request.isSecure
                template.setProxy(of: easy, isSecure: isSecure)
                // Waiting for a connection that others can share makes sense where HTTP/2 may be spoken.
                let isShared = isSecure && CurlLibrary.has(CWCURL_FEATURE_HTTP2)
                cwcurl_set_long(easy, CWCURL_HTTP_VERSION, isShared ? CWCURL_HTTP_2_OVER_TLS : CWCURL_HTTP_1_1)
                cwcurl_set_long(easy, CWCURL_PIPEWAIT, isShared ? 1 : 0)
            }
            cwcurl_set_list(easy, CWCURL_HTTPHEADER, request.headers?.list)
            // So that the second of two addresses is tried while there is time.
            cwcurl_set_long(
                easy, CWCURL_CONNECTTIMEOUT_MS, Int(min(max(request.idleTimeout / 1_000_000, 1), 86_400_000)))
            setMethod(of: request)
            if let trust = request.trust {
                isSpent = true
                let code = trust.apply(to: easy)
                guard code == 0 else { return code }
            }
            return request.address.withCString { cwcurl_set_text(easy, CWCURL_URL, $0) }
        }

        private func setMethod(of request: CurlRequest) {
            if request.method == "GET", case .none = request.body { return }
            isSpent = true
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
                cwcurl_set_long(easy, CWCURL_MAXAGE_CONN, min(template.idleConnectionSeconds ?? 4, 4))
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
            // Not before the head has come: what comes of it meanwhile has to wait in three places that libcurl has for that,
            // and one with a 1xx in front is too much for them. At the first byte of the body it is paused anyway.
            if let transfer, transfer.isPaused, transfer.head.isComplete { bits |= CWCURL_PAUSE_RECEIVING }
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
            if CurlLibrary.remembersHeaders, !transfer.head.isComplete { return foreseen(bytes, transfer) }
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

        /// A line of the head before libcurl deals with it, a long one in parts: it must not go on with one that is not of this
        /// response.
        private func foreseen(_ part: UnsafeRawBufferPointer, _ transfer: CurlTransfer) -> Int {
            let isBeginning = !transfer.isWithinLine
            transfer.isWithinLine = part.last != UInt8(ascii: "\n")
            guard isBeginning else { return part.count }
            switch part.first {
            case UInt8(ascii: " ")?, UInt8(ascii: "\t")?:
                guard !transfer.hasHeader else { return part.count }
                let reason = "the first header of the response begins with a blank"
                transfer.failure = .urlError(.curl(.cannotParseResponse, reason, transfer.request.url))
                return 0
            case UInt8(ascii: "\r")?, UInt8(ascii: "\n")?, nil: break
            // The status line, which libcurl does not keep; what only looks like it does no harm.
            default: if !ResponseHead.isStatusLine(part) { transfer.hasHeader = true }
            }
            return part.count
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
