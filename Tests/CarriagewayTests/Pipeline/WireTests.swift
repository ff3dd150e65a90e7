import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What goes over the wire, and what the platform's faults are turned into.
struct WireTests {
    @Test(
        "faults of the server get the codes that Apple's systems give",
        arguments: Wire.all,
        [
            ("/close", URLError.Code.networkConnectionLost), ("/reset", .networkConnectionLost),
            ("/cut", .networkConnectionLost), ("/chunk", .networkConnectionLost), ("/garbage", .cannotParseResponse),
            ("/gzip", .cannotDecodeRawData), ("/stall", .timedOut), ("/hang", .timedOut),
        ])
    func errorCodes(wire: Wire, fault: (path: String, code: URLError.Code)) async throws {
        let server = try LoopbackServer()
        let text = LoopbackServer.Response.text("some text")
        server.on("/close", .close)
        server.on("/reset", text.truncated(after: 4, then: .reset))
        server.on("/cut", text.truncated(after: 4, then: .close))
        server.on("/chunk", text.chunked(size: 3).truncated(after: 3, then: .close))
        server.on("/garbage", .raw(Data("this is not HTTP\r\n\r\n".utf8)))
        server.on("/gzip", text.header("Content-Encoding", "gzip"))
        server.on("/stall", text.truncated(after: 4, then: .stall))
        server.on("/hang", .hang)
        var request = URLRequest(url: server.url(fault.path))
        request.timeoutInterval = fault.code == .timedOut ? 0.4 : 60
        let session = wire.session()
        let error = await failure { () async throws(NetworkError) in try await session.data(for: request) }
        #expect(error?.urlErrorCode == fault.code)
    }

    @Test("no connection and no host are told apart, and both prove that nothing was sent", arguments: Wire.all)
    func noConnection(wire: Wire) async throws {
        let session = wire.session()
        let closed = try ClosedPort()
        defer { closed.letGo() }
        let refused = await failure { () async throws(NetworkError) in
            try await session.data(for: URLRequest(url: closed.url()))
        }
        #expect(refused?.urlErrorCode == .cannotConnectToHost)
        #expect(refused?.provesUnsent == true)
        let unknown = await failure { () async throws(NetworkError) in
            try await session.data(for: requestTo("http://nobody.invalid/"))
        }
        #expect(unknown?.urlErrorCode == .cannotFindHost)
    }

    @Test("redirects are followed by the rules: method, body, and no credential to another origin", arguments: Wire.all)
    func redirects(wire: Wire) async throws {
        let first = try LoopbackServer()
        let second = try LoopbackServer()
        first.on("/away/*") { _ in .redirect(to: second.url("/here").absoluteString, status: 307) }
        first.on("/same/*") { _ in .redirect(to: "../here?x=1", status: 308) }
        first.on("/see", .redirect(to: "/here", status: 303))
        first.on("/loop", .redirect(to: "/loop"))
        for server in [first, second] { server.on("/here", .text("arrived")) }
        let session = wire.session()
        for path in ["/away/a", "/same/a", "/see"] {
            var request = URLRequest(url: first.url(path))
            request.httpMethod = "POST"
            request.httpBody = Data("body".utf8)
            request.setValue("Bearer x", forHTTPHeaderField: "Authorization")
            request.setValue("a=b", forHTTPHeaderField: "Cookie")
            #expect(try await session.data(for: request) == Data("arrived".utf8))
        }
        let away = try #require(second.requests.first)
        #expect(away.method == "POST" && away.body == Data("body".utf8))
        #expect(away.header("Authorization") == nil && away.header("Cookie") == nil)
        let here = first.requests(to: "/here")
        #expect(here.map(\.method) == ["POST", "GET"])
        #expect(here.map(\.target) == ["/here?x=1", "/here"])
        #expect(here.allSatisfy { $0.header("Authorization") == "Bearer x" })
        #expect(here[1].body.isEmpty && here[1].header("Content-Type") == nil)
        let loop = await failure { () async throws(NetworkError) in
            try await session.data(for: URLRequest(url: first.url("/loop")))
        }
        #expect(loop?.urlErrorCode == .httpTooManyRedirects)
        #expect(first.requests(to: "/loop").count == 21)
    }

    @Test("a 3xx without a way to go is a response like any other", arguments: Wire.all, [300, 302, 304])
    func redirectWithoutLocation(wire: Wire, status: Int) async throws {
        let server = try LoopbackServer()
        server.on("/", .status(status))
        #expect(try await wire.session().response(for: URLRequest(url: server.url())).statusCode == status)
    }

    @Test("informational responses are passed over", arguments: Wire.all, [100, 103])
    func informational(wire: Wire, status: Int) async throws {
        let server = try LoopbackServer()
        server.on("/", LoopbackServer.Response.text("final").preceded(by: status))
        let response = try await wire.session().response(for: URLRequest(url: server.url()))
        #expect(response.statusCode == 200 && response.data == Data("final".utf8))
    }

    @Test("a body without a type gets one that claims nothing; a given type stays", arguments: Wire.all)
    func contentType(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        let session = wire.session()
        for type in [nil, "application/json"] {
            var request = URLRequest(url: server.url())
            request.httpMethod = "POST"
            request.httpBody = Data("{}".utf8)
            request.setValue(type, forHTTPHeaderField: "Content-Type")
            _ = try await session.data(for: request)
        }
        #expect(server.requests.map { $0.header("Content-Type") } == ["application/octet-stream", "application/json"])
    }

    @Test("an upper-case scheme works, as it does on Apple's systems", arguments: Wire.all)
    func upperCaseScheme(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        let session = wire.session()
        #expect(try await session.data(for: requestTo("HTTP://127.0.0.1:\(server.port)/")) == Data("x".utf8))
    }

    @Test(
        "idle timeouts hold, also of a fraction of a second, from request and from configuration", arguments: Wire.all)
    func idleTimeouts(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/hang", .hang)
        server.on("/drip", LoopbackServer.Response.text("0123456789").dripped(size: 1, interval: .milliseconds(60)))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 0.35
        let session = wire.session(configuration)
        let error = await failure { () async throws(NetworkError) in
            try await session.data(for: URLRequest(url: server.url("/hang")))
        }
        #expect(error?.urlErrorCode == .timedOut)
        // Longer than the timeout in all, but never idle for so long. A slow machine may be, though not each time.
        let queue = NetworkQueue(session: session) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 100)
            $0.retryBudget = nil
        }
        #expect(try await queue.data(for: URLRequest(url: server.url("/drip"))).count == 10)
        let own = URLRequest(url: server.url("/hang"), cachePolicy: .useProtocolCachePolicy, timeoutInterval: 1)
        let started = ContinuousClock.now
        let second = await failure { () async throws(NetworkError) in try await wire.session().data(for: own) }
        #expect(second?.urlErrorCode == .timedOut)
        #expect(ContinuousClock.now - started < .seconds(30))
    }
}

/// A request to a URL given as text.
private func requestTo(_ text: String) -> URLRequest {
    URLRequest(url: URL(string: text) ?? URL(fileURLWithPath: "/"))
}
