import Foundation

@testable import CarriagewayTesting

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#elseif canImport(Glibc)
    import Glibc
#endif

/// A client on a plain blocking socket, which sends and receives exactly what a test says.
final class TestClient {
    struct Response: Equatable {
        var status = 0
        var headers: [String] = []
        var body = Data()

        var text: String { String(decoding: body, as: UTF8.self) }

        func header(_ name: String) -> String? {
            headers.first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
                .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
        }
    }

    /// How the server ended a connection.
    enum Ending: Equatable {
        case closed
        case reset
        /// Not within the minute that a hanging test may take.
        case none
    }

    private let descriptor: Int32
    private var isOpen = true
    private var received = Data()

    init(_ server: LoopbackServer) throws {
        descriptor = openSocket()
        var minute = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &minute, socklen_t(MemoryLayout<timeval>.size))
        #if canImport(Darwin)
            var one: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(server.port).bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connectSocket(descriptor, $0, length) }
        }
        guard result == 0 else {
            let code = errno
            close()
            throw LoopbackServer.Failure.system(call: "connect", code: code)
        }
    }

    deinit {
        close()
    }

    func close() {
        if isOpen { closeSocket(descriptor) }
        isOpen = false
    }

    /// Leaves with an RST.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    /// Says that nothing more will be sent.
    func endSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// False when the server has closed.
    @discardableResult
    func send(_ data: Data) -> Bool {
        var sent = 0
        while sent < data.count {
            let count = data.withUnsafeBytes { sendBytes(descriptor, $0.baseAddress! + sent, data.count - sent) }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool {
        send(Data(text.utf8))
    }

    @discardableResult
    func get(_ path: String, method: String = "GET", headers: String = "") -> Bool {
        send("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n")
    }

    /// Receives once; nil when there is nothing more to come.
    func receive() -> Data? {
        if !received.isEmpty {
            defer { received = Data() }
            return received
        }
        return receiveFromSocket() == nil ? receive() : nil
    }

    /// Receives until the server ends the connection.
    func receiveAll() -> (bytes: Data, ending: Ending) {
        while true {
            if let ending = receiveFromSocket() {
                defer { received = Data() }
                return (received, ending)
            }
        }
    }

    /// One response with its body by `Content-Length` or chunked coding; nil when the connection ends before.
    func response(toHead: Bool = false) -> Response? {
        guard let head = receive(through: "\r\n\r\n") else { return nil }
        var lines = head.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        var response = Response()
        response.status = Int(lines.removeFirst().split(separator: " ")[1]) ?? 0
        response.headers = lines
        guard !toHead, response.status >= 200 else { return response }
        if response.header("Transfer-Encoding") == "chunked" {
            // CR LF is one character.
            while let size = receive(through: "\r\n").flatMap({ Int($0.dropLast(), radix: 16) }), size > 0 {
                guard let piece = receive(count: size + 2) else { return nil }
                response.body.append(piece.dropLast(2))
            }
            while let line = receive(through: "\r\n"), line != "\r\n" {
                response.headers.append(String(line.dropLast()))
            }
        } else {
            guard let body = receive(count: Int(response.header("Content-Length") ?? "0") ?? 0) else { return nil }
            response.body = body
        }
        return response
    }

    /// Exactly that many bytes.
    func receive(count: Int) -> Data? {
        while received.count < count {
            if receiveFromSocket() != nil { return nil }
        }
        defer { received = Data(received.dropFirst(count)) }
        return Data(received.prefix(count))
    }

    private func receive(through mark: String) -> String? {
        while true {
            if let range = received.range(of: Data(mark.utf8)) {
                defer { received = Data(received[range.upperBound...]) }
                return String(decoding: received[..<range.upperBound], as: UTF8.self)
            }
            if receiveFromSocket() != nil { return nil }
        }
    }

    private func receiveFromSocket() -> Ending? {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count <= 0 else {
            received.append(contentsOf: buffer[..<count])
            return nil
        }
        if count == 0 { return .closed }
        // Interrupted by a signal: nothing was received, and nothing has ended.
        if errno == EINTR { return nil }
        return errno == ECONNRESET ? .reset : Ending.none
    }
}

// Outside the type, where its methods do not hide those of the system.

private func openSocket() -> Int32 {
    #if canImport(Glibc)
        socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
        socket(AF_INET, SOCK_STREAM, 0)
    #endif
}

private func connectSocket(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(descriptor, address, length)
}

private func closeSocket(_ descriptor: Int32) {
    _ = close(descriptor)
}

private func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    #if canImport(Darwin)
        send(descriptor, bytes, count, 0)
    #else
        send(descriptor, bytes, count, Int32(MSG_NOSIGNAL))
    #endif
}
