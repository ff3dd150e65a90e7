import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What ends the process over `URLSession` on Linux and cannot be helped there.
extension Scenario {
    /// K1: fields behind a chunked body.
    static func trailers() async throws {
        let server = try LoopbackServer()
        server.on("/", LoopbackServer.Response.text("body").trailers([("X-Sum", "1"), ("HTTP/1.1", "200")]))
        let session = NetworkSession.probed()
        for _ in 0..<50 {
            let response = try await session.response(for: URLRequest(url: server.url()))
            try Fault.unless(response.data == Data("body".utf8), "not the body")
            try Fault.unless(response.http.value(forHTTPHeaderField: "X-Sum") == nil, "a trailer among the headers")
        }
    }

    /// A connection that ends at every place of a head.
    static func cutHeads() async throws {
        let server = try LoopbackServer()
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: b\r\n"
        for length in 1...head.utf8.count {
            server.on("/\(length)", .raw(Data(head.utf8.prefix(length))))
        }
        let session = NetworkSession.probed()
        for length in 1...head.utf8.count {
            do throws(NetworkError) {
                _ = try await session.data(for: URLRequest(url: server.url("/\(length)")))
                throw .invalidRequest("a head that was cut at \(length) passed for a response")
            } catch {
                guard case .urlError = error else { throw error }
            }
        }
    }

    /// A head that begins with a line that goes on: libcurl from 7.83 on, below 8.1.1 at least, goes on with the last header of
    /// the response before, which is freed. Kept connections and new ones, one after the other and many at once.
    static func foldedHeads() async throws {
        let server = try LoopbackServer()
        let folded = "HTTP/1.1 200 OK\r\n\tX-A: b\r\n X-B: c\r\nContent-Length: 1\r\n\r\nx"
        server.on("/kept", .raw(Data(folded.utf8), thenClose: false))
        server.on("/closed", .raw(Data(folded.utf8)))
        // Status lines that do not look like one at a glance: libcurl takes any case, and shows a long line in pieces.
        let end = "\r\n X-A: b\r\nContent-Length: 1\r\n\r\nx"
        let long = String(repeating: "x", count: 40_000)
        for (index, status) in [
            "http/1.1 200 OK", "Http/1.0 200", "HTTP/1.1 200 \(long)", "HTTP/1.1 200 OK\r\nno colon",
        ].enumerated() {
            server.on("/odd\(index)", .raw(Data("\(status)\(end)".utf8)))
            server.on("/odd\(index + 4)", .raw(Data("HTTP/1.1 103 Early\r\n\r\n\(status)\(end)".utf8)))
        }
        server.on("/fine", LoopbackServer.Response.text("fine").header("X-Long", String(repeating: "y", count: 300)))
        let session = NetworkSession.probed()
        for _ in 0..<60 {
            await withTaskGroup(of: Void.self) { group in
                let odd = (0..<8).flatMap { ["/odd\($0)", "/fine"] }
                for path in ["/fine", "/kept", "/fine", "/closed", "/fine", "/kept"] + odd {
                    // Some versions read it, others call it an error.
                    group.addTask { _ = try? await session.data(for: URLRequest(url: server.url(path))) }
                }
            }
            try Fault.unless(
                try await session.data(for: URLRequest(url: server.url("/fine"))) == Data("fine".utf8), "not fine")
        }
    }

    /// Sessions that come and go leave neither threads nor descriptors behind.
    static func endedSessions() async throws {
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        for round in 0..<200 {
            let session = NetworkSession.probed()
            async let first = session.data(for: URLRequest(url: server.url()))
            async let second = session.data(for: URLRequest(url: server.url()))
            _ = try await (first, second)
            if round.isMultiple(of: 2) { session.invalidateAndCancel() }
        }
        try await server.waitForOpenConnections(atMost: 0)
        for _ in 0..<1_000 where descriptorCount > 40 || threadCount > 20 {
            try await Task.sleep(for: .milliseconds(10))
        }
        try Fault.unless(descriptorCount <= 40, "\(descriptorCount) descriptors are open")
        try Fault.unless(threadCount <= 20, "\(threadCount) threads are there")
    }

    private static var descriptorCount: Int { count(of: "/proc/self/fd") }
    private static var threadCount: Int { count(of: "/proc/self/task") }

    private static func count(of folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
    }
}
