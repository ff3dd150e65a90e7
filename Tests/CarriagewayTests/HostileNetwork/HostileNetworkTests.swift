import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Every fault times every kind of request: each ends within its time, says why, tells each handler once, and gives its slot
/// back.
@Suite(.overEveryWire)
struct HostileNetworkTests {
    /// What kind of request meets the fault.
    enum Kind: CaseIterable {
        case get, post
        /// After another request, which succeeds.
        case dependent
        /// Added to a suspended queue, which is then resumed.
        case suspended
        /// While its credential is being renewed.
        case beingRenewed
    }

    /// The token, which is renewed once: the first is dead when the tests begin.
    private static func authentication(_ renewed: Counter) -> Authentication<TestAuthenticator> {
        var authenticator = TestAuthenticator()
        authenticator.renew = { token, _ in
            // Long enough that the requests stand in line for it.
            try await Task.sleep(for: .milliseconds(50))
            renewed.increment()
            return NumberedToken(number: token.number + 1)
        }
        authenticator.expires = { $0.number == 1 }
        // The servers' 401 are faults here, not what the renewal is about.
        authenticator.judge = { _, _ in false }
        return Authentication(authenticator, credential: NumberedToken(number: 1))
    }

    private func queue(_ session: NetworkSession, _ authentication: Authentication<TestAuthenticator>? = nil)
        -> NetworkQueue
    {
        let configure: (inout NetworkQueue.Configuration) -> Void = {
            $0.maxConcurrentRequests = 3
            $0.maxConcurrentRequestsPerHost = 2
            $0.retryPolicy = .fixed(interval: .milliseconds(1), maxRetries: 1)
            $0.timeout = .seconds(500)
            $0.maxResponseSize = 100_000
        }
        guard let authentication else { return NetworkQueue(session: session, configure: configure) }
        return NetworkQueue(session: session, authentication: authentication, configure: configure)
    }

    private func operations(_ kind: Kind, _ fault: HostileFault, _ server: LoopbackServer, on queue: NetworkQueue)
        -> [NetworkOperation]
    {
        var request = URLRequest(url: server.url("/fault"))
        if kind == .post {
            request.httpMethod = "POST"
            request.httpBody = Data(count: 10_000)
        }
        let made = request
        switch kind {
        case .get, .post, .suspended, .beingRenewed:
            return (0..<3).map { _ in NetworkOperation(made) }
        case .dependent:
            let first = NetworkOperation(URLRequest(url: server.url("/fine")))
            let second = NetworkOperation(after: first) { _ in made }
            let third = NetworkOperation(made)
            third.requiresDependencySuccess = false
            third.addDependency(second)
            return [third, second, first]
        }
    }

    @Test("each ends, says why, and tells each handler once", .timeLimit(.minutes(10)), arguments: HostileFault.all)
    func everyKind(fault: HostileFault) async throws {
        let server = try LoopbackServer()
        fault.install(server, "/fault")
        server.on("/fine", .text("fine"))
        let session = Wire.session()
        let renewed = Counter()
        for kind in Kind.allCases {
            let queue = queue(session, kind == .beingRenewed ? Self.authentication(renewed) : nil)
            let operations = operations(kind, fault, server, on: queue)
            let calls = operations.map { _ in Counter() }
            for (operation, counter) in zip(operations, calls) {
                for _ in 0..<3 { operation.onCompletion { _ in counter.increment() } }
            }
            if kind == .suspended { queue.isSuspended = true }
            // Only what hangs is cut off: everything else ends by itself, however slow the machine is.
            if fault.hangs {
                for operation in operations.dropLast(kind == .dependent ? 1 : 0) {
                    operation.attemptTimeout = .milliseconds(700)
                }
            }
            queue.addOperations(operations, waitUntilFinished: false)
            if kind == .suspended { queue.isSuspended = false }
            for (operation, counter) in zip(operations, calls) {
                await operation.finished()
                await counter.wait(for: 3)
                let result = try #require(operation.result)
                let isFine = (try? result.get().request.url?.path) == "/fine"
                #expect(isFine || fault.explains(result), "\(kind): \(result)")
            }
            // No slot is lost: as many requests as there are slots go through, twice.
            for _ in 0..<6 { #expect(try await queue.data(for: URLRequest(url: server.url("/fine"))).count == 4) }
            await queue.drained()
            #expect(calls.allSatisfy { $0.value == 3 })
        }
        #expect(renewed.value == 1)
    }

    @Test("cancelled anywhere on the way, each ends at once and only once", .timeLimit(.minutes(10)))
    func cancelled() async throws {
        let server = try LoopbackServer()
        for (index, fault) in HostileFault.all.enumerated() { fault.install(server, "/fault\(index)") }
        server.on("/fine", .text("fine"))
        let queue = queue(Wire.session())
        var operations: [NetworkOperation] = []
        let calls = Counter()
        for round in 0..<6 {
            for index in HostileFault.all.indices {
                let operation = queue.send(URLRequest(url: server.url("/fault\(index)"))) { _ in calls.increment() }
                operations.append(operation)
                let delay = DispatchTimeInterval.microseconds((round * 31 + index) * 997 % 60_000)
                DispatchQueue.global().asyncAfter(deadline: .now() + delay) { operation.cancel() }
            }
        }
        for operation in operations { await operation.finished() }
        await calls.wait(for: operations.count)
        for _ in 0..<6 { #expect(try await queue.data(for: URLRequest(url: server.url("/fine"))).count == 4) }
        #expect(calls.value == operations.count)
    }
}
