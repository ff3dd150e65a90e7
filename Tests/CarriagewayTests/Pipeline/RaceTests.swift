import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Races: each that has a name in both orders, then all of them at random.
struct RaceTests {
    @Test("complete against cancel: who comes first decides, once", arguments: [true, false])
    func completeAgainstCancel(isCancelFirst: Bool) async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let calls = Counter()
        let operation = queue.send(request()) { _ in calls.increment() }
        await stage.transport.waitForSent(1)
        if isCancelFirst { operation.cancel() }
        stage.transport.complete(1, with: .status(200))
        if !isCancelFirst { await operation.finished() }
        operation.cancel()
        await operation.finished()
        #expect(operation.result?.isCancelled == isCancelFirst)
        await calls.wait(for: 1)
        #expect(stage.transport.aliveCount == 0)
    }

    @Test("cancel against start: cancelled before, it is not sent; after, its task is ended", arguments: [true, false])
    func cancelAgainstStart(isCancelFirst: Bool) async {
        let stage = Stage()
        let operation = NetworkOperation(request(), session: stage.session)
        if isCancelFirst { operation.cancel() }
        #expect(!operation.isFinished)
        operation.start()
        if !isCancelFirst { operation.cancel() }
        await operation.finished()
        #expect(operation.result?.isCancelled == true)
        #expect(stage.transport.sent.count == (isCancelFirst ? 0 : 1))
        #expect(stage.transport.aliveCount == 0)
    }

    @Test("invalidate against enqueue: either way the request ends, and says that the session is no more")
    func invalidateAgainstEnqueue() async {
        for isInvalidFirst in [true, false] {
            let stage = Stage()
            let queue = NetworkQueue(session: stage.session)
            if isInvalidFirst { stage.session.invalidateAndCancel() }
            let operation = queue.send(request())
            if !isInvalidFirst { stage.session.invalidateAndCancel() }
            await operation.finished()
            #expect(operation.result?.error?.name == "sessionInvalidated")
        }
    }

    @Test(
        "sessions invalidated while requests are added and redirected: each request ends, nothing traps",
        arguments: Wire.all)
    func invalidateAtRandom(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/from", .redirect(to: "/to"))
        server.on("/to", .text("x"))
        for round in 0..<40 {
            let session = wire.session()
            let queue = NetworkQueue(session: session) { $0.retryPolicy = .never }
            let ended = Counter()
            let adder = Thread {
                for _ in 0..<40 {
                    queue.send(URLRequest(url: server.url("/from"))) { _ in ended.increment() }
                }
            }
            adder.start()
            if round % 2 == 0 { await ended.wait(for: 1 + round / 2) }
            if round % 4 < 2 { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
            await ended.wait(for: 40)
        }
    }

    @Test("deadline against complete: one result, and it stays", arguments: [true, false])
    func deadlineAgainstComplete(isDeadlineFirst: Bool) async {
        let stage = Stage()
        let operation = NetworkOperation(request(), session: stage.session)
        operation.timeout = .seconds(1)
        operation.start()
        if isDeadlineFirst { stage.time.advance(by: .seconds(1)) }
        stage.transport.complete(1, with: .status(200))
        if !isDeadlineFirst { await operation.finished() }
        stage.time.advance(by: .seconds(1))
        await operation.finished()
        #expect((operation.result?.error?.name == "deadlineExceeded") == isDeadlineFirst)
    }

    @Test("the last dependency's end against the dependent's adding: it runs once", arguments: 0..<3)
    func dependencyAgainstAdding(order: Int) async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let first = NetworkOperation(request(), session: stage.session)
        let second = NetworkOperation(after: first) { _ in request() }
        if order == 0 { queue.addOperation(second) }
        first.start()
        if order == 1 { queue.addOperation(second) }
        await first.finished()
        if order == 2 { queue.addOperation(second) }
        await second.finished()
        #expect(second.result?.error == nil)
        #expect(stage.transport.sent.count == 2)
    }

    @Test(
        "cancelled at every point of the way, 10,000 times at random: one result each, and no slot is lost",
        arguments: Wire.all)
    func cancelAnywhere(wire: Wire) async throws {
        let count = Int(ProcessInfo.processInfo.environment["CARRIAGEWAY_CANCELS"] ?? "") ?? 10_000
        let seed = seedForThisRun()
        var random = SeededRandom(seed: seed)
        let server = try LoopbackServer()
        server.recordsRequests = false
        server.on("/ok", .text("ok"))
        server.on("/redirect", .redirect(to: "/ok"))
        server.on("/busy", .status(503))
        server.on("/drip", LoopbackServer.Response.text("dripping").dripped(size: 2, interval: .milliseconds(1)))
        server.on("/reset", LoopbackServer.Response.text("reset").truncated(after: 2, then: .reset))
        let paths = ["/ok", "/ok", "/redirect", "/busy", "/drip", "/reset"]
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 16
        let queue = NetworkQueue(session: wire.session(configuration)) {
            $0.maxConcurrentRequestsPerHost = 16
            $0.retryPolicy = .exponential(base: .milliseconds(1), maxRetries: 2)
            $0.retryBudget = nil
            $0.prepare = { $0.setValue("x", forHTTPHeaderField: "X-Prepared") }
        }
        let calls = Locked([Int](repeating: 0, count: count))
        let ended = Counter()
        for index in 0..<count {
            let operation = NetworkOperation(
                URLRequest(url: server.url(paths[Int.random(in: 0..<paths.count, using: &random)])))
            operation.onCompletion { _ in
                calls.withLock { $0[index] += 1 }
                ended.increment()
            }
            let delay = Int.random(in: 0..<6_000, using: &random)
            if Int.random(in: 0..<20, using: &random) == 0 { operation.cancel() }
            queue.addOperation(operation)
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(delay)) { operation.cancel() }
            // Not all at once: so that some are cancelled in line, and others on the wire.
            if index % 64 == 63 { await ended.wait(for: index - 32) }
        }
        await ended.wait(for: count)
        await queue.drained()
        #expect(calls.withLock { $0.allSatisfy { $0 == 1 } }, "seed \(seed)")
        // No slot was lost: sixteen are on the wire at once again.
        let gate = LoopbackServer.Gate()
        server.on("/held", LoopbackServer.Response.text("held").held(by: gate))
        for _ in 0..<20 { queue.send(URLRequest(url: server.url("/held"))) }
        try await gate.waitForArrivals(16)
        gate.open()
        await queue.drained()
    }

    @Test(
        "1,000 requests to a server that fails a third of them in every way: all succeed, and every send is told",
        arguments: Wire.all)
    func mixedFaults(wire: Wire) async throws {
        let seed = seedForThisRun()
        // Eight failures in a row for one request at most, whatever the seed.
        let faults = Locked((random: SeededRandom(seed: seed), failures: [String: Int](), stalled: Set<String>()))
        // Only these can stall, once each, and only they have a short timeout, which a slow machine may meet without.
        let stalling = Set(stride(from: 3, to: 1_000, by: 7).map { "/\($0)" })
        let server = try LoopbackServer()
        server.on("/*") { request in
            let fault = faults.withLock { faults in
                let drawn = Int.random(in: 0..<60, using: &faults.random)
                guard drawn < 20, faults.failures[request.path, default: 0] < 8 else { return 60 }
                faults.failures[request.path, default: 0] += 1
                if drawn >= 15, stalling.contains(request.path), faults.stalled.insert(request.path).inserted {
                    return 20
                }
                return drawn
            }
            return switch fault {
            case 0..<5: .status(503)
            // Not before the first byte: libcurl sends such a request again by itself, and tells nobody.
            case 5..<10: LoopbackServer.Response.text("reset").truncated(after: 0, then: .reset)
            case 10..<15: LoopbackServer.Response.text("cut body").truncated(after: 3, then: .close)
            case 15..<20: LoopbackServer.Response.text("chunks").chunked(size: 2).truncated(after: 2, then: .close)
            case 20: LoopbackServer.Response.text("stall").truncated(after: 2, then: .stall)
            default: .text("ok")
            }
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 64
        let queue = NetworkQueue(session: wire.session(configuration)) {
            $0.maxConcurrentRequestsPerHost = 64
            // A slow machine may stall a request more often than it is told to, if that has a short timeout.
            $0.retryPolicy = .exponential(base: .milliseconds(1), cap: .seconds(1), maxRetries: 1_000)
            $0.retryBudget = nil
        }
        let calls = Counter()
        let operations = (0..<1_000).map { index in
            var request = URLRequest(url: server.url("/\(index)"))
            request.httpMethod = ["GET", "PUT", "DELETE", "POST"][index % 4]
            if index % 4 == 1 { request.httpBody = Data("body \(index)".utf8) }
            request.timeoutInterval = stalling.contains("/\(index)") ? 5 : 300
            return queue.send(request) { _ in calls.increment() }
        }
        await calls.wait(for: 1_000)
        await queue.drained()
        for (index, operation) in operations.enumerated() where index % 4 != 3 {
            #expect(operation.result?.error == nil, "seed \(seed), request \(index)")
            #expect(
                operation.attempts.count <= 9 || stalling.contains("/\(index)"), "seed \(seed), request \(index)")
        }
        #expect(calls.value == 1_000)
        let stalled = faults.withLock { $0.stalled }
        #expect(!stalled.isEmpty, "seed \(seed)")
        var arrivedInAll = 0
        for (index, operation) in operations.enumerated() {
            // One that timed out without being stalled may have done so before it came to the server.
            let timeouts = operation.attempts.count {
                guard case .failed(let error) = $0.outcome else { return false }
                return error.urlErrorCode == .timedOut
            }
            let unsure = timeouts - (stalled.contains("/\(index)") ? 1 : 0)
            let attempts = operation.attempts.count
            let arrived = server.requests(to: "/\(index)").count
            #expect(unsure >= 0 && (attempts - unsure...attempts).contains(arrived), "seed \(seed), request \(index)")
            arrivedInAll += arrived
        }
        #expect(server.requestCount == arrivedInAll, "seed \(seed)")
    }
}

/// The seed of this run: from the environment to run one again, else random.
func seedForThisRun() -> UInt64 {
    ProcessInfo.processInfo.environment["CARRIAGEWAY_SEED"].flatMap(UInt64.init) ?? .random(in: 0...UInt64.max)
}
