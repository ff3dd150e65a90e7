import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Observation")
struct ObservationTests {
    @Test("what happens to a request that is retried, in order, with attempts, method and URL")
    func retried() async throws {
        let stage = Stage { _, identifier in identifier == 1 ? .status(503) : .status(200) }
        let log = EventLog()
        let queue = NetworkQueue(session: stage.session) {
            $0.observers = [log]
            $0.retryPolicy = .fixed(interval: .seconds(2), maxRetries: 3)
        }
        let operation = queue.send(request("/a?b=c", method: "PUT"))
        await stage.time.waitForTimers(1)
        stage.time.advance(by: .seconds(2))
        await log.ends.wait(for: 1)
        #expect(
            log.words(of: operation) == [
                "created", "in line", "on wire", "response 503", "retry", "in line", "on wire", "response 200",
                "finished 200",
            ])
        #expect(log.events.map(\.attempt) == [1, 1, 1, 1, 1, 2, 2, 2, 2])
        #expect(log.events.allSatisfy { $0.method == "PUT" && $0.url == "http://stub.test/a?b=c" })
        #expect(log.events.map(\.instant) == log.events.map(\.instant).sorted())
        guard case .retry(let delay, let error) = log.events[4].kind else { return }
        #expect(delay == .seconds(2) && error.response?.statusCode == 503)
    }

    @Test("a retry without a wait is an event too; one that fails for good says why")
    func failed() async {
        let stage = Stage { _, _ in .failure(.timedOut) }
        let log = EventLog()
        let queue = NetworkQueue(session: stage.session) { $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1) }
        queue.addObserver(log)
        let operation = queue.send(request())
        await log.ends.wait(for: 1)
        #expect(
            log.words(of: operation) == [
                "created", "in line", "on wire", "retry", "in line", "on wire", "failed inaccessible",
            ])
    }

    @Test("a suspended queue: held and resumed, of one that has not started and of one in line")
    func suspended() async throws {
        let stage = Stage { _, _ in .none }
        let log = EventLog()
        let queue = NetworkQueue(session: stage.session) {
            $0.observers = [log]
            $0.maxConcurrentRequests = 1
        }
        let first = queue.send(request("/1"))
        await stage.transport.waitForSent(1)
        let inLine = queue.send(request("/2"))
        await Self.wait { queue.session.lane.counts(of: queue.laneMember).waiting == 1 }
        queue.isSuspended = true
        let later = queue.send(request("/3"))
        queue.isSuspended = false
        for number in 1...3 {
            await stage.transport.waitForSent(number)
            stage.transport.complete(number, with: .status(200))
        }
        await log.ends.wait(for: 3)
        #expect(log.words(of: first) == ["created", "in line", "on wire", "response 200", "finished 200"])
        #expect(
            log.words(of: inLine) == [
                "created", "in line", "held suspended", "resumed", "on wire", "response 200", "finished 200",
            ])
        let words = log.words(of: later)
        #expect(words.prefix(2) == ["created", "held suspended"])
        #expect(words.filter { $0 == "resumed" }.count == 1)
        #expect(words.suffix(3) == ["on wire", "response 200", "finished 200"])
    }

    @Test("a Retry-After and a rate limit hold those in line")
    func hostAndRate() async {
        let stage = Stage { _, identifier in
            identifier == 1 ? .status(429, headers: ["Retry-After": "3"]) : .status(200)
        }
        let log = EventLog()
        let queue = NetworkQueue(session: stage.session) {
            $0.observers = [log]
            $0.retryPolicy = .never
            $0.rateLimit = RateLimit(requestsPerSecond: 0.1)
        }
        await queue.send(request()).finished()
        let waiting = queue.send(request())
        let elsewhere = queue.send(request(host: "other.test"))
        await Self.wait { queue.session.lane.counts(of: queue.laneMember).waiting == 2 }
        stage.time.advance(by: .seconds(30))
        await log.ends.wait(for: 3)
        for (operation, hold) in [(waiting, "held retryAfter"), (elsewhere, "held rateLimit")] {
            #expect(
                log.words(of: operation) == [
                    "created", "in line", hold, "resumed", "on wire", "response 200", "finished 200",
                ])
        }
    }

    @Test("a renewal of the credential holds those that need it, sent before or not")
    func renewal() async throws {
        let stage = Stage { request, _ in
            request.value(forHTTPHeaderField: "Authorization") == "Bearer token-1" ? .status(401) : .status(200)
        }
        let (log, gate) = (EventLog(), Counter())
        let authenticator = TestAuthenticator(renew: { token, _ in
            await gate.wait(for: 1)
            return NumberedToken(number: token.number + 1)
        })
        let queue = NetworkQueue(
            session: stage.session,
            // The renewal's own timeout must not come on a slow machine.
            authentication: Authentication(
                authenticator, credential: NumberedToken(number: 1), time: stage.time)
        ) { $0.observers = [log] }
        let first = queue.send(request("/1"))
        await authenticator.log.begun.wait(for: 1)
        let second = queue.send(request("/2"))
        for operation in [first, second] {
            await Self.wait { log.words(of: operation).contains("held renewal") }
        }
        gate.increment()
        await log.ends.wait(for: 2)
        #expect(log.words(of: first).prefix(4) == ["created", "in line", "on wire", "response 401"])
        for operation in [first, second] {
            #expect(
                log.words(of: operation).suffix(6) == [
                    "in line", "held renewal", "resumed", "on wire", "response 200", "finished 200",
                ])
        }
    }

    @Test("a redirect is told with the masked URL that is asked next", .overEveryWire)
    func redirect() async throws {
        let server = try LoopbackServer()
        server.on("/old", .redirect(to: "/new?token=s3cr3t&a=b", status: 302))
        server.on("/new", .text("there"))
        let log = EventLog()
        let queue = NetworkQueue(session: Wire.session()) { $0.observers = [log] }
        let operation = queue.send(URLRequest(url: server.url("/old")))
        await log.ends.wait(for: 1)
        #expect(
            log.words(of: operation) == [
                "created", "in line", "on wire", "response 302", "redirect 302", "response 200", "finished 200",
            ])
        let new = server.url("/new").absoluteString + "?token=***&a=b"
        guard case .redirect(_, to: let target) = log.events[4].kind else { return }
        #expect(target == new && log.events[6].url == new)
    }

    @Test("a request that fails before it has a URL, one cancelled before it is added, one of a dependency that failed")
    func early() async {
        let log = EventLog()
        let queue = NetworkQueue(session: Stage { _, _ in .status(404) }.session) { $0.observers = [log] }
        let cancelled = NetworkOperation(request())
        cancelled.cancel()
        let bad = NetworkOperation(Made.request("GET\r\nX: y", "ftp://x/"))
        let first = NetworkOperation(request())
        let second = NetworkOperation(after: first) { _ in request() }
        queue.addOperations([cancelled, bad, second, first], waitUntilFinished: false)
        await log.ends.wait(for: 4)
        #expect(log.words(of: cancelled) == ["created", "failed cancelled"])
        #expect(log.words(of: bad) == ["created", "failed invalidRequest"])
        #expect(log.words(of: second) == ["created", "failed dependencyFailed"])
        let broken = log.events.map(\.description).filter { $0.contains(where: \.isNewline) }
        #expect(broken.isEmpty)
        #expect(
            log.events.filter { $0.operation == second.identifier }.allSatisfy { $0.url.isEmpty && $0.method.isEmpty })
    }

    @Test("without observers nothing is noted, and no operation gets a number")
    func unobserved() async throws {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let observation = queue.addObserver { _ in }
        observation.cancel()
        let operation = queue.send(request())
        await operation.finished()
        operation.shared.withLock { shared in
            #expect(shared.knownIdentifier == nil)
            #expect(shared.memory.request == nil)
        }
    }

    @Test("a slow observer loses events, is told how many, and holds up neither requests nor others")
    func slow() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let gate = DispatchSemaphore(value: 0)
        let seen = Locked<[NetworkEvent]>([])
        queue.addObserver(bufferingUpTo: 10) { event in
            if seen.withLock({ $0.isEmpty }) { gate.wait() }
            seen.withLock { $0.append(event) }
        }
        let log = EventLog()
        queue.addObserver(log)
        let operations = (0..<100).map { _ in queue.send(request()) }
        for operation in operations { await operation.finished() }
        await log.ends.wait(for: 100)
        gate.signal()
        var (told, missed) = (0, 0)
        while told + missed < log.events.count {
            await Task.yield()
            let kinds = seen.withLock { $0.map(\.kind) }
            let notices = kinds.compactMap { if case .missed(let count) = $0 { count } else { nil } }
            (told, missed) = (kinds.count - notices.count, notices.reduce(0, +))
        }
        // What was on its way when it began to be slow, and what found room.
        #expect(told <= 20)
        #expect(told + missed == log.events.count)
    }

    @Test("observers run off the main queue, may use the queue, and can be taken back")
    func takenBack() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let (calls, onMain) = (Counter(), Locked(false))
        let observation = Locked<NetworkObservation?>(nil)
        let made = queue.addObserver { [weak queue] _ in
            if Thread.isMainThread { onMain.withLock { $0 = true } }
            queue?.isSuspended = false
            _ = queue?.unfinishedOperations
            observation.withLock { $0 }?.cancel()
            calls.increment()
        }
        observation.withLock { $0 = made }
        for _ in 0..<50 { await queue.send(request()).finished() }
        await calls.wait(for: 1)
        #expect(calls.value == 1)
        #expect(!onMain.withLock { $0 })
    }

    @Test("events can be awaited; the sequence ends with the queue")
    func sequence() async {
        let stage = Stage { _, _ in .status(200) }
        var queue: NetworkQueue? = NetworkQueue(session: stage.session)
        let events = queue?.events
        await queue?.send(request()).finished()
        queue = nil
        var words: [String] = []
        if let events {
            for await event in events { words.append(EventLog.word(event)) }
        }
        #expect(words == ["created", "in line", "on wire", "response 200", "finished 200"])
    }

    @Test("whatever races, each operation's events are in order: created first, one end, which is last")
    func races() async {
        let stage = Stage { _, identifier in identifier % 3 == 0 ? .failure(.cannotConnectToHost) : .status(200) }
        let log = EventLog()
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 2)
            $0.maxConcurrentRequestsPerHost = 3
        }
        queue.addObserver(log, bufferingUpTo: .max)
        let operations = (0..<600).map { _ in NetworkOperation(request()) }
        DispatchQueue.global().async {
            for (number, operation) in operations.enumerated() {
                queue.addOperation(operation)
                if number % 50 == 0 { queue.isSuspended = true }
                if number % 50 == 25 { queue.isSuspended = false }
            }
            queue.isSuspended = false
        }
        DispatchQueue.global().async {
            for operation in operations.filter({ $0.hash % 4 == 0 }) { operation.cancel() }
        }
        await log.ends.wait(for: operations.count)
        for operation in operations { await operation.finished() }
        for operation in operations {
            let words = log.words(of: operation)
            let ends = words.indices.filter { words[$0].hasPrefix("finished") || words[$0].hasPrefix("failed") }
            #expect(words.first == "created" && words.filter { $0 == "created" }.count == 1)
            #expect(ends == [words.count - 1], "\(words)")
            var isHeld = false
            for (word, next) in zip(words, words.dropFirst()) {
                if word.hasPrefix("held") { isHeld = true }
                if word == "resumed" {
                    #expect(isHeld, "\(words)")
                    isHeld = false
                }
                if next == "on wire" { #expect(["in line", "resumed"].contains(word) && !isHeld, "\(words)") }
                if word == "retry" { #expect(next == "in line" || next.hasPrefix("failed"), "\(words)") }
            }
        }
    }

    /// Returns once `condition` holds.
    private static func wait(until condition: () -> Bool) async {
        while !condition() { await Task.yield() }
    }
}
