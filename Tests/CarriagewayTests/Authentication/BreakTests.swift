import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a hostile reading of the token renewal has found.
@Suite("Token renewal under attack", .timeLimit(.minutes(10)))
struct BreakTests {
    private static let token1 = NumberedToken(number: 1).header

    @Test("an operation that opts out between two attempts is sent without the credential of the first")
    func optsOutMidway() async throws {
        let stage = Stage()
        let authentication = Authentication(
            TestAuthenticator(), credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication)
        let operation = queue.send(request())
        await stage.transport.waitForSent(1)
        operation.isAuthenticated = false
        stage.transport.complete(stage.transport.sent[0].identifier, with: .status(503))
        await stage.time.waitForTimers(1)
        stage.time.advance(by: .seconds(60))
        await stage.transport.waitForSent(2)
        #expect(stage.transport.sent[1].request.value(forHTTPHeaderField: "Authorization") == nil)
        operation.cancel()
    }

    @Test("a POST that led on to a GET, which was answered 401, has been acted on: it is not sent again")
    func postBehindRedirect() async throws {
        let stage = Stage { request, _ in
            if request.url?.path == "/order" { return .status(303, headers: ["Location": "/status"]) }
            return request.value(forHTTPHeaderField: "Authorization") == Self.token1 ? .status(401) : .status(200)
        }
        let authentication = Authentication(
            TestAuthenticator(), credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication)
        let operation = queue.send(request("/order", method: "POST"))
        await operation.finished()
        let posts = stage.transport.sent.count { $0.request.httpMethod == "POST" }
        #expect(posts == 1)
    }

    @Test("a body stream that a redirect left behind has been read all the same")
    func streamBehindRedirect() async throws {
        let stage = Stage { request, _ in
            if request.url?.path == "/put" { return .status(303, headers: ["Location": "/status"]) }
            return request.value(forHTTPHeaderField: "Authorization") == Self.token1 ? .status(401) : .status(200)
        }
        let authentication = Authentication(
            TestAuthenticator(), credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication) { $0.retryPolicy = .never }
        var put = request("/put", method: "PUT")
        put.httpBodyStream = InputStream(data: Data("body".utf8))
        let operation = queue.send(put)
        await operation.finished()
        let puts = stage.transport.sent.count { $0.request.httpMethod == "PUT" }
        #expect(puts == 1)
        #expect(operation.result?.error?.name == "authenticationFailed")
    }

    /// A queue whose server answers 200 to a dead token too, and says in a header that it is dead.
    private static func queueThatIsTurnedDown() -> NetworkQueue {
        let stage = Stage { request, _ in
            let isDead = request.value(forHTTPHeaderField: "Authorization") == Self.token1
            return .status(
                200, headers: isDead ? ["X-Login": "please"] : [:], body: Data((isDead ? "log in" : "content").utf8))
        }
        let authenticator = TestAuthenticator(judge: { response, _ in
            response.value(forHTTPHeaderField: "X-Login") != nil
        })
        let authentication = Authentication(authenticator, credential: NumberedToken(number: 1), time: stage.time)
        return NetworkQueue(session: stage.session, authentication: authentication) { $0.retryPolicy = .never }
    }

    @Test("a download whose accepted response the authenticator turns down is fetched again, whole")
    func downloadTurnedDown() async throws {
        let queue = Self.queueThatIsTurnedDown()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let operation = NetworkOperation(download: request(), to: file)
        queue.addOperation(operation)
        await operation.finished()
        #expect(operation.result?.error == nil)
        #expect((try? Data(contentsOf: file)) == Data("content".utf8))
        try? FileManager.default.removeItem(at: file)
        operation.cancel()
    }

    @Test("a reader that has begun to read a response gets no second one behind it")
    func readerTurnedDown() async throws {
        let queue = Self.queueThatIsTurnedDown()
        var read = Data()
        do {
            for try await chunk in queue.bytes(for: request()) { read += chunk }
        } catch {}
        let text = String(decoding: read, as: UTF8.self)
        #expect(text == "content" || text == "log in")
    }

    @Test("a session that ends while prepare works, on a queue that is suspended by then: the request ends")
    func invalidatedWhilePreparing() async throws {
        let stage = Stage()
        let (begun, proceed) = (Counter(), Counter())
        let queue = NetworkQueue(session: stage.session) {
            $0.prepare = { _ in
                begun.increment()
                await proceed.wait(for: 1)
            }
        }
        let operation = queue.send(request())
        await begun.wait(for: 1)
        queue.isSuspended = true
        stage.session.invalidateAndCancel()
        proceed.increment()
        await becomesTrue { operation.result?.error?.name == "sessionInvalidated" }
        queue.isSuspended = false
    }

    @Test("an operation with a session of its own, on a queue whose session has ended, during a renewal: it ends")
    func foreignSession() async throws {
        let stage = Stage()
        let other = Stage { _, _ in .status(200) }
        let proceed = Counter()
        let authenticator = TestAuthenticator(
            expires: { $0.number == 1 },
            renew: { _, _ in
                await proceed.wait(for: 1)
                return NumberedToken(number: 2)
            })
        let authentication = Authentication(authenticator, credential: NumberedToken(number: 1), time: stage.time)
        let dead = NetworkQueue(session: stage.session, authentication: authentication)
        let alive = NetworkQueue(session: other.session, authentication: authentication)
        let waiting = alive.send(request())
        await authenticator.log.begun.wait(for: 1)
        stage.session.invalidateAndCancel()
        let operation = NetworkOperation(request(), session: other.session)
        dead.addOperation(operation)
        try await Task.sleep(for: .milliseconds(200))
        proceed.increment()
        #expect(try await waiting.response.statusCode == 200)
        await operation.finished()
        operation.cancel()
    }

    @Test("a request that was told to wait for a renewal has used up no turn of the rate limit")
    func rateLimit() async throws {
        let stage = Stage { _, _ in .status(200) }
        let authenticator = TestAuthenticator(expires: { $0.number == 1 })
        let authentication = Authentication(authenticator, credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication) {
            $0.rateLimit = RateLimit(requestsPerSecond: 0.1)
        }
        let operation = queue.send(request())
        await operation.finished()
        operation.cancel()
    }

    @Test("a redirect that is let to lead from https to http does not take the credential there")
    func downgrade() async throws {
        let stage = Stage { request, _ in
            request.url?.scheme == "https"
                ? .status(307, headers: ["Location": "http://stub.test/plain"]) : .status(200)
        }
        let authentication = Authentication(
            TestAuthenticator(), credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication) {
            $0.redirects.allowsInsecure = true
        }
        let url = try #require(URL(string: "https://stub.test/"))
        let operation = queue.send(URLRequest(url: url))
        await operation.finished()
        #expect(stage.transport.sent.count == 2)
        #expect(stage.transport.sent.last?.request.value(forHTTPHeaderField: "Authorization") == nil)
    }

    @Test("a 401 whose text is larger than the limit for responses is a 401 all the same")
    func largeRejection() async throws {
        let stage = Stage { request, _ in
            request.value(forHTTPHeaderField: "Authorization") == Self.token1
                ? .status(401, body: Data(repeating: 1, count: 1_000)) : .status(200)
        }
        let authenticator = TestAuthenticator()
        let authentication = Authentication(authenticator, credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication) {
            $0.maxResponseSize = 100
        }
        let operation = queue.send(request())
        await operation.finished()
        #expect(operation.result?.error == nil)
        #expect(authenticator.log.renewals == 1)
    }

    @Test("onCredentialChange that sends over the queue does not wait for itself")
    func storeOverTheQueue() async throws {
        let stage = Stage { request, _ in
            request.value(forHTTPHeaderField: "Authorization") == Self.token1 ? .status(401) : .status(200)
        }
        let authentication = Authentication(
            TestAuthenticator(), credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication)
        authentication.onCredentialChange = { [weak queue] _ in
            _ = try? await queue?.response(for: request("/keep"))
        }
        let operation = queue.send(request())
        await operation.finished()
        queue.cancelAllOperations()
    }

    @Test("whoever logs in does not share the transfer of who was logged in before")
    func sharingAcrossLogIn() async throws {
        let stage = Stage()
        let authentication = Authentication(
            TestAuthenticator(), credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication) {
            $0.sharesEqualRequests = true
        }
        let first = queue.send(request("/me"))
        await stage.transport.waitForSent(1)
        authentication.credential = NumberedToken(number: 2)
        let second = queue.send(request("/me"))
        await stage.transport.waitForSent(2)
        for sent in stage.transport.sent {
            let who = sent.request.value(forHTTPHeaderField: "Authorization") ?? ""
            stage.transport.complete(sent.identifier, with: .status(200, body: Data(who.utf8)))
        }
        #expect(try await first.response.data == Data(Self.token1.utf8))
        #expect(try await second.response.data == Data(NumberedToken(number: 2).header.utf8))
    }

    @Test("a renewal may send over the queue of another authentication, with that one's credential")
    func chained() async throws {
        let stage = Stage { request, _ in
            let header = request.value(forHTTPHeaderField: "Authorization")
            if request.url?.path == "/exchange" {
                return header == NumberedToken(number: 100).header ? .status(200) : .status(401)
            }
            return header == Self.token1 ? .status(401) : .status(200)
        }
        let outer = NetworkQueue(
            session: stage.session,
            authentication: Authentication(
                TestAuthenticator(), credential: NumberedToken(number: 100), time: stage.time))
        let authentication = Authentication(
            TestAuthenticator(renew: { _, _ in
                _ = try await outer.response(for: request("/exchange"))
                return NumberedToken(number: 2)
            }), credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication)
        let operation = queue.send(request())
        await operation.finished()
        #expect(operation.result?.error == nil)
    }

    @Test("the end of the session that a renewal goes over is not the end of those who wait on another")
    func sessionOfTheRenewalEnds() async throws {
        let stage = Stage { request, _ in
            if request.url?.path == "/token" { return .none }
            return request.value(forHTTPHeaderField: "Authorization") == Self.token1 ? .status(401) : .status(200)
        }
        let other = Stage { _, _ in .status(200) }
        let authenticator = TestAuthenticator(
            expires: { $0.number == 1 },
            renew: { _, session in
                _ = try await session.response(for: request("/token"))
                return NumberedToken(number: 2)
            })
        let authentication = Authentication(authenticator, credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication)
        let second = NetworkQueue(session: other.session, authentication: authentication)
        _ = queue.send(request())
        await stage.transport.waitForSent(1)
        let waiting = second.send(request())
        stage.session.invalidateAndCancel()
        // The renewal's deadline, and the wait before its second try.
        await stage.time.waitForTimers(2)
        stage.time.advance(by: stage.time.nextDelay ?? .zero)
        await becomesTrue { waiting.result != nil }
        #expect(waiting.result?.error == nil)
    }

    /// A credential that is an object, and does something when it goes.
    private final class KeyObject: Sendable {
        let number: Int
        let onEnd: @Sendable () -> Void

        init(_ number: Int, onEnd: @escaping @Sendable () -> Void) {
            self.number = number
            self.onEnd = onEnd
        }

        deinit { onEnd() }
    }

    private struct KeyAuthenticator: Authenticator {
        let hosts: Set<String> = ["stub.test"]
        var expires = false
        let renew: @Sendable () -> KeyObject

        func apply(_ credential: KeyObject, to request: inout URLRequest) {
            request.setValue("\(credential.number)", forHTTPHeaderField: "Authorization")
        }

        func refresh(_ credential: KeyObject, over session: NetworkSession) async throws -> KeyObject { renew() }

        func needsRefresh(_ credential: KeyObject, now: ContinuousClock.Instant) -> Bool { expires }
    }

    @Test("a credential that looks at its authentication when it goes is not let go of under the lock")
    func endOfCredential() async throws {
        let stage = Stage { _, _ in .status(200) }
        let box = Locked<Authentication<KeyAuthenticator>?>(nil)
        let ends = Counter()
        let look: @Sendable () -> Void = {
            _ = box.withLock { $0 }?.credential
            ends.increment()
        }
        let authentication = Authentication(
            KeyAuthenticator(expires: true, renew: { KeyObject(2, onEnd: {}) }), credential: KeyObject(1, onEnd: look),
            time: stage.time)
        box.withLock { $0 = authentication }
        let queue = NetworkQueue(session: stage.session, authentication: authentication)
        let operation = queue.send(request())
        await operation.finished()
        await ends.wait(for: 1)
        box.withLock { $0 = nil }
    }

    @Test("an operation that has finished keeps no credential")
    func finishedKeepsNone() async throws {
        let stage = Stage { _, _ in .status(200) }
        let ends = Counter()
        let end: @Sendable () -> Void = { ends.increment() }
        let authentication = Authentication(
            KeyAuthenticator(renew: { KeyObject(2, onEnd: {}) }), credential: KeyObject(1, onEnd: end), time: stage.time
        )
        let queue = NetworkQueue(session: stage.session, authentication: authentication)
        let operation = queue.send(request())
        await operation.finished()
        authentication.credential = nil
        await ends.wait(for: 1)
        withExtendedLifetime(operation) {}
    }
}
