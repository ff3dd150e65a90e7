import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What becomes of a failed attempt.
enum RetryVerdict: Equatable {
    /// Back in line after the delay; the retry costs so much of the host's budget.
    case retry(after: Duration, cost: Int)
    case giveUp(NotRetriedReason)
}

/// All that the decision over a retry depends on, so that it is a pure function.
struct RetryQuestion {
    var policy: RetryPolicy
    var error: NetworkError
    var request: URLRequest
    /// Whether the body is a stream that the caller's request came with, which can be read once: a redirect may have left
    /// it behind, or `prepare` replaced it.
    var hasOwnStream = false
    /// All attempts so far, the failed one last.
    var attempts: [NetworkAttempt]
    /// How many of them were sent again for a new credential.
    var resends = 0
    /// What a custom policy said.
    var decision: RetryDecision
    /// What `shouldRetry(after:)` of the operation said.
    var isWanted: Bool
    /// Whether a byte of a response had come.
    var hasBegunResponse: Bool
    /// Whether a reader has got a part of the body.
    var isPartlyDelivered = false
    /// The method that was sent first, where a server has done what that asked and led on to a GET.
    var methodTaken: String?
    /// Whether this operation was once tried again at once because its connection had died idle.
    var hasRetriedIdleConnection: Bool
    /// Nil where no budget is kept.
    var budget: RetryBudget?
    /// The tokens that the host owes.
    var spent: Int
    var now: Moment
    var date: Date
    var deadline: Moment?
    /// A number between 0 and 1.
    var random: Double

    func verdict() -> RetryVerdict {
        if error.isCancelled { return .giveUp(.cancelled) }
        guard isWanted else {
            return .giveUp(decision == .automatic && !error.shouldRetry ? .notTransient : .declined)
        }
        if hasBeenMisdirectedTwice { return .giveUp(.notTransient) }
        guard MethodRule.allows(request, after: error, policy: policy, methodTaken: methodTaken) else {
            let isIdempotent = MethodRule.isIdempotent(method)
            return .giveUp(isIdempotent ? .notTransient : .nonIdempotent)
        }
        guard !isPartlyDelivered else { return .giveUp(.partlyDelivered) }
        guard request.httpBodyStream == nil, !hasOwnStream else { return .giveUp(.bodyNotReplayable) }
        guard sends <= policy.maxRetries else { return .giveUp(.noAttemptsLeft) }
        if let budget, cost > budget.capacity - spent { return .giveUp(.budget) }
        return timed()
    }

    /// The attempts that count as tries.
    private var sends: Int { attempts.count - resends }

    private var cost: Int {
        guard let budget else { return 0 }
        return isBusy ? budget.busyCost : budget.cost
    }

    private func timed() -> RetryVerdict {
        let asked = error.response.flatMap { RetryAfter.delay(in: $0, now: date) }
        if let asked, asked > policy.maxRetryAfter.saturated { return .giveUp(.retryAfterTooLong(asked)) }
        let delay = delay(asked: asked)
        if let deadline, now.advanced(by: delay) >= deadline { return .giveUp(.deadline) }
        return .retry(after: delay, cost: cost)
    }

    private func delay(asked: Duration?) -> Duration {
        if isIdleConnectionLoss, decision == .automatic { return .zero }
        var delay = policy.backoff.delay(beforeRetry: sends, isBusy: isBusy, random: random)
        if case .retryAfter(let wanted) = decision { delay = wanted.saturated }
        guard let asked, asked > .zero else { return delay }
        // Not all who were told the same time shall come at the same moment.
        let spread = min(asked.inSeconds / 10, 1) * random
        return max(delay, asked + .saturating(seconds: spread))
    }

    /// A kept-alive connection that the server closed while it was idle: nothing is wrong, so once there is no wait.
    var isIdleConnectionLoss: Bool {
        error.isLostConnection && !hasBegunResponse && !hasRetriedIdleConnection
            && MethodRule.isSafe(method)
    }

    /// Whether the retry may be made before its wait is over: the wait is ours, not one that the server, being busy, or the
    /// caller asked for.
    var mayGoEarly: Bool {
        if isBusy { return false }
        if case .retryAfter = decision { return false }
        return error.response.flatMap { RetryAfter.delay(in: $0, now: date) } ?? .zero == .zero
    }

    private var method: String { methodTaken ?? request.httpMethod ?? "GET" }

    private var isBusy: Bool {
        guard let status = error.response?.statusCode else { return false }
        return status == 429 || status == 503
    }

    /// 421 says that the connection was the wrong one; a second time it is not (RFC 9110, section 15.5.20).
    private var hasBeenMisdirectedTwice: Bool {
        let misdirected = attempts.count { attempt in
            guard case .failed(.endpointError(let response, _)) = attempt.outcome else { return false }
            return response.statusCode == 421
        }
        return misdirected > 1 && error.response?.statusCode == 421
    }
}
