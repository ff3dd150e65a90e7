import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What kills a process on `URLSession` on Linux and cannot be helped; see "Linux" in the README.
enum KnownDeaths {
    /// K1: chunked trailers.
    static func trailers() async throws {
        let server = try LoopbackServer()
        server.on("/", LoopbackServer.Response.text("hello").chunked(size: 2).trailers([("X-Sum", "1")]))
        _ = try await NetworkSession().data(for: URLRequest(url: server.url()))
    }

    /// A connection that is closed between two lines of the head.
    static func cutHead() async throws {
        let server = try LoopbackServer()
        server.on("/", .raw(Data("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n".utf8)))
        _ = try? await NetworkSession().data(for: URLRequest(url: server.url()))
    }
}
