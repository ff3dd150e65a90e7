import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The right sides of "Coming from RepetitiveTask and URLRequestOperation".
struct ComingFromRepetitiveTaskTests {
    private struct Busy: Error {}

    @Test("parity: retry for any asynchronous work: task.run(retryCount:failure:success:)")
    func run() async {
        let successes = Counter()
        let task = RetryingOperation<Int>(callback: { attempt, done in
            done(attempt < 3 ? .failure(Busy()) : .success(attempt))
        })
        task.retryPolicy = .fixed(interval: .zero, maxRetries: 0)
        task.run(retryCount: 3) { error in
            Issue.record("\(error)")
        } success: { value in
            #expect(value == 3)
            successes.increment()
        }
        await successes.wait(for: 1)
    }

    @Test("parity: an error that says to try again after n seconds, final failure, no data")
    func outcomes() async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let task = RetryingOperation<Int> { attempt in
            if attempt == 1 {
                throw WorkFailure.tryAgain(after: .seconds(2))
            }
            let error = Busy()
            throw WorkFailure.final(error)
        }
        queue.addOperation(task)
        await stage.time.waitForTimers(1)
        #expect(stage.time.nextDelay == .seconds(2))
        stage.time.advance(by: .seconds(2))
        await task.finished()
        #expect(task.attempts.count == 2)
        let nothing = RetryingOperation<Int>(callback: { _, done in
            done(.success(nil))
        })
        queue.addOperation(nothing)
        await nothing.finished()
        #expect(nothing.attempts.count == 1 && nothing.result?.error?.name == "generalError")
    }

    @Test("parity: a retry goes early when another request to the same host succeeds")
    func earlyRetry() async throws {
        let stage = Stage { request, number in
            number == 1 ? .failure(.networkConnectionLost) : .status(200)
        }
        let queue = NetworkQueue(session: stage.session) {
            $0.retriesEarly = true
            $0.retryPolicy = .fixed(interval: .seconds(60), maxRetries: 3)
        }
        let first = queue.send(request(method: "PUT"))
        await stage.time.waitForTimers(1)
        _ = try await queue.response(for: request())
        _ = try await first.response
        #expect(stage.transport.sent.count == 3 && stage.time.elapsed == .zero)
    }
}
