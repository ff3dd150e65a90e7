import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif
#if os(Linux)
    import Glibc
#endif

/// Requests over a network that loses and delays packets, goes away and comes back. To be run in a network namespace of its
/// own, with a device that ``PacketMirror`` opens; see `TrialTests`.
struct BadNetwork {
    private let transport: NetworkSession.TransportKind

    init(_ arguments: TrialArguments) {
        transport = arguments.transport
    }

    #if os(Linux)
        func run() async throws {
            let server = try LoopbackServer(address: 0)
            let mirror = try PacketMirror()
            server.on("/small", .text("small"))
            server.on("/large", .data(Data(count: 300_000)))
            let base = "http://10.9.0.2:\(server.port)"
            try await twoAddresses(port: server.port, mirror)
            try await lossAndDelay(base, mirror)
            try await linkDown(base, server, mirror)
            try await earlyRetry(base, server, mirror)
            try await silence(base, mirror)
        }

        private func request(_ url: String, method: String = "GET") -> URLRequest {
            var request = URLRequest(url: URL(string: url) ?? URL(fileURLWithPath: "/"))
            request.httpMethod = method
            if method == "POST" { request.httpBody = Data(count: 20_000) }
            return request
        }

        /// A host with two addresses, of which the first is silent: the second is tried soon, not when there is no time left.
        private func twoAddresses(port: Int, _ mirror: PacketMirror) async throws {
            mirror.set(.init())
            var hints = addrinfo()
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var found: UnsafeMutablePointer<addrinfo>?
            guard getaddrinfo("both.test", nil, &hints, &found) == 0, found?.pointee.ai_family == AF_INET6 else {
                return say("two addresses: skipped, there is no IPv6 here")
            }
            freeaddrinfo(found)
            var request = request("http://both.test:\(port)/small")
            request.timeoutInterval = 300
            let started = ContinuousClock.now
            let data = try await NetworkSession(transport: transport).data(for: request)
            let took = ContinuousClock.now - started
            try Fault.unless(data == Data("small".utf8), "not the answer")
            try Fault.unless(took < .seconds(60), "it took \(took)")
            say("two addresses, the first silent: answered after \(took)")
        }

        /// 5 % of the packets are lost, and each takes 100 ms in each direction: everything arrives.
        private func lossAndDelay(_ base: String, _ mirror: PacketMirror) async throws {
            mirror.set(.init(delay: 100, lostOfHundred: 5))
            let queue = NetworkQueue(session: NetworkSession(transport: transport)) {
                $0.maxConcurrentRequestsPerHost = 6
                $0.attemptTimeout = .seconds(30)
                $0.timeout = .seconds(120)
            }
            let started = ContinuousClock.now
            let operations = (0..<40).map { number in
                let path = number % 10 == 0 ? "/large" : "/small"
                return queue.send(request(base + path, method: number % 4 == 3 ? "POST" : "GET"))
            }
            for operation in operations { _ = try await operation.response }
            try Fault.unless(ContinuousClock.now - started >= .milliseconds(200), "there was no delay")
            say("5 % loss, 200 ms: 40 of 40 in \(ContinuousClock.now - started)")
        }

        /// Sends requests, and takes the link away once an answer is owed, until each of those that were on the wire then has
        /// run into its time.
        ///
        /// - Returns: when the link was back.
        private func loseLink(
            _ base: String, _ server: LoopbackServer, _ mirror: PacketMirror, _ queues: [NetworkQueue]
        ) async throws -> (operations: [[NetworkOperation]], back: ContinuousClock.Instant) {
            mirror.set(.init(delay: 5))
            let gate = LoopbackServer.Gate()
            server.on("/slow", LoopbackServer.Response.text("slow").held(by: gate))
            let operations = queues.map { queue in (0..<12).map { _ in queue.send(request(base + "/slow")) } }
            try await gate.waitForArrivals(queues.count)
            mirror.set(.init(isDown: true))
            gate.open()
            while operations.contains(where: { $0.count { !$0.attempts.isEmpty } < 6 }) {
                try await Task.sleep(for: .milliseconds(10))
            }
            mirror.set(.init(delay: 5))
            return (operations, .now)
        }

        /// The link goes down and comes back: what is idempotent is there within three seconds after that, of which a slow
        /// machine may make thirty.
        private func linkDown(_ base: String, _ server: LoopbackServer, _ mirror: PacketMirror) async throws {
            let queue = NetworkQueue(session: NetworkSession(transport: transport)) {
                $0.attemptTimeout = .seconds(2)
                $0.timeout = .seconds(120)
                $0.retryPolicy = .exponential(base: .milliseconds(200), cap: .seconds(1), maxRetries: 1_000)
                $0.retryBudget = nil
            }
            let (operations, back) = try await loseLink(base, server, mirror, [queue])
            for operation in operations[0] { _ = try await operation.response }
            let took = ContinuousClock.now - back
            let retried = operations[0].count { $0.attempts.count > 1 }
            try Fault.unless(retried >= 6, "\(retried) were in flight when the link went down")
            try Fault.unless(took < .seconds(30), "they took \(took) after the link was back")
            say("link down: \(retried) of 12 retried, all there \(took) after it was back")
        }

        /// The same with an hour between the attempts: the first success after the link is back lets the others go, if they
        /// may go early.
        private func earlyRetry(_ base: String, _ server: LoopbackServer, _ mirror: PacketMirror) async throws {
            let queues = [true, false].map { isEarly in
                NetworkQueue(session: NetworkSession(transport: transport)) {
                    $0.attemptTimeout = .seconds(2)
                    $0.retryPolicy = .fixed(interval: .seconds(3_600), maxRetries: 1_000)
                    $0.retryBudget = nil
                    $0.retriesEarly = isEarly
                }
            }
            let (operations, back) = try await loseLink(base, server, mirror, queues)
            let (early, late) = (operations[0], operations[1])
            // What somebody asks for next; once, if the machine is not so slow that one of the others has to wait again.
            try await ask(base, of: queues[1])
            repeat {
                try await ask(base, of: queues[0])
                for _ in 0..<100 where early.contains(where: { $0.result == nil }) {
                    try await Task.sleep(for: .milliseconds(20))
                }
                try Fault.unless(.now - back < .seconds(60), "they wait for their time")
            } while early.contains { $0.result == nil }
            let took = ContinuousClock.now - back
            for operation in early { _ = try await operation.response }
            let waiting = late.count { $0.result == nil && $0.attempts.count == 1 }
            try Fault.unless(waiting >= 6, "\(waiting) that were to wait for their time do")
            queues[1].cancelAllOperations()
            say("link down, waits of an hour: all there \(took) after it was back with early retry, not without")
        }

        /// Sends requests until one succeeds.
        private func ask(_ base: String, of queue: NetworkQueue) async throws {
            for _ in 0..<20 {
                let operation = NetworkOperation(request(base + "/small"))
                operation.retryPolicy = .never
                queue.addOperation(operation)
                if (try? await operation.response) != nil { return }
            }
            throw Fault(description: "no answer after the link was back")
        }

        /// Nothing answers, not even with a reset: each attempt ends at its time, and a POST that may have arrived is not sent
        /// again.
        private func silence(_ base: String, _ mirror: PacketMirror) async throws {
            mirror.set(.init(isDown: true))
            let queue = NetworkQueue(session: NetworkSession(transport: transport)) {
                $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1)
            }
            for (method, attempts) in [("GET", 2), ("POST", 1)] {
                var request = request(base + "/small", method: method)
                request.timeoutInterval = 1
                let operation = queue.send(request)
                let started = ContinuousClock.now
                do throws(NetworkError) {
                    _ = try await operation.response
                    throw .invalidRequest("an answer out of nowhere")
                } catch {
                    try Fault.unless("\(error)".contains("timed out"), "\(method): \(error)")
                }
                try Fault.unless(
                    operation.attempts.count == attempts, "\(operation.attempts.count) attempts of \(method)")
                try Fault.unless(ContinuousClock.now - started < .seconds(30), "it took too long")
            }
            say("a port that is silent: timed out, POST sent once")
        }
    #else
        func run() async throws { throw Fault(description: "there are no network namespaces") }
    #endif
}
