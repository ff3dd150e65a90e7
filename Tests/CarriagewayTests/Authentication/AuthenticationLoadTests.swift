import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Many requests, and tokens that die among them.
@Suite("Token renewal under load", .overEveryWire)
struct AuthenticationLoadTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["CARRIAGEWAY_RENEWAL_ROUNDS"].flatMap { Int($0) } ?? 2

    @Test("a thousand requests in flight and in line, and the token dies: one renewal, and everyone succeeds in order")
    func tokenDies() async throws {
        for _ in 0..<Self.rounds {
            let office = try TokenOffice(good: 1)
            let authenticator = TestAuthenticator(renew: office.renew)
            let queue = NetworkQueue(
                session: Wire.session(),
                authentication: Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime())
            )
            let paths = (0..<1_000).map { "/data?n=\($0)" }
            let operations = paths.map { NetworkOperation(office.request($0)) }
            let deathAfter = Int.random(in: 1..<900)
            office.limitLifetime(to: deathAfter)
            queue.addOperations(operations, waitUntilFinished: false)
            for operation in operations { #expect(try await operation.response.statusCode == 200) }
            #expect(authenticator.log.renewals == 1, "died after \(deathAfter)")
            #expect(office.rejections.values.allSatisfy { $0 == 1 }, "died after \(deathAfter)")
            // Only what was on the wire together can change places.
            let numbers = office.order.compactMap { Int($0.dropFirst("/data?n=".count)) }
            #expect(numbers.count == 1_000)
            let jumps = zip(numbers.indices, numbers).map { abs($0 - $1) }.max() ?? 0
            #expect(jumps < 12, "died after \(deathAfter)")
        }
    }

    /// The tokens die by the count of requests, not by the clock: one that dies before it arrives, on a machine that stands
    /// still for so long, would be the machine's fault.
    @Test(
        "a token that dies again and again while thousands are sent: none fails, and never do two renewals run at once")
    func dyingTokens() async throws {
        let office = try TokenOffice(good: 1)
        office.limitLifetime(to: 10, later: 20...100)
        try await send(3_000, to: office, minimumRenewals: 25)
    }

    @Test(
        "a token that dies every 50 ms while thousands are sent: none fails, and never do two renewals run at once",
        .enabled(if: rounds > 3, "needs a quiet machine"))
    func timedTokens() async throws {
        let office = try TokenOffice(good: 1)
        let killer = Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(50))
                office.killToken()
            }
        }
        defer { killer.cancel() }
        try await send(5_000, to: office, minimumRenewals: 5)
    }

    private func send(_ count: Int, to office: TokenOffice, minimumRenewals: Int) async throws {
        let authenticator = TestAuthenticator(renew: office.renew)
        let queue = NetworkQueue(
            session: Wire.session(),
            authentication: Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime()))
        let operations = (0..<count).map { queue.send(office.request("/data?n=\($0)")) }
        var failures: [NetworkError] = []
        for operation in operations {
            await operation.finished()
            if let error = operation.result?.error { failures.append(error) }
        }
        #expect(failures.isEmpty)
        #expect(authenticator.log.peak == 1)
        #expect(authenticator.log.renewals >= minimumRenewals)
    }

    @Test("a body that was answered 401 is sent again whole; a stream that cannot be says so")
    func bodies() async throws {
        let office = try TokenOffice(good: 2)
        let authenticator = TestAuthenticator(renew: office.renew)
        let authentication = Authentication(authenticator, credential: NumberedToken(number: 1), time: VirtualTime())
        let queue = NetworkQueue(session: Wire.session(), authentication: authentication)
        let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(try await queue.response(for: office.request(method: "POST", body: body)).attempts.count == 2)
        let bodies = office.server.requests(to: "/data").map(\.body)
        #expect(bodies == [body, body])

        office.killToken()
        var streamed = office.request(method: "POST")
        streamed.httpBodyStream = InputStream(data: Data("once".utf8))
        let error = await failure { [streamed] () async throws(NetworkError) in
            try await queue.response(for: streamed)
        }
        guard case .authenticationFailed(let cause)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause as? AuthenticationError == .bodyNotReplayable)
        // The next request finds the token renewed.
        #expect(try await queue.response(for: office.request()).statusCode == 200)
    }
}
