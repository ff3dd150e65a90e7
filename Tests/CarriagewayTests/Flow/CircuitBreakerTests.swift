import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("CircuitBreaker")
struct CircuitBreakerTests {
    private func makeQueue(
        _ stage: Stage, failures: Int = 3, _ configure: (inout NetworkQueue.Configuration) -> Void = { _ in }
    ) -> NetworkQueue {
        NetworkQueue(session: stage.session) {
            $0.retryPolicy = .never
            $0.circuitBreaker = CircuitBreaker(failures: failures, coolDown: .seconds(30))
            configure(&$0)
        }
    }

    private func fail(_ queue: NetworkQueue, times: Int) async {
        for _ in 0..<times {
            _ = await failure { () async throws(NetworkError) in try await queue.data(for: request()) }
        }
    }

    @Test("while it is open requests fail at once with the last failure, and nothing is sent")
    func open() async throws {
        let stage = Stage { request, _ in request.url?.host == "stub.test" ? .failure(.timedOut) : .status(200) }
        let queue = makeQueue(stage)
        await fail(queue, times: 3)
        let operation = queue.send(request())
        await operation.finished()
        guard case .inaccessible(after: 0, let last)? = operation.result?.error else {
            Issue.record("\(String(describing: operation.result))")
            return
        }
        #expect(last.urlErrorCode == .timedOut)
        #expect(stage.transport.sent.count == 3)
        _ = try await queue.data(for: request(host: "other.test"))
        // Another queue has a circuit of its own.
        await fail(NetworkQueue(session: stage.session) { $0.retryPolicy = .never }, times: 1)
        #expect(stage.transport.sent.count == 5)
    }

    @Test("those in line fail at once when it opens, though the slots are taken")
    func inLine() async {
        let stage = Stage { request, _ in request.url?.path == "/hang" ? .none : .failure(.cannotConnectToHost) }
        let queue = makeQueue(stage) { $0.maxConcurrentRequestsPerHost = 2 }
        let hanging = queue.send(request("/hang"))
        await stage.transport.waitForSent(1)
        let failing = (0..<3).map { _ in queue.send(request()) }
        let waiting = (0..<20).map { _ in queue.send(request("/hang")) }
        for operation in failing + waiting { await operation.finished() }
        for operation in waiting {
            #expect(operation.result?.error?.name == "inaccessible" && operation.attempts.isEmpty)
        }
        #expect(stage.transport.sent.count == 4)
        hanging.cancel()
    }

    @Test("a half-open breaker lets one probe through, not a flood; its success closes the circuit")
    func halfOpen() async throws {
        let isBack = Locked(false)
        let stage = Stage { _, _ in isBack.withLock { $0 } ? .none : .failure(.timedOut) }
        let queue = makeQueue(stage)
        await fail(queue, times: 3)
        isBack.withLock { $0 = true }
        stage.time.advance(by: .seconds(30))
        let operations = (0..<50).map { _ in queue.send(request()) }
        await stage.transport.waitForSent(4)
        for operation in operations[1...] { await operation.finished() }
        #expect(stage.transport.sent.count == 4)
        #expect(operations[1...].allSatisfy { $0.result?.error?.name == "inaccessible" })
        stage.transport.complete(stage.transport.sent[3].identifier, with: .status(200))
        #expect(try await operations[0].response.statusCode == 200)
        let after = (0..<10).map { _ in queue.send(request()) }
        await stage.transport.waitForSent(4 + 6)
        for operation in after { operation.cancel() }
    }

    @Test("half-open with a long line behind it, all the others fail, one after the other and not within each other")
    func longLine() async throws {
        let stage = Stage { request, _ in request.url?.path == "/fails" ? .failure(.timedOut) : .none }
        let queue = makeQueue(stage, failures: 1)
        _ = await failure { () async throws(NetworkError) in try await queue.data(for: request("/fails")) }
        stage.time.advance(by: .seconds(30))
        queue.isSuspended = true
        let operations = (0..<10_000).map { _ in queue.send(request()) }
        queue.isSuspended = false
        for operation in operations[1...] { await operation.finished() }
        #expect(stage.transport.sent.count == 2)
        #expect(operations[1...].allSatisfy { $0.result?.error?.name == "inaccessible" })
        operations[0].cancel()
        await queue.drained()
    }

    @Test("a probe that is cancelled lets another one probe")
    func cancelledProbe() async throws {
        let isBack = Locked(false)
        let stage = Stage { _, _ in isBack.withLock { $0 } ? .none : .failure(.timedOut) }
        let queue = makeQueue(stage)
        await fail(queue, times: 3)
        isBack.withLock { $0 = true }
        stage.time.advance(by: .seconds(30))
        let first = queue.send(request())
        await stage.transport.waitForSent(4)
        first.cancel()
        await first.finished()
        let second = queue.send(request())
        await stage.transport.waitForSent(5)
        stage.transport.complete(stage.transport.sent[4].identifier, with: .status(404))
        // A 404 shows that the host is there.
        let error = await failure { () async throws(NetworkError) in try await second.response }
        #expect(error?.name == "endpointError")
        let third = queue.send(request())
        let fourth = queue.send(request())
        await stage.transport.waitForSent(7)
        for operation in [third, fourth] { operation.cancel() }
    }

    @Test("a retry that would come while it is open is not made, nor paid for")
    func retries() async {
        let stage = Stage { _, _ in .status(500) }
        let queue = makeQueue(stage, failures: 2) { $0.retryPolicy = .fixed(interval: .seconds(10), maxRetries: 9) }
        let operation = queue.send(request())
        await stage.time.waitForTimers(1)
        let paid = stage.session.spending.withLock { $0.spent }
        stage.time.advance(by: .seconds(10))
        await operation.finished()
        guard case .inaccessible(after: 2, let last)? = operation.result?.error else {
            Issue.record("\(String(describing: operation.result))")
            return
        }
        #expect(last.response?.statusCode == 500)
        #expect(operation.attempts.map(\.notRetried) == [nil, .circuitOpen])
        #expect(stage.session.spending.withLock { $0.spent } == paid)
    }

    @Test("a retry that comes due while it is open is given back to the budget")
    func retryDue() async {
        let stage = Stage { request, _ in .status(request.url?.path == "/busy" ? 503 : 500) }
        let queue = makeQueue(stage, failures: 4) { $0.retryPolicy = .fixed(interval: .seconds(10), maxRetries: 1) }
        let waiting = queue.send(request("/busy"))
        await stage.time.waitForTimers(1)
        let others = (0..<3).map { _ in queue.send(request(method: "POST")) }
        for operation in others { await operation.finished() }
        stage.time.advance(by: .seconds(10))
        await waiting.finished()
        #expect(waiting.result?.error?.name == "inaccessible")
        #expect(waiting.attempts.map(\.notRetried) == [.circuitOpen])
        #expect(stage.session.spending.withLock { $0.spent.isEmpty })
    }

    @Test("against a server that is down and comes back", .overEveryWire)
    func overTheWire() async throws {
        let server = try LoopbackServer()
        server.on("/", .reset, .reset, .text("back"))
        let queue = NetworkQueue(session: Wire.session()) {
            $0.retryPolicy = .never
            $0.circuitBreaker = CircuitBreaker(failures: 2, coolDown: .milliseconds(1))
        }
        var post = URLRequest(url: server.url())
        post.httpMethod = "POST"
        for _ in 0..<2 { _ = await failure { () async throws(NetworkError) in try await queue.data(for: post) } }
        var data: Data?
        while data == nil { data = try? await queue.data(for: post) }
        #expect(data == Data("back".utf8))
        #expect(server.requests.count == 3)
    }
}
