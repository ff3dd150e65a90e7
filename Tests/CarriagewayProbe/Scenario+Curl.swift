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
