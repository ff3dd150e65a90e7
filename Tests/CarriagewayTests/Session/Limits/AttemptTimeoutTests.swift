import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// How long one attempt may take in all.
struct AttemptTimeoutTests {
    @Test("an attempt that is never idle ends at its whole time, and the next is made", .overEveryWire)
    func drip() async throws {
        let server = try LoopbackServer()
        let slow = LoopbackServer.Response.text(String(repeating: "x", count: 600))
        server.on("/", slow.dripped(size: 1, interval: .milliseconds(50)), .text("fast"))
        let queue = NetworkQueue(session: Wire.session()) {
            $0.attemptTimeout = .milliseconds(400)
            // A slow machine may take its time for the second too, and for any number.
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1_000)
            $0.retryBudget = nil
        }
        let response = try await queue.response(for: URLRequest(url: server.url()))
        #expect(response.data == Data("fast".utf8))
        guard case .failed(let error) = response.attempts.first?.outcome else {
            Issue.record("\(response.attempts)")
            return
        }
        #expect(error.urlErrorCode == .timedOut && error.shouldRetry)
    }

    @Test("redirects are part of it, and the time starts with the slot")
    func virtual() async throws {
        let stage = Stage { request, _ in
            request.url?.path == "/start" ? .status(302, headers: ["Location": "/next"]) : .none
        }
        let operation = NetworkOperation(request("/start"), session: stage.session)
        operation.attemptTimeout = .seconds(5)
        operation.retryPolicy = .never
        operation.start()
        await stage.transport.waitForSent(2)
        stage.time.advance(by: .milliseconds(4_999))
        #expect(operation.result == nil)
        stage.time.advance(by: .milliseconds(1))
        await operation.finished()
        #expect(operation.result?.error?.urlErrorCode == .timedOut)
    }

    @Test("each attempt has its own, none is left behind, and negative is at once")
    func everyAttempt() async throws {
        let stage = Stage { _, number in number == 3 ? .status(200) : .none }
        let operation = NetworkOperation(request(), session: stage.session)
        operation.attemptTimeout = .seconds(1)
        operation.retryPolicy = .fixed(interval: .zero, maxRetries: 5)
        operation.start()
        for number in 1...2 {
            await stage.transport.waitForSent(number)
            await stage.time.waitForTimers(number)
            stage.time.advance(by: .seconds(1))
        }
        #expect(try await operation.response.attempts.count == 3)
        #expect(stage.time.nextDelay == nil)
        let never = NetworkOperation(request(), session: Stage().session)
        never.attemptTimeout = .seconds(-1)
        #expect(never.attemptTimeout == .seconds(-1))
    }

    @Test("the session's timeoutIntervalForResource holds on Linux too", .overEveryWire)
    func resourceTimeout() async throws {
        let server = try LoopbackServer()
        let text = LoopbackServer.Response.text(String(repeating: "x", count: 600))
        server.on("/", text.dripped(size: 1, interval: .milliseconds(50)))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForResource = 0.5
        let session = Wire.session(configuration)
        let error = await failure { () async throws(NetworkError) in
            try await session.data(for: URLRequest(url: server.url()))
        }
        #expect(error?.urlErrorCode == .timedOut)
    }
}
