import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Dependencies: cases C21 and C22, and what Foundation on Linux makes of long chains, wide fans and races.
struct DependencyTests {
    @Test("C21: a diamond runs in the right order, in every order of adding")
    func diamond() async {
        for order in permutations(of: [0, 1, 2, 3]) {
            let stage = Stage { _, _ in .status(200) }
            let queue = NetworkQueue(session: stage.session)
            let operations = (0..<4).map { NetworkOperation(request("/\($0)")) }
            operations[1].addDependency(operations[0])
            operations[2].addDependency(operations[0])
            operations[3].addDependency(operations[1])
            operations[3].addDependency(operations[2])
            for index in order { queue.addOperation(operations[index]) }
            await operations[3].finished()
            let paths = stage.transport.sent.compactMap { $0.request.url?.path }
            #expect(paths.first == "/0" && paths.last == "/3" && paths.count == 4)
        }
    }

    @Test("C21: a cancelled parent lets its child go, which fails, or runs if it may")
    func cancelledParent() async throws {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let parent = NetworkOperation(request("/parent"))
        let strict = NetworkOperation(request("/strict"))
        let lenient = NetworkOperation(request("/lenient"))
        lenient.requiresDependencySuccess = false
        for child in [strict, lenient] {
            child.addDependency(parent)
            queue.addOperation(child)
        }
        parent.cancel()
        queue.addOperation(parent)
        #expect(try await lenient.response.statusCode == 200)
        let error = await failure { () async throws(NetworkError) in try await strict.response }
        guard case .dependencyFailed(let cause as NetworkError) = error, case .cancelled = cause else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(stage.transport.sent.map { $0.request.url?.path } == ["/lenient"])
    }

    @Test("C22: a failure runs down a chain without a request, and the cause that began it stays readable")
    func failureRunsDown() async {
        let stage = Stage { _, _ in .status(404) }
        let queue = NetworkQueue(session: stage.session)
        let first = NetworkOperation(request())
        var chain = [first]
        for _ in 0..<50 {
            chain.append(NetworkOperation(after: chain[chain.count - 1]) { _ in request("/never") })
        }
        queue.addOperations(chain, waitUntilFinished: false)
        let error = await failure { () async throws(NetworkError) in try await chain[50].response }
        guard case .dependencyFailed(let cause as NetworkError) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause.response?.statusCode == 404)
        #expect(stage.transport.sent.count == 1)
    }

    @Test("an operation of another kind that was cancelled fails its dependents; one that ran lets them run")
    func foreignDependency() async throws {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let elsewhere = OperationQueue()
        let block = BlockOperation {}
        let cancelled = BlockOperation {}
        cancelled.cancel()
        let good = NetworkOperation(request())
        good.addDependency(block)
        let bad = NetworkOperation(request())
        bad.addDependency(cancelled)
        queue.addOperations([good, bad], waitUntilFinished: false)
        elsewhere.addOperation(block)
        elsewhere.addOperation(cancelled)
        #expect(try await good.response.statusCode == 200)
        let error = await failure { () async throws(NetworkError) in try await bad.response }
        #expect(error?.name == "dependencyFailed")
    }

    @Test("the closure gets the response, and what it throws is the result", arguments: Wire.all)
    func builder(wire: Wire) async throws {
        struct Token: Codable { let value: String }
        let server = try LoopbackServer()
        server.on("POST", "/login", .json(Token(value: "secret")))
        server.on("/profile") { .text($0.header("Authorization") ?? "none") }
        let queue = NetworkQueue(session: wire.session())
        var loginRequest = URLRequest(url: server.url("/login"))
        loginRequest.httpMethod = "POST"
        let login = NetworkOperation(loginRequest)
        let profile = NetworkOperation(after: login) { response in
            var request = URLRequest(url: server.url("/profile"))
            let token = try response.decoded(as: Token.self)
            request.setValue("Bearer \(token.value)", forHTTPHeaderField: "Authorization")
            return request
        }
        let wrong = NetworkOperation(after: login) { response in
            _ = try response.decoded(as: [Int].self)
            return request()
        }
        queue.addOperations([profile, wrong, login], waitUntilFinished: false)
        #expect(try await profile.response.data == Data("Bearer secret".utf8))
        let error = await failure { () async throws(NetworkError) in try await wrong.response }
        #expect(error?.name == "decodingFailed")
    }

    @Test("an operation does not depend on itself, and one that is cancelled in a circle is let go")
    func circles() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let own = NetworkOperation(request())
        own.addDependency(own)
        #expect(own.dependencies.isEmpty)
        let first = NetworkOperation(request())
        let second = NetworkOperation(request())
        first.addDependency(second)
        second.addDependency(first)
        queue.addOperations([own, first, second], waitUntilFinished: false)
        await own.finished()
        first.cancel()
        await first.finished()
        await second.finished()
        #expect(second.result?.error?.name == "dependencyFailed")
    }

    @Test("a dependency that is taken back is not waited for (H7)")
    func removedDependency() async throws {
        let stage = Stage { _, _ in .status(200) }
        for queue in [NetworkQueue(session: stage.session), OperationQueue()] {
            let never = NetworkOperation(request("/never"))
            let neverBlock = BlockOperation {}
            let before = NetworkOperation(request(), session: stage.session)
            before.addDependency(never)
            before.addDependency(neverBlock)
            before.removeDependency(never)
            before.removeDependency(neverBlock)
            queue.addOperation(before)
            #expect(try await before.response.statusCode == 200)
            // Also when it waits already, which Foundation allows for a suspended queue at best.
            guard queue is NetworkQueue else { continue }
            let after = NetworkOperation(request(), session: stage.session)
            after.addDependency(never)
            queue.addOperation(after)
            after.removeDependency(never)
            #expect(try await after.response.statusCode == 200)
        }
    }

    @Test("a dependent that is let go before its dependency ends does no harm")
    func releasedDependent() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let block = BlockOperation {}
        for _ in 0..<100 {
            let parent = NetworkOperation(request())
            do {
                let child = NetworkOperation(request())
                child.addDependency(parent)
                child.addDependency(block)
            }
            queue.addOperation(parent)
        }
        queue.addOperation(block)
        await queue.drained()
    }

    @Test("a chain of 200,000 is built, run and released (K19)")
    func longChain() async {
        let stage = Stage()
        stage.session.invalidateAndCancel()
        let queue = NetworkQueue(session: stage.session)
        weak var first: NetworkOperation?
        do {
            var chain: [NetworkOperation] = []
            for index in 0..<200_000 {
                let operation = NetworkOperation(request())
                operation.requiresDependencySuccess = false
                if index > 0 { operation.addDependency(chain[index - 1]) }
                chain.append(operation)
            }
            first = chain[0]
            for operation in chain { queue.addOperation(operation) }
            await chain[199_999].finished()
            #expect(chain.allSatisfy { $0.isFinished })
        }
        await becomesTrue { first == nil }
    }

    @Test("a chain of 100,000 that never runs is released without an overflow of the stack")
    func unusedChain() async {
        weak var first: NetworkOperation?
        do {
            var last = NetworkOperation(request())
            first = last
            for _ in 0..<100_000 {
                let next = NetworkOperation(after: last) { _ in request() }
                last = next
            }
        }
        await becomesTrue { first == nil }
    }

    @Test("operations whose dependency finishes while they are added all run", arguments: [true, false])
    func lostWakeUp(foreign: Bool) async {
        // 300,000 of each kind run in .ci/soak.
        let count = Int(ProcessInfo.processInfo.environment["CARRIAGEWAY_WAKE_UPS"] ?? "") ?? 20_000
        let stage = Stage()
        stage.session.invalidateAndCancel()
        let queue = NetworkQueue(session: stage.session)
        let other = OperationQueue()
        for _ in 0..<count {
            let dependency: Operation
            if foreign {
                dependency = BlockOperation {}
            } else {
                dependency = NetworkOperation(request(), session: stage.session)
            }
            let dependent = NetworkOperation(request())
            dependent.requiresDependencySuccess = false
            dependent.addDependency(dependency)
            other.addOperation(dependency)
            queue.addOperation(dependent)
            await dependent.finished()
        }
    }

    @Test("ten thousand behind one all run, and the queue knows of them while they wait")
    func wideFan() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session) {
            $0.maxConcurrentRequests = 1_000
            $0.maxConcurrentRequestsPerHost = 1_000
        }
        let gate = BlockOperation {}
        let first = NetworkOperation(request("/first"))
        first.addDependency(gate)
        let others = (0..<10_000).map { _ in
            let operation = NetworkOperation(request("/other"))
            operation.addDependency(first)
            return operation
        }
        queue.addOperations(others + [first], waitUntilFinished: false)
        #expect(queue.unfinishedOperations.count == 10_001)
        queue.addOperation(gate)
        await queue.drained()
        #expect(stage.transport.sent.count == 10_001)
        #expect(stage.transport.sent.first?.request.url?.path == "/first")
        #expect(queue.unfinishedOperations.isEmpty)
    }
}

private func permutations(of items: [Int]) -> [[Int]] {
    guard items.count > 1 else { return [items] }
    return items.indices.flatMap { index in
        var rest = items
        let item = rest.remove(at: index)
        return permutations(of: rest).map { [item] + $0 }
    }
}
