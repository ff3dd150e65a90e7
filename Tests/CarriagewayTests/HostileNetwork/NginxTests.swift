import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Against nginx: connections that it closes, its statuses, its limits, TLS with an authority of its own, HTTP/2.
@Suite(
    "nginx", .overEveryWire,
    .enabled(if: RealServer.nginx.isThere, "CARRIAGEWAY_NGINX is not set; .ci/run starts nginx and sets it"))
struct NginxTests {
    private let queue = NetworkQueue(session: Wire.session()) {
        $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1)
    }

    private func text(_ path: String, of server: RealServer = .nginx) async throws -> String {
        String(decoding: try await queue.data(for: server.request(path)), as: UTF8.self)
    }

    // MARK: Connections

    @Test("connections that are closed after three requests lose none", arguments: ["GET", "POST"])
    func keepAliveRequests(method: String) async throws {
        let body = method == "POST" ? Data("x".utf8) : nil
        let operations = (0..<60).map { _ in
            queue.send(RealServer.nginx.request("/three", method: method, body: body))
        }
        for operation in operations {
            let response = try await operation.response
            #expect(String(decoding: response.data, as: UTF8.self).hasPrefix(method))
        }
    }

    @Test("a connection that nginx closed while it was idle costs nobody a request", arguments: ["GET", "POST"])
    func idleConnection(method: String) async throws {
        let body = method == "POST" ? Data("x".utf8) : nil
        let request = RealServer.nginx.request("/seen", method: method, body: body)
        _ = try await queue.data(for: request)
        // Its keepalive_timeout is one second, and a slow machine may make more of it. Over libcurl a POST takes no
        // connection that was idle for longer than four.
        try await Task.sleep(for: .seconds(3))
        _ = try await queue.data(for: request)
    }

    @Test("a connection that is closed without an answer (444) is lost, and a POST over it not sent again")
    func closesWithoutAnswer() async throws {
        let operation = queue.send(RealServer.nginx.request("/closes", method: "POST", body: Data("x".utf8)))
        let error = await failure { () async throws(NetworkError) in try await operation.response }
        #expect(error?.urlErrorCode == .networkConnectionLost)
        #expect(operation.attempts.map(\.notRetried) == [.nonIdempotent])
    }

    // MARK: Statuses

    @Test(
        "each status is what it says",
        arguments: [
            200, 201, 202, 203, 204, 206, 300, 304, 400, 401, 403, 404, 405, 409, 410, 413, 415, 418, 421, 422,
            425,
            429, 431, 451, 500, 501, 502, 503, 504, 505, 507,
        ])
    func statuses(status: Int) async {
        let operation = NetworkOperation(RealServer.nginx.request("/return/\(status)"))
        operation.retryPolicy = .never
        queue.addOperation(operation)
        await operation.finished()
        switch operation.result {
        case .success(let response): #expect(response.statusCode == status && status < 400)
        case .failure(let error): #expect(error.response?.statusCode == status && status >= 400)
        case nil: Issue.record("no result")
        }
    }

    @Test("redirects are followed to a path of the same server", arguments: [301, 302, 303, 307, 308])
    func redirects(status: Int) async throws {
        let response = try await queue.response(for: RealServer.nginx.request("/return/\(status)"))
        #expect(response.data == Data("small".utf8))
        #expect(response.redirects.map(\.statusCode) == [status])
    }

    @Test("a body that is too large is refused with 413, also while it is being sent")
    func tooLarge() async {
        let request = RealServer.nginx.request("/small.txt", method: "POST", body: Data(count: 5_000_000))
        let error = await failure { () async throws(NetworkError) in try await queue.data(for: request) }
        // nginx may close before all is sent: then the connection was lost.
        #expect(error?.response?.statusCode == 413 || error?.urlErrorCode == .networkConnectionLost)
    }

    @Test("a gateway without what is behind it is retried")
    func badGateway() async {
        let operation = queue.send(RealServer.nginx.request("/bad-gateway"))
        let error = await failure { () async throws(NetworkError) in try await operation.response }
        #expect(error?.response?.statusCode == 502 && operation.attempts.count == 2)
    }

    @Test("compressed files, ranges and conditions")
    func files() async throws {
        #expect(try await text("/gzip/large.txt").count == 100_000)
        let part = try await queue.response(
            for: RealServer.nginx.request("/large.txt", headers: ["Range": "bytes=5-9"]))
        #expect(part.statusCode == 206 && part.data.count == 5)
        let whole = try await queue.response(for: RealServer.nginx.request("/large.txt"))
        let tag = try #require(whole.http.value(forHTTPHeaderField: "ETag"))
        let same = try await queue.response(
            for: RealServer.nginx.request("/large.txt", headers: ["If-None-Match": tag]))
        #expect(same.statusCode == 304 && same.data.isEmpty)
    }

    // MARK: Limits

    @Test("a rate limit is waited out, and everything arrives in the end", arguments: ["/limited429", "/limited503"])
    func rateLimit(path: String) async throws {
        let queue = NetworkQueue(session: Wire.session()) {
            $0.retryPolicy = .exponential(base: .milliseconds(100), cap: .seconds(1), maxRetries: 30)
            $0.retryBudget = nil
        }
        // One a second: four at once are too many for it, unless they take three seconds to get there.
        let operations = (0..<4).map { _ in queue.send(RealServer.nginx.request(path)) }
        var attempts = 0
        for operation in operations { attempts += try await operation.response.attempts.count }
        #expect(attempts > 4)
    }

    // MARK: Other origins

    private static let secrets = ["Authorization": "Bearer s", "Cookie": "c=1", "X-Api-Key": "k", "X-Own": "o"]

    @Test(
        "C37 nothing secret reaches another origin; the server there says what it saw",
        arguments: [301, 302, 303, 307, 308], ["GET", "POST"])
    func otherOrigin(status: Int, method: String) async throws {
        let body = method == "POST" ? Data("x".utf8) : nil
        let request = RealServer.nginx.request("/away/\(status)", method: method, body: body, headers: Self.secrets)
        let seen = String(decoding: try await queue.data(for: request), as: UTF8.self)
        #expect(seen == "\(status < 307 ? "GET" : method) authorization= cookie= key= own=o")
        let home = RealServer.nginx.request("/home/x", headers: Self.secrets)
        let atHome = String(decoding: try await queue.data(for: home), as: UTF8.self)
        #expect(atHome == "GET authorization=Bearer s cookie=c=1 key=k own=o")
    }

    // MARK: TLS

    @Test("an authority that nobody knows is not trusted, and that is not transient")
    func unknownAuthority() async {
        for request in [RealServer.nginxSecure.request("/small.txt"), RealServer.nginx.request("/up")] {
            let error = await failure { () async throws(NetworkError) in try await queue.data(for: request) }
            #expect(error?.urlErrorCode == .serverCertificateUntrusted)
            #expect(error?.shouldRetry == false)
        }
    }

    @Test("TLS where there is none, and none where there is")
    func wrongProtocol() async throws {
        var plain = try #require(URLComponents(url: RealServer.nginx.url("/small.txt"), resolvingAgainstBaseURL: true))
        plain.scheme = "https"
        let noTLS = URLRequest(url: try #require(plain.url))
        let error = await failure { () async throws(NetworkError) in try await queue.data(for: noTLS) }
        #expect(error?.innermost.urlErrorCode == .secureConnectionFailed)
        var secure = try #require(
            URLComponents(url: RealServer.nginxSecure.url("/small.txt"), resolvingAgainstBaseURL: true))
        secure.scheme = "http"
        let noHTTP = URLRequest(url: try #require(secure.url))
        let refused = await failure { () async throws(NetworkError) in try await queue.data(for: noHTTP) }
        #expect(refused?.response?.statusCode == 400)
    }

    @Test("with the authority among the system's: HTTP/2, many requests at once, no way down to http")
    func trusted() async throws {
        let authority = try #require(RealServer.authority)
        let bundle = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).pem")
        defer { try? FileManager.default.removeItem(at: bundle) }
        try FileManager.default.copyItem(atPath: authority, toPath: bundle.path)
        // URLSession on Linux takes the system's bundle and no other: in a mount namespace it is this one.
        let script = """
            mount --bind "$1" /etc/ssl/certs/ca-certificates.crt && exec "$2" http2 --url "$3" --transport "$4"
            """
        let trial = try #require(TrialProcess.executable())
        let outcome = try await TrialProcess.run(
            "/usr/bin/unshare",
            [
                "-m", "sh", "-c", script, "sh", bundle.path, trial.path, RealServer.nginxSecure.url("").absoluteString,
                Wire.current.rawValue,
            ])
        #expect(outcome.status == 0, "\(outcome.text)")
    }
}
