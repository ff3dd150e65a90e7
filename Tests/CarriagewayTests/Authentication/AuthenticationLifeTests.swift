import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Renewals that hang, fail, or are overtaken, on a stub transport and a virtual clock.
@Suite("Token renewal that does not go well")
struct AuthenticationLifeTests {
    private struct Unreachable: RefreshFailure {
        var isFinal: Bool { false }
    }

    /// Answers 401 to token 1 and 200 to all others.
    private let stage = Stage { request, _ in
        request.value(forHTTPHeaderField: "Authorization") == NumberedToken(number: 1).header
            ? .status(401, body: Data("dead".utf8)) : .status(200)
    }

    private func make(_ renew: @escaping TestAuthenticator.Renew) -> (
        Authentication<TestAuthenticator>, TestAuthenticator.Log, NetworkQueue
    ) {
        let authenticator = TestAuthenticator(renew: renew)
        let authentication = Authentication(
            authenticator, credential: NumberedToken(number: 1), time: stage.time)
        return (authentication, authenticator.log, NetworkQueue(session: stage.session, authentication: authentication))
    }

    @Test("a renewal that finds nobody is tried three times; then the waiters fail, and the next need renews again")
    func unreachable() async throws {
        let isDown = Locked(true)
        let (authentication, log, queue) = make { token, _ in
            if isDown.withLock({ $0 }) { throw Unreachable() }
            return NumberedToken(number: token.number + 1)
        }
        let operations = (0..<5).map { _ in queue.send(request()) }
        // The renewal's deadline, then the wait before each further try.
        for tries in 1...3 {
            await log.begun.wait(for: tries)
            if tries < 3 {
                await stage.time.waitForTimers(1 + tries)
                // No further: the last try ends when it does, and a second after that it would be forgotten.
                stage.time.advance(by: stage.time.nextDelay ?? .zero)
            }
        }
        for operation in operations {
            await operation.finished()
            #expect(operation.result?.error?.name == "authenticationFailed")
        }
        #expect(log.renewals == 3)
        #expect(authentication.credential == NumberedToken(number: 1))
        // Within a second nobody asks again.
        #expect(
            await failure { () async throws(NetworkError) in try await queue.response(for: request()) }?.name
                == "authenticationFailed")
        #expect(log.renewals == 3)
        isDown.withLock { $0 = false }
        stage.time.advance(by: .seconds(1))
        #expect(try await queue.response(for: request()).statusCode == 200)
        #expect(log.renewals == 4)
    }

    @Test("a renewal that hangs ends after 30 s; before that the requests' own timeouts end them")
    func hangs() async throws {
        let (authentication, log, queue) = make { token, _ in
            try await Task.sleep(for: .seconds(3_600))
            return token
        }
        let hasty = NetworkOperation(request("/hasty"))
        hasty.timeout = .seconds(5)
        let patient = NetworkOperation(request("/patient"))
        queue.addOperations([hasty, patient], waitUntilFinished: false)
        await log.begun.wait(for: 1)
        await stage.time.waitForTimers(2)
        stage.time.advance(by: .seconds(5))
        await hasty.finished()
        #expect(hasty.result?.error?.name == "deadlineExceeded")
        #expect(patient.result == nil)
        stage.time.advance(by: .seconds(25))
        await patient.finished()
        #expect(patient.result?.error?.name == "authenticationFailed")
        #expect(authentication.credential == NumberedToken(number: 1))
    }

    @Test("cancelling all who wait does not stop the renewal, and its result is taken whole")
    func cancelWaiters() async throws {
        let proceed = Counter()
        let (authentication, log, queue) = make { token, _ in
            await proceed.wait(for: 1)
            return NumberedToken(number: token.number + 1)
        }
        let operations = (0..<10).map { _ in queue.send(request()) }
        await log.begun.wait(for: 1)
        queue.cancelAllOperations()
        for operation in operations { #expect(operation.result?.isCancelled == true) }
        let stored = Counter()
        authentication.onCredentialChange = { _ in stored.increment() }
        proceed.increment()
        await stored.wait(for: 1)
        #expect(try await queue.response(for: request()).statusCode == 200)
        #expect(authentication.credential == NumberedToken(number: 2))
        #expect(log.renewals == 1)
    }

    @Test("logging out during a renewal drops the late token, and ends who waited for it")
    func logOut() async throws {
        let proceed = Counter()
        let (authentication, log, queue) = make { token, _ in
            await proceed.wait(for: 1)
            return NumberedToken(number: token.number + 1)
        }
        let changes = Counter()
        authentication.onCredentialChange = { _ in changes.increment() }
        let waiting = queue.send(request())
        await log.begun.wait(for: 1)
        authentication.credential = nil
        await waiting.finished()
        guard case .authenticationFailed(let cause)? = waiting.result?.error else {
            Issue.record("\(String(describing: waiting.result))")
            return
        }
        #expect(cause as? AuthenticationError == .missingCredential)
        proceed.increment()
        // The late token has nowhere to go: what is asked afterwards finds none.
        #expect(
            await failure { () async throws(NetworkError) in try await queue.response(for: request()) }?.name
                == "authenticationFailed")
        #expect(authentication.credential == nil)
        #expect(changes.value == 0)
    }

    @Test("five renewals in 30 s that lead to nothing, however many requests; later there may be more")
    func limit() async throws {
        let stage = Stage { _, _ in .status(401) }
        let authenticator = TestAuthenticator()
        let authentication = Authentication(authenticator, credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication)
        for _ in 0..<20 {
            let error = await failure { () async throws(NetworkError) in try await queue.response(for: request()) }
            #expect(error?.response?.statusCode == 401)
        }
        #expect(authenticator.log.renewals == 5)
        stage.time.advance(by: .seconds(30))
        _ = await failure { () async throws(NetworkError) in try await queue.response(for: request()) }
        #expect(authenticator.log.renewals > 5 && authenticator.log.renewals <= 10)
    }

    @Test("an authenticator that always wants to renew does so once, and what it has just got is sent")
    func alwaysExpiring() async throws {
        let authenticator = TestAuthenticator(expires: { _ in true })
        let authentication = Authentication(authenticator, credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication)
        for _ in 0..<20 { #expect(try await queue.response(for: request()).statusCode == 200) }
        #expect(authenticator.log.renewals == 1)
        #expect(stage.transport.sent.count == 20)
        // Every second anew, but no more than five times in 30 s; then it is sent as it is.
        for _ in 0..<10 {
            stage.time.advance(by: .seconds(1))
            #expect(try await queue.response(for: request()).statusCode == 200)
        }
        #expect(authenticator.log.renewals == 5)
    }

    @Test(
        "the user's suspension and the hold of a renewal never undo each other, in either order",
        arguments: [true, false], [true, false])
    func suspension(suspendedFirst: Bool, resumedFirst: Bool) async throws {
        let proceed = Counter()
        let (authentication, log, queue) = make { token, _ in
            await proceed.wait(for: 1)
            return NumberedToken(number: token.number + 1)
        }
        let first = queue.send(request("/first"))
        if suspendedFirst {
            // The 401 has come and the renewal begun only after the suspension is in place: on the lane's own terms.
            await log.begun.wait(for: 1)
            queue.isSuspended = true
        } else {
            await log.begun.wait(for: 1)
            queue.isSuspended = true
            queue.isSuspended = false
            queue.isSuspended = true
        }
        let second = queue.send(request("/second"))
        let sent = stage.transport.sent.count
        let changed = Counter()
        authentication.onCredentialChange = { _ in changed.increment() }
        if resumedFirst {
            queue.isSuspended = false
            #expect(stage.transport.sent.count == sent)
            #expect(first.result == nil && second.result == nil)
            proceed.increment()
        } else {
            proceed.increment()
            await changed.wait(for: 1)
            // Renewed, and yet nothing leaves: an opted-out request neither.
            let open = NetworkOperation(request("/open"))
            open.isAuthenticated = false
            queue.addOperation(open)
            #expect(stage.transport.sent.count == sent)
            queue.isSuspended = false
            #expect(try await open.response.statusCode == 200)
        }
        #expect(try await first.response.statusCode == 200)
        #expect(try await second.response.statusCode == 200)
        #expect(log.renewals == 1)
    }

    @Test("those who wait for a renewal that is refused fail at once, also where no slot is free; later ones too")
    func refusedWithoutSlots() async throws {
        let proceed = Counter()
        let stage = Stage { request, _ in request.url?.path == "/busy" ? .none : .status(401) }
        let authenticator = TestAuthenticator(renew: { _, _ in
            await proceed.wait(for: 1)
            throw AuthenticationError.refused("no")
        })
        let authentication = Authentication(
            authenticator, credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication) {
            $0.maxConcurrentRequests = 1
        }
        let waiting = (0..<20).map { _ in queue.send(request()) }
        await authenticator.log.begun.wait(for: 1)
        let busy = NetworkOperation(request("/busy"))
        busy.isAuthenticated = false
        queue.addOperation(busy)
        await stage.transport.waitForSent(2)
        proceed.increment()
        for operation in waiting {
            await operation.finished()
            #expect(operation.result?.error?.name == "authenticationFailed")
        }
        let late = queue.send(request())
        await late.finished()
        #expect(late.result?.error?.name == "authenticationFailed")
        #expect(stage.transport.sent.count == 2)
        stage.transport.complete(2, with: .status(200))
        #expect(try await busy.response.statusCode == 200)
    }

    @Test("one authentication on two queues of two sessions: one renewal for both")
    func twoQueues() async throws {
        let other = Stage { request, _ in
            request.value(forHTTPHeaderField: "Authorization") == NumberedToken(number: 1).header
                ? .status(401) : .status(200)
        }
        let (authentication, log, queue) = make { token, _ in NumberedToken(number: token.number + 1) }
        let second = NetworkQueue(session: other.session, authentication: authentication)
        let operations = (0..<20).map { ($0 % 2 == 0 ? queue : second).send(request()) }
        for operation in operations { #expect(try await operation.response.statusCode == 200) }
        #expect(log.renewals == 1)
    }

    @Test("the session's end during a renewal ends those who wait")
    func invalidated() async throws {
        let (_, log, queue) = make { token, _ in
            try await Task.sleep(for: .seconds(3_600))
            return token
        }
        let waiting = (0..<10).map { _ in queue.send(request()) }
        await log.begun.wait(for: 1)
        stage.session.invalidateAndCancel()
        for operation in waiting {
            await operation.finished()
            #expect(operation.result?.error?.name == "sessionInvalidated")
        }
        queue.cancelAllOperations()
    }

    @Test("queue, session and authentication are let go of when nothing is in flight")
    func release() async throws {
        weak var queue: NetworkQueue?
        weak var authentication: Authentication<TestAuthenticator>?
        do {
            let (made, _, madeQueue) = make { token, _ in NumberedToken(number: token.number + 1) }
            (queue, authentication) = (madeQueue, made)
            let operation = madeQueue.send(request())
            _ = try await operation.response
            await operation.finished()
        }
        // What the last steps hold is let go of on queues of their own.
        await becomesTrue { queue == nil && authentication == nil }
    }
}
