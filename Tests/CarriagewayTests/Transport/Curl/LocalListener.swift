#if os(Linux)
    import Foundation
    import Glibc

    /// A server where, or of a kind that, `LoopbackServer` is not: on ::1, on a Unix-domain socket, or one that does with
    /// its connections as it likes, each on a thread.
    final class LocalListener: @unchecked Sendable {
        enum Place {
            case ipv4
            case ipv6
            case unix(path: String)
        }

        struct Unavailable: Error {
            let call: String
            let code: Int32
        }

        /// 0 for a Unix-domain socket.
        let port: Int
        private let descriptor: Int32

        /// Reads one head from each connection, and answers it with these bytes.
        convenience init(_ place: Place, answer: String) throws {
            try self.init(place) { connection in
                _ = Self.readHead(of: connection)
                _ = answer.withCString { write(connection, $0, strlen($0)) }
                close(connection)
            }
        }

        /// - Parameter serve: is to close the connection.
        init(_ place: Place, serve: @escaping @Sendable (_ connection: Int32) -> Void) throws {
            let listener: (Int32, Int)
            switch place {
            case .ipv4:
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
                listener = try Self.listen(AF_INET, &address) { Int(UInt16(bigEndian: $0.sin_port)) }
            case .ipv6:
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                address.sin6_addr = in6addr_loopback
                listener = try Self.listen(AF_INET6, &address) { Int(UInt16(bigEndian: $0.sin6_port)) }
            case .unix(let path):
                var address = sockaddr_un()
                address.sun_family = sa_family_t(AF_UNIX)
                withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
                listener = try Self.listen(AF_UNIX, &address) { _ in 0 }
            }
            (descriptor, port) = listener
            let descriptor = descriptor
            Thread {
                while true {
                    let connection = accept(descriptor, nil, nil)
                    guard connection >= 0 else { return }
                    Thread { serve(connection) }.start()
                }
            }.start()
        }

        /// Everything up to an empty line.
        static func readHead(of connection: Int32) -> String {
            var head = ""
            var buffer = [UInt8](repeating: 0, count: 4096)
            while !head.contains("\r\n\r\n") {
                let count = read(connection, &buffer, buffer.count)
                guard count > 0 else { break }
                head += String(decoding: buffer.prefix(count), as: UTF8.self)
            }
            return head
        }

        deinit {
            // Wakes the thread that accepts.
            shutdown(descriptor, Int32(SHUT_RDWR))
            close(descriptor)
        }

        private static func listen<Address>(_ family: Int32, _ address: inout Address, port: (Address) -> Int) throws
            -> (Int32, Int)
        {
            let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
            guard descriptor >= 0 else { throw Unavailable(call: "socket", code: errno) }
            var length = socklen_t(MemoryLayout<Address>.size)
            let failed = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    bind(descriptor, pointer, length) != 0 || Glibc.listen(descriptor, 16) != 0
                        || getsockname(descriptor, pointer, &length) != 0
                }
            }
            guard !failed else {
                defer { close(descriptor) }
                throw Unavailable(call: "bind", code: errno)
            }
            return (descriptor, port(address))
        }
    }
#endif
