import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Against httpbin: methods, statuses, redirects, encodings, authentication, slow and endless bodies, cookies, caching, ranges.
@Suite(
    "httpbin", .overEveryWire,
    .enabled(if: RealServer.httpbin.isThere, "CARRIAGEWAY_HTTPBIN is not set; .ci/run starts httpbin and sets it"))
struct HTTPBinTests {
    private struct Echo: Decodable {
        var method: String?
        var data: String?
        var headers: [String: String]?
        var args: [String: String]?
        var gzipped: Bool?
        var deflated: Bool?
        var brotli: Bool?
        var authenticated: Bool?
        var token: String?
        var cookies: [String: String]?
    }

    private let queue = NetworkQueue(session: Wire.session()) { $0.retryPolicy = .never }

    private func echo(_ path: String, method: String = "GET", body: Data? = nil, headers: [String: String] = [:])
        async throws(NetworkError) -> Echo
    {
        let request = RealServer.httpbin.request(path, method: method, body: body, headers: headers)
        return try await queue.value(for: request)
    }

    private func error(_ path: String, method: String = "GET") async -> NetworkError? {
        let request = RealServer.httpbin.request(path, method: method)
        return await failure { () async throws(NetworkError) in try await queue.data(for: request) }
    }

    @Test("every method arrives with its body", arguments: ["GET", "POST", "PUT", "PATCH", "DELETE"])
    func methods(method: String) async throws {
        let body = method == "GET" ? nil : Data("hello".utf8)
        let echo = try await echo("/anything?a=1", method: method, body: body, headers: ["X-Own": "o"])
        #expect(echo.method == method && echo.data == (body == nil ? "" : "hello"))
        #expect(echo.args == ["a": "1"] && echo.headers?["X-Own"] == "o")
    }

    @Test("HEAD and OPTIONS have no body", arguments: ["HEAD", "OPTIONS"])
    func noBody(method: String) async throws {
        let response = try await queue.response(for: RealServer.httpbin.request("/get", method: method))
        #expect(response.statusCode == 200 && response.data.isEmpty)
    }

    @Test("statuses", arguments: [200, 204, 304, 400, 404, 418, 429, 500, 503])
    func statuses(status: Int) async {
        for method in ["GET", "POST", "DELETE"] {
            let error = await error("/status/\(status)", method: method)
            #expect(error?.response?.statusCode == (status >= 400 ? status : nil))
        }
    }

    @Test(
        "redirects, relative and absolute, up to twenty",
        arguments: ["/redirect", "/relative-redirect", "/absolute-redirect"])
    func redirects(path: String) async throws {
        let response = try await queue.response(for: RealServer.httpbin.request("\(path)/5"))
        #expect(response.redirects.count == 5 && response.request.url?.path == "/get")
        let most = try await queue.response(for: RealServer.httpbin.request("\(path)/20"))
        #expect(most.redirects.count == 20)
        #expect(await error("\(path)/21")?.urlErrorCode == .httpTooManyRedirects)
    }

    @Test("a redirect with any status and any method", arguments: [301, 302, 303, 307, 308], ["POST", "PUT"])
    func redirectMethods(status: Int, method: String) async throws {
        let target = "/redirect-to?url=/anything&status_code=\(status)"
        let echo = try await echo(target, method: method, body: Data("hello".utf8))
        let becomesGet = status == 303 || method == "POST" && status < 303
        #expect(echo.method == (becomesGet ? "GET" : method))
        #expect(echo.data == (becomesGet ? "" : "hello"))
    }

    @Test("gzip, deflate and brotli are undone")
    func encodings() async throws {
        #expect(try await echo("/gzip").gzipped == true)
        #expect(try await echo("/deflate").deflated == true)
        #expect(try await echo("/brotli").brotli == true)
    }

    @Test("Basic by a credential for the host; wrong ones, and none, end with the 401")
    func basic() async throws {
        let right = URLCredential(user: "ada", password: "lovelace", persistence: .none)
        for path in ["/basic-auth/ada/lovelace", "/hidden-basic-auth/ada/lovelace"] {
            let request = RealServer.httpbin.request(path)
            #expect(await error(path)?.response.map { [401, 404].contains($0.statusCode) } == true)
            let operation = NetworkOperation(request)
            operation.credential = right
            queue.addOperation(operation)
            await operation.finished()
            // The hidden one answers 404, without asking: nobody is told a password there.
            #expect((try? operation.result?.get().statusCode) == (path.hasPrefix("/basic") ? 200 : nil))
        }
        let wrong = NetworkOperation(RealServer.httpbin.request("/basic-auth/ada/lovelace"))
        wrong.credential = URLCredential(user: "ada", password: "byron", persistence: .none)
        queue.addOperation(wrong)
        await wrong.finished()
        #expect(wrong.result?.error?.response?.statusCode == 401)
        #expect(wrong.attempts.count == 1)
    }

    @Test("Digest is not answered, and ends with the 401")
    func digest() async {
        let operation = NetworkOperation(RealServer.httpbin.request("/digest-auth/auth/ada/lovelace"))
        operation.credential = URLCredential(user: "ada", password: "lovelace", persistence: .none)
        queue.addOperation(operation)
        await operation.finished()
        #expect(operation.result?.error?.response?.statusCode == 401)
    }

    @Test("Bearer")
    func bearer() async throws {
        #expect(await error("/bearer")?.response?.statusCode == 401)
        let echo = try await echo("/bearer", headers: ["Authorization": "Bearer abc"])
        #expect(echo.authenticated == true && echo.token == "abc")
    }

    @Test("slow answers: within the idle timeout they arrive, over it they time out")
    func slow() async throws {
        let dripped = try await queue.data(for: RealServer.httpbin.request("/drip?numbytes=5&duration=1&delay=0"))
        #expect(dripped.count == 5)
        #expect(try await queue.response(for: RealServer.httpbin.request("/delay/1")).statusCode == 200)
        var request = RealServer.httpbin.request("/delay/10")
        request.timeoutInterval = 0.5
        let late = request
        let error = await failure { () async throws(NetworkError) in try await queue.data(for: late) }
        #expect(error?.urlErrorCode == .timedOut)
        let whole = NetworkOperation(RealServer.httpbin.request("/drip?numbytes=50&duration=10&delay=0"))
        whole.attemptTimeout = .milliseconds(600)
        queue.addOperation(whole)
        await whole.finished()
        #expect(whole.result?.error?.urlErrorCode == .timedOut)
    }

    @Test("streams and bytes, in chunks and of known length, and what is too much")
    func bodies() async throws {
        let lines = try await queue.data(for: RealServer.httpbin.request("/stream/20"))
        #expect(lines.split(separator: 10).count == 20)
        #expect(try await queue.data(for: RealServer.httpbin.request("/stream-bytes/50000")).count == 50_000)
        #expect(try await queue.data(for: RealServer.httpbin.request("/bytes/50000")).count == 50_000)
        for path in ["/stream-bytes/50000", "/bytes/50000"] {
            let operation = NetworkOperation(RealServer.httpbin.request(path))
            operation.maxResponseSize = 1_000
            queue.addOperation(operation)
            await operation.finished()
            #expect(operation.result?.error?.name == "responseTooLarge")
        }
    }

    @Test("cookies that are set on a redirect are kept, if the session keeps any")
    func cookies() async throws {
        #expect(try await echo("/cookies", headers: ["Cookie": "own=1"]).cookies == ["own": "1"])
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        let without = Wire.session(configuration)
        let data = try await without.data(for: RealServer.httpbin.request("/cookies/set?a=1"))
        #expect(try JSONDecoder().decode(Echo.self, from: data).cookies == [:])
    }

    @Test("caching: conditions get their 304, and nothing is answered from a cache")
    func caching() async throws {
        let first = try await queue.response(for: RealServer.httpbin.request("/cache"))
        #expect(first.statusCode == 200)
        let second = try await queue.response(
            for: RealServer.httpbin.request("/cache", headers: ["If-Modified-Since": "Thu, 01 Jan 2026 00:00:00 GMT"]))
        #expect(second.statusCode == 304)
        let tagged = try await queue.response(
            for: RealServer.httpbin.request("/etag/abc", headers: ["If-None-Match": "abc"]))
        #expect(tagged.statusCode == 304)
    }

    @Test("ranges")
    func ranges() async throws {
        let part = try await queue.response(
            for: RealServer.httpbin.request("/range/1024", headers: ["Range": "bytes=10-19"]))
        #expect(part.statusCode == 206 && part.data.count == 10)
        let beyond = RealServer.httpbin.request("/range/1024", headers: ["Range": "bytes=5000-"])
        let error = await failure { () async throws(NetworkError) in try await queue.data(for: beyond) }
        #expect(error?.response?.statusCode == 416)
    }
}
