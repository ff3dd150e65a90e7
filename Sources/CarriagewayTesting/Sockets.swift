import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#elseif canImport(Glibc)
    import Glibc
#endif

/// The system calls of the server, all of them non-blocking, with what differs between systems kept here.
enum Sockets {
    /// How an attempt to receive or send ended.
    enum Transfer {
        case bytes(Int)
        case ended
        case wouldBlock
        case failed
    }

    /// How an attempt to accept ended.
    enum Acceptance {
        case connection(Int32)
        case none
        /// This one client has left again, or the like: others may wait.
        case lost
        /// No descriptor is left: try again later.
        case exhausted
    }
}

// MARK: - Opening

extension Sockets {
    /// A socket that listens on a free port of an address, and that port.
    static func listener(address host: UInt32) throws -> (descriptor: Int32, port: Int) {
        #if canImport(Glibc)
            let type = Int32(SOCK_STREAM.rawValue)
        #else
            let type = SOCK_STREAM
        #endif
        let descriptor = try checked("socket", socket(AF_INET, type, 0))
        do {
            prepare(descriptor)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr = in_addr(s_addr: host.bigEndian)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            try withUnsafeMutablePointer(to: &address) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    _ = try checked("bind", bind(descriptor, pointer, length))
                    // The system cuts the queue to its own limit.
                    _ = try checked("listen", listen(descriptor, 4096))
                    _ = try checked("getsockname", getsockname(descriptor, pointer, &length))
                }
            }
            return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
        } catch {
            dispose(of: descriptor)
            throw error
        }
    }

    static func accept(from listener: Int32) -> Acceptance {
        let descriptor = systemAccept(listener)
        guard descriptor >= 0 else {
            switch errno {
            case EAGAIN, EWOULDBLOCK: return .none
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
            case EBADF, EINVAL, ENOTSOCK: return .none
            default: return .lost
            }
        }
        prepare(descriptor)
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, to: 1)
        #if canImport(Darwin)
            set(descriptor, SOL_SOCKET, SO_NOSIGPIPE, to: 1)
        #endif
        return .connection(descriptor)
    }

    /// Both ends of a pipe by which other threads wake the loop.
    static func wakeUpPipe() throws -> (readEnd: Int32, writeEnd: Int32) {
        var ends: [Int32] = [-1, -1]
        _ = try checked("pipe", pipe(&ends))
        ends.forEach(prepare)
        return (ends[0], ends[1])
    }

    /// Lets the process have more open files, up to what the system allows it: 1,000 connections take 1,000 in the
    /// server and as many in a client in the same process, while 256 (macOS) or 1,024 are usual.
    static func raiseFileLimit(to wanted: Int) {
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < rlim_t(wanted) else { return }
        limit.rlim_cur = min(limit.rlim_max, rlim_t(wanted))
        _ = setrlimit(resource, &limit)
    }

    private static func prepare(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ name: Int32, to value: Int32) {
        var value = value
        _ = setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func checked(_ call: String, _ result: Int32) throws -> Int32 {
        guard result >= 0 else { throw LoopbackServer.Failure.system(call: call, code: errno) }
        return result
    }
}

// MARK: - Transfer

extension Sockets {
    /// `poll(2)` on all of these; returns on the first event, after `milliseconds`, or for ever with -1.
    static func wait(for descriptors: inout [pollfd], milliseconds: Int32) {
        let count = nfds_t(descriptors.count)
        if poll(&descriptors, count, milliseconds) < 0 {
            // Interrupted: what the fields say is from before.
            for index in descriptors.indices { descriptors[index].revents = 0 }
        }
    }

    static func receive(from descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            if errno != EINTR { return errno == EAGAIN || errno == EWOULDBLOCK ? .wouldBlock : .failed }
        }
    }

    /// Sends up to `limit` bytes of `data`, counted from `offset`.
    static func send(_ data: Data, from offset: Int, limit: Int, to descriptor: Int32) -> Transfer {
        #if canImport(Darwin)
            let flags: Int32 = 0
        #else
            let flags = Int32(MSG_NOSIGNAL)
        #endif
        return data.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, offset < bytes.count else { return .bytes(0) }
            while true {
                let count = systemSend(descriptor, base + offset, min(limit, bytes.count - offset), flags)
                if count >= 0 { return .bytes(count) }
                if errno != EINTR { return errno == EAGAIN || errno == EWOULDBLOCK ? .wouldBlock : .failed }
            }
        }
    }

    /// Whether bytes that were sent have not reached the other side yet.
    static func hasUnsentBytes(_ descriptor: Int32) -> Bool {
        var count: Int32 = 0
        #if canImport(Darwin)
            var length = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &count, &length) == 0 else { return false }
        #else
            guard ioctl(descriptor, numericCast(TIOCOUTQ), &count) == 0 else { return false }
        #endif
        return count > 0
    }

    static func writeByte(to descriptor: Int32) {
        var byte: UInt8 = 1
        // A full pipe wakes the loop as well.
        _ = write(descriptor, &byte, 1)
    }

    static func drain(_ descriptor: Int32) {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(descriptor, &bytes, bytes.count) == bytes.count {}
    }
}

// MARK: - Closing

extension Sockets {
    /// Says that nothing more will be sent (FIN); the other side may still send.
    static func endSending(_ descriptor: Int32) {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    static func dispose(of descriptor: Int32) {
        _ = close(descriptor)
    }

    /// Closes with RST in place of FIN.
    static func reset(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        dispose(of: descriptor)
    }
}

// Outside the type, where its functions do not hide those of the system.

private func systemAccept(_ listener: Int32) -> Int32 {
    accept(listener, nil, nil)
}

private func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int, _ flags: Int32) -> Int {
    send(descriptor, bytes, count, flags)
}
