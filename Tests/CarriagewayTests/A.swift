import Carriageway
import CarriagewayTesting
import Foundation
import Testing
#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Test func smoke() async throws {
    let server = try LoopbackServer()
    server.on("/a", .text("hi"))
    server.on("/flaky", .status(503), .reset, .text("ok"))
    server.on("/auth", .status(401, headers: ["WWW-Authenticate": "Basic realm=\"x\""], body: Data("no".utf8)))
    server.on("/r", .redirect(to: "a"))
    server.on("/cut", LoopbackServer.Response.text("hello world").truncated(after: 3, then: .close))
    server.on("/garbage", .raw(Data("nonsense\r\n\r\n".utf8)))
    server.on("/close", .close)
    server.on("/gz", .status(200, headers: ["Content-Encoding": "gzip"], body: Data("notgzip".utf8)))
    let session = NetworkSession(configuration: .ephemeral)
    let queue = NetworkQueue(session: session) { $0.retryPolicy = .fixed(interval: .milliseconds(5), maxRetries: 5) }
    let r = try await queue.response(for: URLRequest(url: server.url("/a")))
    print(r.statusCode, r.data, r.attempts)
    let f = try await queue.response(for: URLRequest(url: server.url("/flaky")))
    print(f.statusCode, f.data, f.attempts.count)
    for p in ["/auth", "/cut", "/garbage", "/close", "/gz"] {
        do { print(p, try await session.response(for: URLRequest(url: server.url(p)))) } catch { print(p, error) }
    }
    let x = try await queue.response(for: URLRequest(url: server.url("/r")))
    print(x.statusCode, x.data, x.request)
    let login = NetworkOperation(URLRequest(url: server.url("/a")))
    let next = NetworkOperation(after: login) { _ in URLRequest(url: server.url("/a")) }
    queue.addOperation(next); queue.addOperation(login)
    print(try await next.response.statusCode)
    queue.isSuspended = true
    let c = queue.send(URLRequest(url: server.url("/a")))
    c.cancel()
    print(c.result as Any, c.isFinished)
    queue.isSuspended = false
    queue.waitUntilAll()
    print(c.isFinished)
}
extension NetworkQueue { func waitUntilAll() { waitUntilAllOperationsAreFinished() } }
