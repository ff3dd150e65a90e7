import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Retry through the whole pipeline: cases C24 to C32. Time is virtual, randomness fixed at its greatest.
struct RetryTests {
    @Test("C24, C26: a POST whose response is lost is not sent again, and the attempt says why")
    func lostPost() async {
        let stage = Stage { _, _ in .failure(.networkConnectionLost) }
        let queue = NetworkQueue(session: stage.session)
        let operation = queue.send(request(method: "POST"))
        let error = await failure { () async throws(NetworkError) in try await operation.response }
        #expect(error?.urlErrorCode == .networkConnectionLost)
        #expect(error?.name == "urlError")
        #expect(stage.transport.sent.count == 1)
        #expect(operation.attempts.map(\.notRetried) == [.nonIdempotent])
        #expect(NotRetriedReason.nonIdempotent.description == "not idempotent")
    }

    @Test(
        "C24: over real sockets a POST on a kept-alive connection that is reset reaches the server once",
        arguments: Wire.all)
    func lostPostOverSockets(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/get", .text("x"))
        server.on("POST", "/post", .reset)
        let session = wire.session()
        let queue = NetworkQueue(session: session)
        for _ in 0..<3 { _ = try await queue.data(for: URLRequest(url: server.url("/get"))) }
        for _ in 0..<3 {
            var post = URLRequest(url: server.url("/post"))
            post.httpMethod = "POST"
            post.httpBody = Data("once".utf8)
            let error = await failure { () async throws(NetworkError) in try await queue.data(for: post) }
            #expect(error?.urlErrorCode == .networkConnectionLost)
        }
        #expect(server.requests(to: "/post").count == 3)
    }

    @Test("C24: a POST goes again if nothing was sent, if it has a key, or if the caller says so", arguments: 0..<4)
    func repeatablePost(way: Int) async throws {
        let code: URLError.Code = way == 0 ? .cannotConnectToHost : .networkConnectionLost
        let stage = Stage { _, identifier in identifier < 3 ? .failure(code) : .status(200) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 3)
        }
        var post = request(method: "POST")
        if way == 1 { post.setValue("mine", forHTTPHeaderField: "Idempotency-Key") }
        let operation = NetworkOperation(post)
        if way == 2 { operation.generatesIdempotencyKey = true }
        if way == 3 { operation.retriesNonIdempotent = true }
        queue.addOperation(operation)
        #expect(try await operation.response.attempts.count == 3)
        let keys = stage.transport.sent.map { $0.request.value(forHTTPHeaderField: "Idempotency-Key") }
        #expect(Set(keys).count == 1)
        #expect((keys[0] != nil) == (way == 1 || way == 2))
    }

    @Test("C25: the method rule holds for timeouts as well", arguments: ["GET", "PUT", "POST", "PATCH", "ODD"])
    func methodRuleForTimeouts(method: String) async {
        let stage = Stage { _, _ in .failure(.timedOut) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1)
        }
        let operation = queue.send(request(method: method))
        _ = await failure { () async throws(NetworkError) in try await operation.response }
        #expect(stage.transport.sent.count == (method == "GET" || method == "PUT" ? 2 : 1))
    }

    @Test("C27: a Retry-After beyond the limit fails at once, and the error carries it")
    func longRetryAfter() async {
        let stage = Stage { _, _ in .status(503, headers: ["Retry-After": "3600"]) }
        let queue = NetworkQueue(session: stage.session)
        let operation = queue.send(request())
        let error = await failure { () async throws(NetworkError) in try await operation.response }
        #expect(error?.name == "endpointError")
        #expect(error?.response?.value(forHTTPHeaderField: "Retry-After") == "3600")
        #expect(operation.attempts.map(\.notRetried) == [.retryAfterTooLong(.seconds(3600))])
        #expect(stage.transport.sent.count == 1)
    }

    @Test("C28: the retry waits at least as long as the server says, and the host's others in line wait too")
    func retryAfterHoldsTheHost() async {
        let stage = Stage { request, identifier in
            identifier == 1 ? .status(429, headers: ["Retry-After": "7"]) : .status(200)
        }
        let queue = NetworkQueue(session: stage.session) { $0.maxConcurrentRequestsPerHost = 1 }
        let first = queue.send(request("/first"))
        let second = queue.send(request("/second"))
        let elsewhere = queue.send(request("/", host: "other.test"))
        // The host's hold, then the retry's own timer.
        await stage.time.waitForTimers(2)
        await elsewhere.finished()
        #expect(stage.transport.sent.count == 2)
        stage.time.advance(by: .milliseconds(6_999))
        #expect(stage.transport.sent.count == 2)
        stage.time.advance(by: .milliseconds(1))
        await second.finished()
        #expect(first.result == nil)
        // A little jitter on top: a tenth, as randomness is at its greatest here.
        stage.time.advance(by: .milliseconds(700))
        await first.finished()
        #expect(first.attempts.count == 2)
        #expect(stage.transport.sent.count == 4)
    }

    @Test("C30: when everything fails, the budget keeps the sends close to one for each request")
    func budget() async {
        let stage = Stage { _, _ in .status(503) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .exponential(base: .zero, maxRetries: 10)
            $0.maxConcurrentRequestsPerHost = 64
        }
        let operations = (0..<2_000).map { NetworkOperation(request("/\($0)")) }
        queue.addOperations(operations, waitUntilFinished: false)
        await queue.drained()
        // 500 tokens at 5 each after a 503: a hundred retries in all.
        #expect(stage.transport.sent.count == 2_100)
        #expect(operations.count { $0.attempts.last?.notRetried == .budget } > 1_900)
        #expect(operations.allSatisfy { $0.result?.error?.name != nil })
    }

    @Test("successes fill the budget up again")
    func budgetRefills() async throws {
        let fails = Locked(true)
        let stage = Stage { _, _ in fails.withLock { $0 } ? .failure(.timedOut) : .status(200) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .exponential(base: .zero, maxRetries: 100)
        }
        _ = await failure { () async throws(NetworkError) in try await queue.data(for: request()) }
        // 35 retries at 14 tokens: 490 of 500.
        #expect(stage.transport.sent.count == 36)
        fails.withLock { $0 = false }
        for _ in 0..<4 { _ = try await queue.data(for: request()) }
        fails.withLock { $0 = true }
        _ = await failure { () async throws(NetworkError) in try await queue.data(for: request()) }
        // Ten were left and four came back: one more.
        #expect(stage.transport.sent.count == 36 + 4 + 2)
    }

    @Test("C31: the second attempt uploads the whole body again", arguments: Wire.all)
    func bodyIsSentAgain(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on(
            "/", .status(503), LoopbackServer.Response.text("never").truncated(after: 2, then: .reset), .text("ok"))
        let queue = NetworkQueue(session: wire.session()) {
            $0.retryPolicy = .exponential(base: .zero, maxRetries: 3)
        }
        var put = URLRequest(url: server.url())
        put.httpMethod = "PUT"
        put.httpBody = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        let response = try await queue.response(for: put)
        #expect(response.data == Data("ok".utf8))
        #expect(server.requests.count == 3)
        #expect(server.requests.allSatisfy { $0.body == put.httpBody })
    }

    @Test("C31: a stream is sent once, and the attempt says that it cannot be read again", arguments: Wire.all)
    func streamIsSentOnce(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/", .status(503))
        let queue = NetworkQueue(session: wire.session()) {
            $0.retryPolicy = .exponential(base: .zero, maxRetries: 3)
        }
        var put = URLRequest(url: server.url())
        put.httpMethod = "PUT"
        put.httpBodyStream = InputStream(data: Data("streamed".utf8))
        let operation = queue.send(put)
        let error = await failure { () async throws(NetworkError) in try await operation.response }
        #expect(error?.name == "endpointError")
        #expect(operation.attempts.map(\.notRetried) == [.bodyNotReplayable])
        #expect(server.requests.map(\.body) == [Data("streamed".utf8)])
    }

    @Test(
        "maxRetries n means at most n + 1 sends, and then the failure says how many there were",
        arguments: [-5, 0, 1, 4])
    func attemptCount(maxRetries: Int) async {
        let stage = Stage { _, _ in .failure(.timedOut) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: maxRetries)
        }
        let error = await failure { () async throws(NetworkError) in try await queue.data(for: request()) }
        let sends = max(maxRetries, 0) + 1
        #expect(stage.transport.sent.count == sends)
        #expect(error?.urlErrorCode == .timedOut)
        #expect(error?.name == (sends > 1 ? "inaccessible" : "urlError"))
        if case .inaccessible(let attempts, _) = error { #expect(attempts == sends) }
    }

    @Test("the waits grow from half a second, double when the server is busy, and are never above the cap")
    func backoff() async {
        let stage = Stage { _, identifier in identifier == 2 ? .status(503) : .failure(.timedOut) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .exponential(cap: .seconds(3), maxRetries: 4)
        }
        queue.send(request())
        var waits: [Duration] = []
        for number in 1...4 {
            await stage.time.waitForTimers(number)
            guard let wait = stage.time.nextDelay else { break }
            waits.append(wait)
            stage.time.advance(by: wait)
        }
        #expect(waits == [.milliseconds(500), .seconds(2), .seconds(2), .seconds(3)])
    }

    @Test("a retry is made only if its wait ends before the timeout; the failure then is the attempt's own")
    func retryWithinDeadline() async {
        let stage = Stage { _, _ in .failure(.timedOut) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .fixed(interval: .seconds(4), maxRetries: 10)
            $0.timeout = .seconds(10)
        }
        let operation = queue.send(request())
        // The deadline's timer, and two waits that fit.
        await stage.time.waitForTimers(2)
        stage.time.advance(by: .seconds(4))
        await stage.time.waitForTimers(3)
        stage.time.advance(by: .seconds(4))
        await operation.finished()
        #expect(operation.result?.error?.urlErrorCode == .timedOut)
        #expect(operation.attempts.map(\.notRetried) == [nil, nil, .deadline])
    }

    @Test("the timeout ends an operation on the wire, in line, and during backoff", arguments: 0..<3)
    func timeout(place: Int) async {
        let stage = Stage { request, _ in request.url?.path == "/hang" ? .none : .failure(.timedOut) }
        let queue = NetworkQueue(session: stage.session) {
            $0.maxConcurrentRequests = 1
            $0.retryPolicy = .fixed(interval: .seconds(5), maxRetries: 1)
        }
        if place == 1 {
            queue.send(request("/hang"))
            await stage.transport.waitForSent(1)
        }
        let operation = NetworkOperation(request(place == 2 ? "/fail" : "/hang"))
        operation.timeout = .seconds(6)
        queue.addOperation(operation)
        await stage.time.waitForTimers(place == 2 ? 2 : 1)
        stage.time.advance(by: place == 2 ? .milliseconds(4_999) : .seconds(6))
        if place == 2 {
            #expect(operation.result == nil)
            queue.isSuspended = true
            stage.time.advance(by: .seconds(2))
        }
        #expect(operation.result?.error?.name == "deadlineExceeded")
        await operation.finished()
        queue.cancelAllOperations()
        queue.isSuspended = false
    }

    @Test("a subclass decides by overriding shouldRetry, under the same limits")
    func override() async {
        final class Stubborn: NetworkOperation, @unchecked Sendable {
            override func shouldRetry(after error: NetworkError) -> Bool { error.response?.statusCode == 404 }
        }
        let stage = Stage { _, _ in .status(404) }
        let queue = NetworkQueue(session: stage.session) { $0.retryPolicy = .fixed(interval: .zero, maxRetries: 2) }
        let stubborn = Stubborn(request())
        let post = Stubborn(request(method: "POST"))
        queue.addOperations([stubborn, post], waitUntilFinished: false)
        await stubborn.finished()
        await post.finished()
        #expect(stubborn.attempts.count == 3)
        #expect(post.attempts.map(\.notRetried) == [.nonIdempotent])
    }

    @Test("a custom policy decides, and sets the wait")
    func customPolicy() async throws {
        let stage = Stage { _, identifier in identifier == 1 ? .status(404) : .status(200) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .custom { $0.error.response?.statusCode == 404 ? .retryAfter(.seconds(9)) : .automatic }
        }
        let operation = queue.send(request())
        await stage.time.waitForTimers(1)
        #expect(stage.time.nextDelay == .seconds(9))
        stage.time.advance(by: .seconds(9))
        #expect(try await operation.response.attempts.count == 2)
    }

    @Test("a connection that died idle is tried again at once, one time")
    func idleConnection() async {
        let stage = Stage { _, _ in .failure(.networkConnectionLost) }
        let queue = NetworkQueue(session: stage.session)
        let operation = queue.send(request())
        await stage.time.waitForTimers(1)
        #expect(stage.transport.sent.count == 2)
        operation.cancel()
    }

    @Test("no byte of a failed attempt is in the data of the next", arguments: Wire.all)
    func cleanAttempts(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on(
            "/", LoopbackServer.Response.text("first attempt").truncated(after: 8, then: .reset),
            LoopbackServer.Response.text("second").preceded(by: 103).chunked(size: 2))
        let queue = NetworkQueue(session: wire.session()) {
            $0.retryPolicy = .exponential(base: .zero, maxRetries: 1)
        }
        #expect(try await queue.data(for: URLRequest(url: server.url())) == Data("second".utf8))
    }

    @Test("prepare gets the original request at every attempt, and its failure is judged like any other")
    func prepare() async throws {
        let stage = Stage { _, identifier in identifier == 1 ? .status(503) : .status(200) }
        let tokens = Counter()
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .exponential(base: .zero, maxRetries: 3)
            $0.prepare = { request in
                tokens.increment()
                if tokens.value == 2 { throw URLError(.notConnectedToInternet) }
                let old = request.value(forHTTPHeaderField: "X-Token") ?? ""
                request.setValue(old + "\(tokens.value)", forHTTPHeaderField: "X-Token")
            }
        }
        let response = try await queue.response(for: request())
        #expect(response.request.value(forHTTPHeaderField: "X-Token") == "3")
        #expect(response.attempts.count == 3)
        #expect(stage.transport.sent.map { $0.request.value(forHTTPHeaderField: "X-Token") } == ["1", "3"])
    }

    @Test("what prepare makes of a request is checked too")
    func prepareIsChecked() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session) {
            $0.prepare = { $0.allHTTPHeaderFields = ["X-Bad": "a\r\nInjected: b"] }
        }
        let error = await failure { () async throws(NetworkError) in try await queue.data(for: request()) }
        #expect(error?.name == "invalidRequest")
        #expect(stage.transport.sent.isEmpty)
    }
}
