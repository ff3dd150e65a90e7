import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("The decision over a retry")
struct RetryVerdictTests {
    /// A question to which every rule says no; each test lifts them one after the other.
    private func hopeless() -> RetryQuestion {
        var question = Made.question(
            Made.status(503, ["Retry-After": "3600"]), "POST", policy: .fixed(interval: .seconds(5), maxRetries: 0))
        question.isWanted = false
        question.decision = .doNotRetry
        question.request.httpBodyStream = InputStream(data: Data("x".utf8))
        question.budget = .default
        question.spent = 500
        question.deadline = Made.moment
        return question
    }

    @Test("the reasons come in order: cancelled, own decision, method, body, attempts, budget, delay, deadline")
    func order() {
        var question = hopeless()
        question.error = .cancelled
        #expect(question.verdict() == .giveUp(.cancelled))
        question.error = Made.status(503, ["Retry-After": "3600"])
        #expect(question.verdict() == .giveUp(.declined))
        question.isWanted = true
        #expect(question.verdict() == .giveUp(.nonIdempotent))
        question.request.httpMethod = "PUT"
        #expect(question.verdict() == .giveUp(.bodyNotReplayable))
        question.request.httpBodyStream = nil
        #expect(question.verdict() == .giveUp(.noAttemptsLeft))
        question.policy.maxRetries = 1
        #expect(question.verdict() == .giveUp(.budget))
        question.spent = 495
        #expect(question.verdict() == .giveUp(.retryAfterTooLong(.seconds(3_600))))
        question.policy.maxRetryAfter = .seconds(3_600)
        #expect(question.verdict() == .giveUp(.deadline))
        question.deadline = nil
        #expect(question.verdict() == .retry(after: .seconds(3_600), cost: 5))
    }

    @Test("a failure that is not transient is not retried, and the reason says so unless the caller decided")
    func notTransientOrDeclined() {
        #expect(Made.question(Made.status(404)).verdict() == .giveUp(.notTransient))
        var declined = Made.question(Made.status(503))
        declined.isWanted = false
        #expect(declined.verdict() == .giveUp(.declined))
        var byPolicy = Made.question(Made.status(404))
        byPolicy.decision = .doNotRetry
        #expect(byPolicy.verdict() == .giveUp(.declined))
    }

    @Test("the caller may want what is not transient, and the limits hold all the same")
    func wanted() {
        var question = Made.question(Made.status(404))
        question.isWanted = true
        #expect(question.verdict() == .retry(after: .zero, cost: 0))
        question.request.httpMethod = "POST"
        #expect(question.verdict() == .giveUp(.nonIdempotent))
        question.request.httpMethod = "GET"
        question.policy.maxRetries = 0
        #expect(question.verdict() == .giveUp(.noAttemptsLeft))
    }

    @Test("a cancelled attempt is not retried, whatever the caller wants")
    func cancelled() {
        var question = Made.question(.cancelled)
        question.isWanted = true
        question.decision = .retry
        #expect(question.verdict() == .giveUp(.cancelled))
    }

    @Test("a custom policy's own wait replaces the backoff; negative is at once, and the server may ask for more")
    func ownWait() {
        var question = Made.question(Made.status(503), policy: .fixed(interval: .seconds(9), maxRetries: 3))
        question.decision = .retryAfter(.seconds(2))
        #expect(question.verdict() == .retry(after: .seconds(2), cost: 0))
        question.decision = .retryAfter(.seconds(-2))
        #expect(question.verdict() == .retry(after: .zero, cost: 0))
        question.decision = .retryAfter(.seconds(Int64.max))
        #expect(question.verdict() == .retry(after: .longest, cost: 0))
        question.decision = .retryAfter(.seconds(2))
        question.error = Made.status(503, ["Retry-After": "30"])
        #expect(question.verdict() == .retry(after: .seconds(30), cost: 0))
    }

    @Test("the wait before retry k grows, with the busy base after 429 and 503 only")
    func backoff() {
        for (status, waits) in [(502, [0.5, 1, 2]), (503, [1, 2, 4]), (429, [1, 2, 4])] as [(Int, [Double])] {
            for (index, wait) in waits.enumerated() {
                var question = Made.question(Made.status(status), policy: .default, attempts: index + 1)
                question.random = 1
                #expect(question.verdict() == .retry(after: .seconds(wait), cost: 0))
                question.random = 0
                #expect(question.verdict() == .retry(after: .zero, cost: 0))
            }
        }
    }

    // MARK: Retry-After

    @Test("C28 Retry-After is the least wait, plus a little jitter", arguments: [408, 413, 425, 429, 503])
    func retryAfter(status: Int) {
        var question = Made.question(Made.status(status, ["Retry-After": "20"]))
        #expect(question.verdict() == .retry(after: .seconds(20), cost: 0))
        question.random = 1
        #expect(question.verdict() == .retry(after: .seconds(21), cost: 0))
        question.error = Made.status(status, ["Retry-After": "5"])
        #expect(question.verdict() == .retry(after: .milliseconds(5_500), cost: 0))
        question.policy.backoff = .fixed(.seconds(30))
        #expect(question.verdict() == .retry(after: .seconds(30), cost: 0))
    }

    @Test("a Retry-After that is past, or nonsense, or without meaning leaves the backoff")
    func retryAfterWithoutEffect() {
        for (status, text) in [(503, "0"), (503, "Sun, 06 Nov 1994 08:00:00 GMT"), (503, "soon"), (502, "3600")] {
            let policy = RetryPolicy.fixed(interval: .seconds(1), maxRetries: 1)
            let question = Made.question(Made.status(status, ["Retry-After": text]), policy: policy)
            #expect(question.verdict() == .retry(after: .seconds(1), cost: 0))
        }
    }

    @Test("C27 over maxRetryAfter the request fails at once, and the reason has the wait")
    func retryAfterTooLong() {
        let reason = NotRetriedReason.retryAfterTooLong(.seconds(61))
        #expect(Made.question(Made.status(503, ["Retry-After": "61"])).verdict() == .giveUp(reason))
        #expect(reason.description == "Retry-After of 61 s is too long")
        let atLimit = Made.question(Made.status(503, ["Retry-After": "60"])).verdict()
        #expect(atLimit == .retry(after: .seconds(60), cost: 0))
        let endless = Made.question(Made.status(503, ["Retry-After": "99999999999999999999"])).verdict()
        #expect(endless == .giveUp(.retryAfterTooLong(.longest)))
    }

    @Test("a negative maxRetryAfter counts as 0")
    func negativeMaximum() {
        var question = Made.question(Made.status(503, ["Retry-After": "0"]))
        question.policy.maxRetryAfter = .seconds(-1)
        #expect(question.verdict() == .retry(after: .zero, cost: 0))
        question.error = Made.status(503, ["Retry-After": "1"])
        #expect(question.verdict() == .giveUp(.retryAfterTooLong(.seconds(1))))
    }

    @Test("Retry-After of a redirect that validation refuses counts if the caller wants a retry")
    func retryAfterOfRedirect() {
        let response = Made.response(302, ["Retry-After": "7"])
        var question = Made.question(.unacceptableResponse(response, Data(), reason: "status 302"))
        #expect(question.verdict() == .giveUp(.notTransient))
        question.isWanted = true
        #expect(question.verdict() == .retry(after: .seconds(7), cost: 0))
    }

    // MARK: Idle connections

    @Test(
        "a connection that died idle is tried again at once", arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"])
    func idleConnection(method: String) {
        var question = Made.question(
            Made.urlError(.networkConnectionLost), method, policy: .fixed(interval: .seconds(9), maxRetries: 3))
        question.hasBegunResponse = false
        #expect(question.isIdleConnectionLoss)
        #expect(question.verdict() == .retry(after: .zero, cost: 0))
    }

    @Test("not so a second time, after a byte of a response, for an unsafe method, or after another error")
    func noIdleConnection() {
        var idle = Made.question(
            Made.urlError(.networkConnectionLost), policy: .fixed(interval: .seconds(9), maxRetries: 3))
        idle.hasBegunResponse = false
        let changes: [(inout RetryQuestion) -> Void] = [
            { $0.hasRetriedIdleConnection = true }, { $0.hasBegunResponse = true }, { $0.request.httpMethod = "PUT" },
            { $0.request.httpMethod = "DELETE" }, { $0.error = Made.urlError(.timedOut) },
        ]
        for change in changes {
            var question = idle
            change(&question)
            #expect(!question.isIdleConnectionLoss)
            #expect(question.verdict() == .retry(after: .seconds(9), cost: 0))
        }
    }

    @Test("the limits hold for an idle connection too")
    func idleConnectionLimits() {
        var question = Made.question(Made.urlError(.networkConnectionLost), policy: .never)
        question.hasBegunResponse = false
        #expect(question.verdict() == .giveUp(.noAttemptsLeft))
    }

    // MARK: Deadline

    @Test("a retry is made only if its wait ends before the deadline")
    func deadline() {
        var question = Made.question(Made.status(502), policy: .fixed(interval: .seconds(2), maxRetries: 3))
        question.deadline = Made.moment.advanced(by: .seconds(2))
        #expect(question.verdict() == .giveUp(.deadline))
        question.deadline = Made.moment.advanced(by: .seconds(2) + .nanoseconds(1))
        #expect(question.verdict() == .retry(after: .seconds(2), cost: 0))
        question.policy.backoff = .fixed(.zero)
        question.deadline = Made.moment
        #expect(question.verdict() == .giveUp(.deadline))
        question.deadline = Made.moment.advanced(by: .seconds(-1))
        #expect(question.verdict() == .giveUp(.deadline))
    }

    @Test("C27 a Retry-After that outlasts the deadline ends the request at once")
    func deadlineBeforeRetryAfter() {
        var question = Made.question(Made.status(503, ["Retry-After": "30"]))
        question.deadline = Made.moment.advanced(by: .seconds(10))
        #expect(question.verdict() == .giveUp(.deadline))
    }

    // MARK: Budget

    @Test("a retry costs 14, after 429 and 503 5")
    func costs() {
        for (status, cost) in [(502, 14), (500, 14), (408, 14), (429, 5), (503, 5)] {
            var question = Made.question(Made.status(status))
            question.budget = .default
            #expect(question.verdict() == .retry(after: .zero, cost: cost))
            question.spent = 500 - cost
            #expect(question.verdict() == .retry(after: .zero, cost: cost))
            question.spent += 1
            #expect(question.verdict() == .giveUp(.budget))
            question.spent = .max
            #expect(question.verdict() == .giveUp(.budget))
            question.budget = nil
            #expect(question.verdict() == .retry(after: .zero, cost: 0))
        }
    }
}
