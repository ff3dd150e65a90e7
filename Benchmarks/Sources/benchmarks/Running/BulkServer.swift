import Foundation

/// A server in a process of its own that sends and takes bodies as fast as the system lets it: `GET /N` is answered with N
/// bytes, the body of a PUT is read and thrown away. One thread for each connection.
enum BulkServer {
    static let command = "serve-bulk"

    struct Failure: Error {
        let code: Int32
    }

    static func serve() throws {
        #if canImport(Glibc)
            let type = Int32(SOCK_STREAM.rawValue)
        #else
            let type = SOCK_STREAM
        #endif
        let listener = socket(AF_INET, type, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isBound else { throw Failure(code: errno) }
        signal(SIGPIPE, SIG_IGN)
        let port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { continue }
                Thread.detachNewThread {
                    while answer(connection) {}
                    close(connection)
                }
            }
        }
        FileHandle.standardOutput.write(Data("http://127.0.0.1:\(port)\n".utf8))
        _ = FileHandle.standardInput.readDataToEndOfFile()
    }

    /// - Returns: whether the connection stays.
    private static func answer(_ connection: Int32) -> Bool {
        var head = Data()
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        let end = Data("\r\n\r\n".utf8)
        var rest = 0
        while true {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { return false }
            head.append(contentsOf: buffer[..<count])
            guard let range = head.range(of: end) else { continue }
            rest = head.count - range.upperBound
            head = head[..<range.lowerBound]
            break
        }
        let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count == 3 else { return false }
        let announced = lines.first { $0.lowercased().hasPrefix("content-length:") }
        var body = announced.flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
        body -= rest
        while body > 0 {
            let count = read(connection, &buffer, min(buffer.count, body))
            guard count > 0 else { return false }
            body -= count
        }
        let size = words[0] == "GET" ? Int(words[1].dropFirst()) ?? 0 : 0
        return send(Array("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n".utf8), connection, count: nil)
            && send(buffer, connection, count: size)
    }

    /// All of the bytes, or so many, over and over.
    private static func send(_ bytes: [UInt8], _ connection: Int32, count: Int?) -> Bool {
        var rest = count ?? bytes.count
        while rest > 0 {
            let written = write(connection, bytes, min(rest, bytes.count))
            guard written > 0 else { return false }
            rest -= written
        }
        return true
    }
}
