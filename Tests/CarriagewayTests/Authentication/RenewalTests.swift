import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The cases C1 to C12, on real sockets. The time of renewals stands still, so that none is too slow for a slow machine.
@Suite("Token renewal", .overEveryWire)
struct RenewalTests {
    @Test("C1: a hundred requests with an expired token start one renewal, and are sent again with the new token")
    func single() async throws {
        let office = try TokenOffice(good: 2)
        let authenticator = TestAuthenticator(renew: office.renew)
        let authentication = Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime())
        let queue = NetworkQueue(session: Wire.session(), authentication: authentication)
        let operations = (0..<100).map { queue.send(office.request("/data?n=\($0)")) }
        for operation in operations { #expect(try await operation.response.statusCode == 200) }
        #expect(authenticator.log.renewals == 1)
        #expect(office.server.requests(to: "/token").count == 1)
        #expect(office.rejections.values.allSatisfy { $0 == 1 })
        #expect(office.order.count == 100)
        #expect(authentication.credential == NumberedToken(number: 2))
        // What was turned down is an attempt, but none of the retries.
        let first = try await operations[0].response
        #expect(first.attempts.count == 2)
    }

    @Test("C2: a refused renewal ends all waiters once with its error; nothing is sent again, nothing renewed again")
    func refused() async throws {
        let office = try TokenOffice(good: 2)
        office.server.on("/token", .text("invalid", status: 400))
        let authenticator = TestAuthenticator(renew: office.renew)
        let authentication = Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime())
        let signedOut = Counter()
        authentication.onSignedOut = { _ in signedOut.increment() }
        let calls = Counter()
        let queue = NetworkQueue(session: Wire.session(), authentication: authentication)
        let operations = (0..<50).map { number in
            queue.send(office.request("/data?n=\(number)")) { _ in calls.increment() }
        }
        for operation in operations {
            let error = await failure { () async throws(NetworkError) in try await operation.response }
            guard case .authenticationFailed(let cause)? = error,
                case .endpointError(let response, _)? = cause as? NetworkError
            else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(response.statusCode == 400)
        }
        await calls.wait(for: 50)
        #expect(calls.value == 50)
        #expect(authenticator.log.renewals == 1)
        // Nobody was sent twice: each that reached the server got its one 401.
        #expect(office.rejections.values.allSatisfy { $0 == 1 })
        let sent = office.server.requests(to: "/data").count
        let late = await failure { () async throws(NetworkError) in try await queue.response(for: office.request()) }
        #expect(late?.name == "authenticationFailed")
        #expect(office.server.requests(to: "/data").count == sent)
        await signedOut.wait(for: 1)
        #expect(signedOut.value == 1)
        // Until a credential is set; then they work.
        authentication.credential = NumberedToken(number: 2)
        #expect(try await queue.response(for: office.request()).statusCode == 200)
        #expect(authenticator.log.renewals == 1)
    }

    @Test("C3: the renewal passes a queue of width one whose every slot and connection is taken")
    func noDeadlock() async throws {
        let office = try TokenOffice(good: 2)
        let gate = LoopbackServer.Gate()
        office.server.on("/open/slow", .text("slow").held(by: gate))
        let authenticator = TestAuthenticator(renew: office.renew)
        let authentication = Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime())
        let renewed = Counter()
        authentication.onCredentialChange = { _ in renewed.increment() }
        let session = Wire.session()
        let queue = NetworkQueue(session: session, authentication: authentication) { $0.maxConcurrentRequests = 1 }
        #expect(try await queue.response(for: office.request()).statusCode == 200)
        // All of the session's connections to the host are busy, and one more request is needed to renew.
        let others = NetworkQueue(session: session) { $0.maxConcurrentRequestsPerHost = 100 }
        let busy = (0..<5).map { _ in others.send(office.request("/open/slow")) }
        try await gate.waitForArrivals(5)
        let rejection = LoopbackServer.Gate()
        office.server.on("/data/rejected") { request in
            request.header("Authorization") == NumberedToken(number: 2).header
                ? .status(401).held(by: rejection) : .text("ok")
        }
        office.killToken()
        let operation = queue.send(office.request("/data/rejected"))
        try await rejection.waitForArrivals(1)
        let last = others.send(office.request("/open/slow"))
        rejection.open()
        // The slot that the 401 left is taken too; the renewal goes out all the same.
        try await gate.waitForArrivals(6)
        await renewed.wait(for: 2)
        gate.open()
        #expect(try await operation.response.statusCode == 200)
        for operation in busy + [last] { #expect(try await operation.response.statusCode == 200) }
    }

    @Test("a renewal that sends over its own queue does not wait for itself")
    func renewalOverTheQueue() async throws {
        let office = try TokenOffice(good: 2)
        let box = Locked<NetworkQueue?>(nil)
        let url = office.server.url("/token")
        let authenticator = TestAuthenticator(renew: { token, _ in
            guard let queue = box.withLock({ $0 }) else { return token }
            let data = try await queue.data(for: URLRequest(url: url))
            return NumberedToken(number: Int(String(decoding: data, as: UTF8.self)) ?? 0)
        })
        let queue = NetworkQueue(
            session: Wire.session(),
            authentication: Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime()))
        box.withLock { $0 = queue }
        #expect(try await queue.response(for: office.request()).statusCode == 200)
        #expect(authenticator.log.renewals == 1)
        box.withLock { $0 = nil }
    }

    @Test("C4: a server that turns every token down: the last 401 is the result, with its body, after two renewals")
    func alwaysUnauthorized() async throws {
        let office = try TokenOffice(good: -1)
        let authenticator = TestAuthenticator()
        let queue = NetworkQueue(
            session: Wire.session(),
            authentication: Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime()))
        let error = await failure { () async throws(NetworkError) in try await queue.response(for: office.request()) }
        guard case .endpointError(let response, let body)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(response.statusCode == 401)
        #expect(String(decoding: body, as: UTF8.self) == "token is dead")
        #expect(authenticator.log.renewals == 2)
        #expect(office.rejections.values.allSatisfy { $0 == 3 })
        // However many more: five renewals in all, and everyone gets an answer.
        for _ in 0..<10 {
            let error = await failure { () async throws(NetworkError) in try await queue.response(for: office.request())
            }
            #expect(error?.response?.statusCode == 401)
        }
        #expect(authenticator.log.renewals == 5)
    }

    @Test("C5: a 401 for the old token that comes after the renewal just sends again")
    func lateRejection() async throws {
        let office = try TokenOffice(good: 1)
        let gate = LoopbackServer.Gate()
        office.server.on("/data/late") { request in
            request.header("Authorization") == NumberedToken(number: 1).header
                ? .text("late", status: 401).held(by: gate) : .text("ok")
        }
        let authenticator = TestAuthenticator(renew: office.renew)
        let queue = NetworkQueue(
            session: Wire.session(),
            authentication: Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime()))
        let late = queue.send(office.request("/data/late"))
        try await gate.waitForArrivals(1)
        office.killToken()
        #expect(try await queue.response(for: office.request()).statusCode == 200)
        #expect(authenticator.log.renewals == 1)
        gate.open()
        #expect(try await late.response.attempts.count == 2)
        #expect(authenticator.log.renewals == 1)
    }

    @Test("C6: while the token is renewed new requests wait, then leave with the new token in the order of arrival")
    func order() async throws {
        let office = try TokenOffice(good: 2)
        let gate = LoopbackServer.Gate()
        office.server.on("/token", .text("2").held(by: gate))
        let authenticator = TestAuthenticator(renew: office.renew)
        let queue = NetworkQueue(
            session: Wire.session(),
            authentication: Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime())
        ) { $0.maxConcurrentRequests = 1 }
        var operations = [queue.send(office.request("/data?n=0"))]
        try await gate.waitForArrivals(1)
        operations += (1..<20).map { queue.send(office.request("/data?n=\($0)")) }
        #expect(office.order.isEmpty)
        gate.open()
        for operation in operations { _ = try await operation.response }
        #expect(office.order == (0..<20).map { "/data?n=\($0)" })
        #expect(office.rejections.count == 1)
    }

    @Test("C7: a refusal of a token that is no longer the current one signs nobody out")
    func staleRefusal() async throws {
        let office = try TokenOffice(good: 3)
        let gate = LoopbackServer.Gate()
        office.server.on("/token", .text("invalid_grant", status: 400).held(by: gate))
        let authentication = Authentication(
            TestAuthenticator(renew: office.renew), credential: NumberedToken(number: 1), time: VirtualTime())
        let signedOut = Counter()
        authentication.onSignedOut = { _ in signedOut.increment() }
        let queue = NetworkQueue(session: Wire.session(), authentication: authentication)
        let waiting = queue.send(office.request())
        try await gate.waitForArrivals(1)
        // The user logs in anew: who waited goes on with that.
        authentication.credential = NumberedToken(number: 3)
        #expect(try await waiting.response.statusCode == 200)
        gate.open()
        try await office.server.waitUntilIdle()
        #expect(try await queue.response(for: office.request()).statusCode == 200)
        #expect(authentication.credential == NumberedToken(number: 3))
        #expect(signedOut.value == 0)
    }

    @Test("C8: the new credential is stored before any request leaves with it")
    func storedFirst() async throws {
        let office = try TokenOffice(good: 2)
        let authentication = Authentication(
            TestAuthenticator(renew: office.renew), credential: NumberedToken(number: 1), time: VirtualTime())
        let stored = Locked<[NumberedToken]>([])
        let sentBefore = Locked(-1)
        authentication.onCredentialChange = { token in
            // Everything that could run meanwhile has its chance.
            for _ in 0..<100 { await Task.yield() }
            sentBefore.withLock { $0 = office.order.count }
            stored.withLock { $0.append(token) }
        }
        let queue = NetworkQueue(session: Wire.session(), authentication: authentication)
        let operations = (0..<10).map { _ in queue.send(office.request()) }
        for operation in operations { _ = try await operation.response }
        #expect(stored.withLock { $0 } == [NumberedToken(number: 2)])
        #expect(sentBefore.withLock { $0 } == 0)
    }

    @Test("C11: a token that is about to expire is renewed before anything is sent with it")
    func aheadOfTime() async throws {
        let office = try TokenOffice(good: 2)
        let authenticator = TestAuthenticator(expires: { $0.number == 1 }, renew: office.renew)
        let queue = NetworkQueue(
            session: Wire.session(),
            authentication: Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime()))
        let operations = (0..<20).map { _ in queue.send(office.request()) }
        for operation in operations { #expect(try await operation.response.attempts.count == 1) }
        #expect(office.rejections.isEmpty)
        #expect(authenticator.log.renewals == 1)
    }

    @Test("C12: requests that need no credential run during a renewal: opted out, or to other hosts")
    func publicRequests() async throws {
        let office = try TokenOffice(good: 2)
        let elsewhere = try LoopbackServer()
        elsewhere.on("/open") { .text($0.header("Authorization") ?? "none") }
        let gate = LoopbackServer.Gate()
        office.server.on("/token", .text("2").held(by: gate))
        let authenticator = TestAuthenticator(hosts: ["127.0.0.1:\(office.server.port)"], renew: office.renew)
        let queue = NetworkQueue(
            session: Wire.session(),
            authentication: Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime())
        ) { $0.maxConcurrentRequests = 1 }
        let waiting = queue.send(office.request())
        try await gate.waitForArrivals(1)
        let open = NetworkOperation(office.request("/open"))
        open.isAuthenticated = false
        queue.addOperation(open)
        #expect(try await open.response.data == Data("none".utf8))
        let other = try await queue.data(for: URLRequest(url: elsewhere.url("/open")))
        #expect(other == Data("none".utf8))
        #expect(waiting.result == nil)
        gate.open()
        #expect(try await waiting.response.statusCode == 200)
    }
}
