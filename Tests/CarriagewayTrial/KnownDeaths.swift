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

    /// Sends a request on to another place.
    private final class RedirectingProtocol: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func stopLoading() {}
        override func startLoading() {
            let here = request.url ?? URL(fileURLWithPath: "/")
            let next = URLRequest(url: here.appendingPathComponent("next"))
            let response = HTTPURLResponse(url: here, statusCode: 302, httpVersion: nil, headerFields: [:])
            if let response { client?.urlProtocol(self, wasRedirectedTo: next, redirectResponse: response) }
        }
    }

    /// K11: a protocol of the user's own that redirects.
    static func protocolRedirect() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [RedirectingProtocol.self]
        let session = NetworkSession(configuration: configuration)
        var request = URLRequest(url: URL(string: "http://stub.invalid/") ?? URL(fileURLWithPath: "/"))
        request.timeoutInterval = 60
        let operation = NetworkOperation(request, session: session)
        operation.timeout = .seconds(60)
        operation.start()
        _ = try? await operation.response
    }

    #if canImport(FoundationNetworking)
        /// K15: a task that gets its delegate after it was started; no task of this package is in anybody's hands.
        static func lateDelegate() async throws {
            final class Delegate: NSObject, URLSessionTaskDelegate {}
            let session = URLSession(configuration: .ephemeral)
            let task = session.dataTask(with: URL(string: "http://127.0.0.1:1/") ?? URL(fileURLWithPath: "/"))
            task.resume()
            task.delegate = Delegate()
        }
    #else
        static func lateDelegate() async throws {}
    #endif
}
