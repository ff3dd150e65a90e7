#if os(Linux)
    import CarriagewayCurl

    /// The functions that libcurl calls, on the event thread, with a handle or the loop as their context.
    enum CurlCallbacks {
        private static func handle(_ context: UnsafeMutableRawPointer?) -> CurlHandle? {
            context.map { Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue() }
        }

        private static func loop(_ context: UnsafeMutableRawPointer?) -> CurlLoop? {
            context.map { Unmanaged<CurlLoop>.fromOpaque($0).takeUnretainedValue() }
        }

        static let head: cwcurl_bytes_callback = { bytes, size, count, context in
            handle(context)?.receivedHead(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        }

        static let body: cwcurl_bytes_callback = { bytes, size, count, context in
            handle(context)?.receivedBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        }

        static let upload: cwcurl_bytes_callback = { bytes, size, count, context in
            handle(context)?.readBody(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
                ?? Int(CWCURL_READ_ABORT)
        }

        static let seek: cwcurl_seek_callback = { context, offset, _ in
            handle(context)?.transfer?.seekBody(to: Int(offset)) == true
                ? Int32(CWCURL_SEEK_OK) : Int32(CWCURL_SEEK_FAIL)
        }

        static let prerequest: cwcurl_prerequest_callback = { context, _, _, _, _ in
            handle(context)?.maySend() == true ? Int32(CWCURL_PREREQ_OK) : Int32(CWCURL_PREREQ_ABORT)
        }

        static let socket: cwcurl_socket_callback = { _, socket, what, context, _ in
            let events: SocketInterest.Events =
                Int(what) == CWCURL_POLL_REMOVE
                ? [] : SocketInterest.Events(rawValue: UInt8(truncatingIfNeeded: what & 3))
            loop(context)?.want(events, on: socket)
            return 0
        }

        static let timer: cwcurl_timer_callback = { _, milliseconds, context in
            loop(context)?.setTimer(milliseconds: milliseconds)
            return 0
        }

        static let opened: cwcurl_descriptor_callback = { context, socket in loop(context)?.opened(socket) }
        static let closed: cwcurl_descriptor_callback = { context, socket in loop(context)?.closed(socket) }
    }
#endif
