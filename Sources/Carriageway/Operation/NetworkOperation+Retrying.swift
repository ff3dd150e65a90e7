import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What the decision over a retry needs to know of the attempt that failed.
struct FailedAttempt {
    /// The request as it was sent; nil if `prepare` failed before.
    var request: URLRequest?
    var hasBegunResponse = false
    /// See ``Exchange/Outcome/methodTaken``.
    var methodTaken: String?
    /// What a custom policy said, for `shouldRetry(after:)`.
    var policyDecision: RetryDecision?
}

extension NetworkOperation {
    /// Asks the caller and the policy what becomes of a failed attempt. Off every queue of the session where code of the
    /// caller takes part; else on the spot, since a hop costs more than the question.
    func judge(_ error: NetworkError, _ round: Int) {
        let asksCaller = isOfCallersMaking || retryPolicy.decide != nil
        guard asksCaller else { return settle(error, round) }
        DispatchQueue.global().async { self.settle(error, round) }
    }

    private func settle(_ error: NetworkError, _ round: Int) {
        let question = question(after: error)
        let verdict = takingFromBudget(question)
        let judged: @Sendable () -> Void = {
            self.apply { shared in
                shared.state.judged(
                    verdict, of: error, round: round, isIdleConnectionRetry: question.isIdleConnectionLoss,
                    mayRetryEarly: question.mayGoEarly, now: question.now)
            }
        }
        if case .giveUp(let reason) = verdict,
            recovers(from: error, sent: question.request, notRetried: reason, round, otherwise: judged)
        {
            return
        }
        judged()
    }

    private func question(after error: NetworkError) -> RetryQuestion {
        var policy = retryPolicy
        let (state, failure) = shared.withLock { ($0.state, $0.failure) }
        // `prepare` failed: nothing was sent, so any method may be.
        if failure.request == nil { policy.retriesNonIdempotent = true }
        let request = failure.request ?? state.request ?? URLRequest(url: Self.nowhere)
        let context = RetryContext(error: error, request: request, attempts: state.attempts)
        let asked = policy.decide?(context) ?? .automatic
        let decision = asked == .automatic ? usualDecision(after: error) : asked
        shared.withLock { $0.failure.policyDecision = decision }
        let session = boundSession
        return RetryQuestion(
            policy: policy, error: error, request: request,
            hasOwnStream: state.request?.httpBodyStream != nil, attempts: state.attempts, resends: state.resends,
            decision: decision,
            isWanted: shouldRetry(after: error), hasBegunResponse: failure.hasBegunResponse,
            isPartlyDelivered: shared.withLock { $0.destination }?.forbidsRetry ?? false,
            methodTaken: failure.methodTaken, hasRetriedIdleConnection: state.hasRetriedIdleConnection, budget: budget,
            spent: session.spending.withLock { $0.spent[state.host, default: 0] },
            now: session.time.moment, date: session.time.date, deadline: state.deadline, random: session.random())
    }

    private func takingFromBudget(_ question: RetryQuestion) -> RetryVerdict {
        let verdict = question.verdict()
        guard case .retry(let delay, let cost) = verdict else { return verdict }
        if isCircuitOpen(at: question.now.advanced(by: delay)) { return .giveUp(.circuitOpen) }
        guard let budget = question.budget else { return verdict }
        let host = shared.withLock { $0.state.host }
        let isCovered = boundSession.spending.withLock { $0.take(cost, of: budget, for: host) }
        return isCovered ? verdict : .giveUp(.budget)
    }

    /// A retry that was paid for is not made.
    func refund(_ tokens: Int) {
        let host = shared.withLock { $0.state.host }
        boundSession.spending.withLock { $0.give(tokens, to: host) }
    }

    /// After 429 and 503 with `Retry-After` the others in line for the host wait too.
    func holdHost(of request: URLRequest, after error: NetworkError, now: Moment) {
        guard let response = error.response, response.statusCode == 429 || response.statusCode == 503 else { return }
        let session = boundSession
        guard let delay = RetryAfter.delay(in: response, now: session.time.date), delay > .zero,
            delay <= retryPolicy.maxRetryAfter
        else { return }
        let lane = shared.withLock { $0.queue }?.session.lane ?? session.lane
        lane.hold(
            host: request.hostKey, until: now.advanced(by: delay), isTooMuch: response.statusCode == 429)
    }

    var budget: RetryBudget? {
        shared.withLock { $0.configuration?.value }.map(\.retryBudget) ?? .default
    }

    private static let nowhere = URL(fileURLWithPath: "/")
}
