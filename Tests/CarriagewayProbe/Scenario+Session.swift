import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension Scenario {
    /// K5: with a cache, the default, cancelling soon after resume killed the process in 7 of 7 runs.
    static func cancelAfterResume() async throws {
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        let configuration = URLSessionConfiguration.default
        configuration.httpMaximumConnectionsPerHost = 64
        let queue = NetworkQueue(session: NetworkSession.probed(configuration)) {
            $0.maxConcurrentRequestsPerHost = 64
            $0.retryPolicy = .never
        }
        var waiting: [NetworkOperation] = []
        for index in 0..<6_000 {
            let operation = queue.send(URLRequest(url: server.url()))
            if index % 3 == 0 { operation.cancel() } else { waiting.append(operation) }
        }
        for operation in waiting {
            _ = try await operation.response
        }
    }

    /// K2: cancelling between a redirect and its answer.
    static func cancelDuringRedirect() async throws {
        let server = try LoopbackServer()
        server.on("/from", .redirect(to: "/to"))
        server.on("/to", .text("x"))
        let queue = NetworkQueue(session: NetworkSession.probed()) { $0.retryPolicy = .never }
        for round in 0..<2_000 {
            let operation = queue.send(URLRequest(url: server.url("/from")))
            let delay = DispatchTimeInterval.microseconds(round * 37 % 3_000)
            DispatchQueue.global().asyncAfter(deadline: .now() + delay) { operation.cancel() }
            if round % 6 == 5 { _ = try? await operation.response }
        }
        await finish(queue)
    }

    /// K3: answering a redirect after the idle timeout, as when the delegate queue is busy.
    static func lateRedirect() async throws {
        let server = try LoopbackServer()
        server.on("/from", LoopbackServer.Response.redirect(to: "/to").delayed(.milliseconds(300)))
        server.on("/to", .text("x"))
        let queue = NetworkQueue(session: NetworkSession.probed()) { $0.retryPolicy = .never }
        for timeout in stride(from: 0.29, to: 0.31, by: 0.0005) {
            var request = URLRequest(url: server.url("/from"))
            request.timeoutInterval = timeout
            queue.send(request)
        }
        await finish(queue)
    }

    /// K4, K16, H4, H5: requests before, during and after the end of a session.
    static func useAfterInvalidation() async throws {
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        for round in 0..<100 {
            let session = NetworkSession.probed()
            let queue = NetworkQueue(session: session) { $0.retryPolicy = .never }
            let operations = (0..<20).map { _ in queue.send(URLRequest(url: server.url())) }
            if round.isMultiple(of: 2) { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
            session.invalidateAndCancel()
            guard case .sessionInvalidated = await error(of: session, server.url()) else {
                throw Fault(description: "a session that is no more gave an answer")
            }
            for operation in operations { _ = try? await operation.response }
        }
    }

    /// K7: timeouts that do not fit an integer.
    static func hugeTimeouts() async throws {
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        let odd: [TimeInterval] = [.infinity, .nan, .greatestFiniteMagnitude, 1e18, 0, -1, -.infinity, 1.5]
        for timeout in odd {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForRequest = timeout
            configuration.timeoutIntervalForResource = timeout
            let session = NetworkSession.probed(configuration)
            var request = URLRequest(url: server.url())
            _ = try await session.data(for: request)
            request.timeoutInterval = timeout
            _ = try await session.data(for: request)
            let operation = NetworkOperation(request, session: session)
            operation.timeout = .seconds(Int64.max)
            operation.start()
            _ = try await operation.response
        }
    }

    /// K17: values in the session's headers that are no strings.
    static func oddHeaders() async throws {
        let server = try LoopbackServer()
        server.on("/") { .text($0.header("X-Number") ?? "none") }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["X-Number": 5]
        let session = NetworkSession.probed(configuration)
        let data = try await session.data(for: URLRequest(url: server.url()))
        try Fault.unless(data == Data("5".utf8), "the header did not arrive")
    }

    /// H1: a challenge that nobody answers; K12: no credential is ever made up.
    static func basicChallenge() async throws {
        let server = try LoopbackServer()
        server.on(
            "/", .status(401, headers: ["WWW-Authenticate": "Basic realm=\"here\""], body: Data("who are you".utf8)))
        let session = NetworkSession.probed()
        for _ in 0..<50 {
            guard case .endpointError(let response, let data) = await error(of: session, server.url()),
                response.statusCode == 401, data == Data("who are you".utf8)
            else { throw Fault(description: "not the server's 401") }
        }
        try Fault.unless(server.requestCount == 50, "\(server.requestCount) requests for 50")
    }

    /// H10: handlers that block do not stop the session.
    static func blockedHandlers() async throws {
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        let session = NetworkSession.probed()
        let block = DispatchSemaphore(value: 0)
        let blocked = NetworkQueue(session: session)
        for _ in 0..<100 {
            blocked.send(URLRequest(url: server.url())) { _ in block.wait() }
        }
        let free = NetworkQueue(session: session)
        for _ in 0..<100 { _ = try await free.data(for: URLRequest(url: server.url())) }
        for _ in 0..<100 { block.signal() }
        await finish(blocked)
    }

    private static func error(of session: NetworkSession, _ url: URL) async -> NetworkError? {
        do throws(NetworkError) {
            _ = try await session.data(for: URLRequest(url: url))
            return nil
        } catch {
            return error
        }
    }

    static func finish(_ queue: NetworkQueue) async {
        await withCheckedContinuation { continuation in
            Thread {
                queue.waitUntilAllOperationsAreFinished()
                continuation.resume()
            }.start()
        }
    }
}
