import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Redirects as a user meets them: policies, the way taken, what reaches the next server.
@Suite(.overEveryWire)
struct FollowingTests {
    private let first: LoopbackServer
    private let second: LoopbackServer
    private let queue = NetworkQueue(session: Wire.session()) { $0.retryPolicy = .never }

    init() throws {
        first = try LoopbackServer()
        second = try LoopbackServer()
        for server in [first, second] { server.on("/here", .text("arrived")) }
    }

    private func operation(_ path: String, _ policy: RedirectPolicy = .follow, method: String = "GET")
        -> NetworkOperation
    {
        var request = URLRequest(url: first.url(path))
        request.httpMethod = method
        if method == "POST" { request.httpBody = Data("body".utf8) }
        request.setValue("Bearer x", forHTTPHeaderField: "Authorization")
        request.setValue("a=b", forHTTPHeaderField: "Cookie")
        request.setValue("k", forHTTPHeaderField: "X-API-Key")
        request.setValue("t", forHTTPHeaderField: "X-Tenant")
        request.setValue("1", forHTTPHeaderField: "X-Own")
        let operation = NetworkOperation(request)
        operation.redirects = policy
        return operation
    }

    private func run(_ operation: NetworkOperation) async throws(NetworkError) -> NetworkResponse {
        queue.addOperation(operation)
        return try await operation.response
    }

    // MARK: Follow and refuse

    @Test("the response tells the way taken")
    func way() async throws {
        let away = second.url("/away")
        first.on("/start") { _ in .redirect(to: away.absoluteString, status: 301) }
        second.on("/away", .redirect(to: "here", status: 307))
        let response = try await run(operation("/start"))
        #expect(response.data == Data("arrived".utf8))
        #expect(
            response.redirects == [
                NetworkRedirect(statusCode: 301, from: first.url("/start"), to: away),
                NetworkRedirect(statusCode: 307, from: away, to: second.url("/here")),
            ])
        #expect(response.request.url == second.url("/here"))
        #expect(try await run(operation("/here")).redirects.isEmpty)
    }

    @Test("a refused redirect is the response, with its body", arguments: [301, 302, 303, 307, 308])
    func refuse(status: Int) async throws {
        first.on("/start", .status(status, headers: ["Location": "/here"], body: Data("moved".utf8)))
        let response = try await run(operation("/start", .refuse))
        #expect(response.statusCode == status && response.data == Data("moved".utf8))
        #expect(response.redirects.isEmpty)
        #expect(first.requestCount == 1)
    }

    @Test("the queue's policy holds for operations without one")
    func queuePolicy() async throws {
        first.on("/start", .redirect(to: "/here"))
        let queue = NetworkQueue(session: Wire.session()) { $0.redirects = .refuse }
        #expect(try await queue.response(for: URLRequest(url: first.url("/start"))).statusCode == 302)
    }

    // MARK: Asking the caller

    @Test("a closure sees the redirect and the next request, and may change it")
    func closure() async throws {
        first.on("/start", .redirect(to: "/there"))
        let policy = RedirectPolicy.custom { response, request in
            #expect(response.statusCode == 302 && request.url?.path == "/there")
            var request = request
            request.url = request.url?.deletingLastPathComponent().appendingPathComponent("here")
            return request
        }
        let response = try await run(operation("/start", policy))
        #expect(response.data == Data("arrived".utf8))
        #expect(first.requests.last?.header("Authorization") == "Bearer x")
    }

    @Test("a closure may say no, and the redirect is the response")
    func closureRefuses() async throws {
        first.on("/start", .status(302, headers: ["Location": "/here"], body: Data("moved".utf8)))
        let response = try await run(operation("/start", .custom { _, _ in nil }))
        #expect(response.statusCode == 302 && response.data == Data("moved".utf8))
        #expect(first.requestCount == 1)
    }

    @Test("what a closure returns is checked as any request is")
    func closureReturnsNonsense() async throws {
        first.on("/start", .redirect(to: "/here"))
        let policy = RedirectPolicy.custom { _, request in
            var request = request
            request.url = URL(string: "ftp://127.0.0.1/")
            return request
        }
        let operation = operation("/start", policy)
        let error = await failure { () async throws(NetworkError) in try await run(operation) }
        #expect(error?.name == "invalidRequest")
    }

    @Test("C37 a closure that leads elsewhere takes no credential along, unless it sets one")
    func closureLeadsElsewhere() async throws {
        first.on("/start", .redirect(to: "/here"))
        let target = second.url("/here")
        for value in [nil, "Basic own"] as [String?] {
            let policy = RedirectPolicy.custom { _, request in
                var request = request
                request.url = target
                if let value { request.setValue(value, forHTTPHeaderField: "Authorization") }
                return request
            }
            _ = try await run(operation("/start", policy))
            let arrived = try #require(second.requests.last)
            #expect(arrived.header("Authorization") == value)
            #expect(arrived.header("Cookie") == nil && arrived.header("X-API-Key") == nil)
        }
    }

    @Test("H3: while a closure takes its time, cancelling and the timeout work, and nothing is sent")
    func slowClosure() async throws {
        first.on("/start", .redirect(to: "/here"))
        let asked = Counter()
        let policy = RedirectPolicy.custom { _, request in
            asked.increment()
            // Ends when its task is cancelled, as it has to be.
            try? await Task.sleep(for: .seconds(3_600))
            return request
        }
        let cancelled = operation("/start", policy)
        queue.addOperation(cancelled)
        await asked.wait(for: 1)
        cancelled.cancel()
        #expect(await failure { () async throws(NetworkError) in try await cancelled.response }?.isCancelled == true)
        let late = operation("/start", policy)
        late.timeout = .milliseconds(300)
        let error = await failure { () async throws(NetworkError) in try await run(late) }
        #expect(error?.name == "deadlineExceeded")
        await queue.drained()
        #expect(first.requests(to: "/here").isEmpty)
    }

    // MARK: What reaches another origin

    @Test(
        "C37 no credential, cookie or key reaches another origin, whatever the status",
        arguments: [301, 302, 303, 307, 308], ["GET", "POST"])
    func otherOrigin(status: Int, method: String) async throws {
        let target = second.url("/here").absoluteString
        first.on("/start") { _ in .redirect(to: target, status: status) }
        var policy = RedirectPolicy.follow
        policy.confidentialHeaders = ["X-Tenant"]
        _ = try await run(operation("/start", policy, method: method))
        let arrived = try #require(second.requests.first)
        for name in ["Authorization", "Cookie", "X-API-Key", "X-Tenant"] { #expect(arrived.header(name) == nil) }
        #expect(arrived.header("X-Own") == "1")
        let keeps = method == "GET" || status >= 307
        #expect(arrived.method == (keeps ? method : "GET"))
        #expect(arrived.body == (method == "POST" && keeps ? Data("body".utf8) : Data()))
    }

    @Test("C37 what was left out on the way out does not come back on the way home")
    func thereAndBack() async throws {
        let away = second.url("/away").absoluteString
        let home = first.url("/here").absoluteString
        first.on("/start") { _ in .redirect(to: away) }
        second.on("/away") { _ in .redirect(to: home) }
        _ = try await run(operation("/start"))
        let arrived = try #require(first.requests(to: "/here").first)
        #expect(arrived.header("Authorization") == nil && arrived.header("Cookie") == nil)
    }

    @Test("C37 nor do headers of the session's configuration, which all other requests get")
    func configurationHeaders() async throws {
        let target = second.url("/here").absoluteString
        first.on("/start") { _ in .redirect(to: target) }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer s", "X-Api-Key": "k", "X-Plain": "1"]
        let session = Wire.session(configuration)
        var request = URLRequest(url: first.url("/start"))
        request.setValue("own", forHTTPHeaderField: "x-api-key")
        _ = try await session.data(for: request)
        let sent = try #require(first.requests.first)
        #expect(sent.header("Authorization") == "Bearer s" && sent.header("X-Api-Key") == "own")
        let arrived = try #require(second.requests.first)
        #expect(arrived.header("Authorization") == nil && arrived.header("X-Api-Key") == nil)
        #expect(arrived.header("X-Plain") == "1")
    }

    // MARK: Failures on the way

    @Test("C24 a POST that a server took before it led on is not sent twice", arguments: [301, 302, 303])
    func takenPost(status: Int) async throws {
        let closed = try ClosedPort()
        defer { closed.letGo() }
        first.on("/start", .redirect(to: closed.url().absoluteString, status: status))
        let operation = operation("/start", method: "POST")
        operation.retryPolicy = .fixed(interval: .zero, maxRetries: 3)
        let error = await failure { () async throws(NetworkError) in try await run(operation) }
        #expect(error?.urlErrorCode == .cannotConnectToHost)
        #expect(operation.attempts.map(\.notRetried) == [.nonIdempotent])
        #expect(first.requestCount == 1)
    }

    @Test("one that was only pointed on is", arguments: [307, 308])
    func pointedPost(status: Int) async throws {
        let closed = try ClosedPort()
        defer { closed.letGo() }
        first.on("/start", .redirect(to: closed.url().absoluteString, status: status))
        let operation = operation("/start", method: "POST")
        operation.retryPolicy = .fixed(interval: .zero, maxRetries: 2)
        let error = await failure { () async throws(NetworkError) in try await run(operation) }
        #expect(error?.name == "inaccessible")
        #expect(first.requestCount == 3)
    }

    @Test("a redirect whose body breaks off is followed all the same")
    func brokenBody() async throws {
        let stage = Stage()
        let operation = NetworkOperation(request("/start"), session: stage.session)
        operation.start()
        await stage.transport.waitForSent(1)
        let events = stage.session.router
        let sent = stage.transport.sent[0].identifier
        events.task(sent, received: Made.response(302, ["Location": "/next"], url: "http://stub.test/start"))
        events.task(sent, received: Data("mov".utf8))
        events.task(sent, completedWith: .urlError(URLError(.networkConnectionLost)))
        await stage.transport.waitForSent(2)
        stage.transport.complete(stage.transport.sent[1].identifier, with: .status(200, body: Data("x".utf8)))
        let response = try await operation.response
        #expect(response.data == Data("x".utf8) && response.request.url?.path == "/next")
    }
}
