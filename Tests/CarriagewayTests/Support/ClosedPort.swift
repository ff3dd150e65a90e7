import Foundation

/// A port of 127.0.0.1 at which nobody listens, and that nobody else gets: whoever connects to it is refused. The port of a
/// server that has ended may be another's a moment later.
struct ClosedPort {
    let port: Int
    private let descriptor: Int32

    init() throws {
        #if canImport(Glibc)
            let type = Int32(SOCK_STREAM.rawValue)
        #else
            let type = SOCK_STREAM
        #endif
        descriptor = socket(AF_INET, type, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let failed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) != 0 || getsockname(descriptor, pointer, &length) != 0
            }
        }
        guard !failed else {
            let code = POSIXErrorCode(rawValue: errno) ?? .EIO
            close(descriptor)
            throw POSIXError(code)
        }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    func url(_ path: String = "/") -> URL {
        URL(string: "http://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: "/")
    }

    /// Anybody may have the port now; to be called at the end of the test.
    func letGo() {
        close(descriptor)
    }
}
