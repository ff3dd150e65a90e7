#if os(Linux)
    import Foundation
    import Glibc

    @testable import Carriageway

    /// A proxy for tunnels: SOCKS 5 (RFC 1928) or `CONNECT` (RFC 9110, section 9.3.6). Wherever a tunnel is to lead, it leads
    /// to one port of this machine.
    final class TunnelProxy: Sendable {
        enum Kind {
            case socks
            case connect
        }

        private let listener: LocalListener
        private let asked: Locked<[String]>

        var port: Int { listener.port }
        /// Where the tunnels were to lead, as hosts and ports.
        var targets: [String] { asked.withLock { $0 } }

        /// - Parameter target: nil for a proxy that refuses every tunnel.
        init(_ kind: Kind, to target: Int?) throws {
            let asked = Locked<[String]>([])
            self.asked = asked
            listener = try LocalListener(.ipv4) { connection in
                let goal = kind == .socks ? Self.readSOCKS(connection) : Self.readConnect(connection)
                if let goal { asked.withLock { $0.append(goal) } }
                let far = goal == nil ? nil : target.flatMap { Self.connect(to: $0) }
                let answer: [UInt8] =
                    switch kind {
                    case .socks: [5, far == nil ? 5 : 0, 0, 1, 0, 0, 0, 0, 0, 0]
                    case .connect: Array("HTTP/1.1 \(far == nil ? "403 No" : "200 Yes")\r\n\r\n".utf8)
                    }
                _ = write(connection, answer, answer.count)
                guard let far else {
                    close(connection)
                    return
                }
                let open = Locked(2)
                Thread { Self.pass(from: far, to: connection, open) }.start()
                Self.pass(from: connection, to: far, open)
            }
        }

        private static func readConnect(_ connection: Int32) -> String? {
            let words = LocalListener.readHead(of: connection).split(separator: " ")
            return words.first == "CONNECT" ? words.dropFirst().first.map(String.init) : nil
        }

        private static func readSOCKS(_ connection: Int32) -> String? {
            guard let hello = bytes(2, connection), hello[0] == 5, bytes(Int(hello[1]), connection) != nil else {
                return nil
            }
            // No password is asked for.
            _ = write(connection, [5, 0] as [UInt8], 2)
            guard let request = bytes(4, connection), request[..<2] == [5, 1] else { return nil }
            let host: String?
            switch request[3] {
            case 1: host = bytes(4, connection)?.map(String.init).joined(separator: ".")
            case 3:
                host = bytes(1, connection).flatMap { bytes(Int($0[0]), connection) }
                    .map { String(decoding: $0, as: UTF8.self) }
            default: host = nil
            }
            guard let host, let port = bytes(2, connection) else { return nil }
            return "\(host):\(Int(port[0]) << 8 | Int(port[1]))"
        }

        private static func bytes(_ count: Int, _ connection: Int32) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: count)
            return recv(connection, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
        }

        private static func connect(to port: Int) -> Int32? {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            let isConnected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isConnected { return descriptor }
            close(descriptor)
            return nil
        }

        /// Until one side ends; the second direction that does closes both.
        private static func pass(from source: Int32, to sink: Int32, _ open: Locked<Int>) {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(source, &buffer, buffer.count)
                guard count > 0, send(sink, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
            }
            shutdown(sink, Int32(SHUT_WR))
            let isLast = open.withLock { open in
                open -= 1
                return open == 0
            }
            guard isLast else { return }
            close(source)
            close(sink)
        }
    }
#endif
