import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Bodies that are read while they come.
@Suite(.overEveryWire)
struct StreamTests {
    private let server: LoopbackServer
    private let queue: NetworkQueue

    init() throws {
        server = try LoopbackServer()
        queue = NetworkQueue(session: Wire.session()) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 3)
        }
    }

    private func get(_ path: String) -> URLRequest {
        var request = URLRequest(url: server.url(path))
        request.timeoutInterval = 300
        return request
    }

    private func error<Value>(of body: () async throws -> Value) async -> NetworkError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? NetworkError
        }
    }

    private func all(_ bytes: NetworkBytes) async throws -> Data {
        var data = Data()
        for try await chunk in bytes { data.append(chunk) }
        return data
    }

    @Test("every byte comes, in order", arguments: [0, 1, 3_000_000])
    func bytes(count: Int) async throws {
        let content = Data.pattern(count)
        server.on("/f", .data(content))
        #expect(try await all(queue.bytes(for: get("/f"))) == content)
    }

    @Test("bytes come while the response is under way, and the head before them")
    func whileUnderWay() async throws {
        server.on("/f", .data(Data("onetwo".utf8)).truncated(after: 3, then: .stall))
        let bytes = queue.bytes(for: get("/f"))
        #expect(try await bytes.response.statusCode == 200)
        var iterator = bytes.makeAsyncIterator()
        #expect(try await iterator.next() == Data("one".utf8))
        #expect(!bytes.operation.isFinished)
    }

    @Test("nothing is sent before somebody reads")
    func lazy() async throws {
        server.on("/f", .text("x"))
        do { _ = queue.bytes(for: get("/f")) }
        let bytes = queue.bytes(for: get("/f"))
        #expect(server.requestCount == 0 && queue.unfinishedOperations.isEmpty)
        #expect(try await all(bytes) == Data("x".utf8))
    }

    @Test("leaving the loop, cancelling the task and letting go of the sequence end the request", arguments: 0..<4)
    func leaving(way: Int) async throws {
        server.on("/f", .data(Data("onetwo".utf8)).truncated(after: 3, then: .stall))
        let request = get("/f")
        switch way {
        case 0:
            for try await _ in queue.bytes(for: request) { break }
        case 1:
            let bytes = queue.bytes(for: request)
            for try await _ in bytes { break }
            await bytes.operation.finished()
            #expect(bytes.operation.result?.isCancelled == true)
        case 2:
            let hasRead = Counter()
            let task = Task { [queue] in
                for try await _ in queue.bytes(for: request) { hasRead.increment() }
            }
            await hasRead.wait(for: 1)
            task.cancel()
            let error = await error { try await task.value }
            #expect(error?.isCancelled == true)
        default:
            do { _ = try await queue.bytes(for: request).response }
        }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test("a status that validation refuses is an error with its text, not a body")
    func refused() async throws {
        server.on("/f", .text("no such thing", status: 404))
        let bytes = queue.bytes(for: get("/f"))
        guard case .endpointError(let response, let body)? = await error(of: { try await self.all(bytes) }) else {
            Issue.record("no endpoint error")
            return
        }
        #expect(response.statusCode == 404 && body == Data("no such thing".utf8))
        #expect(await error { try await queue.bytes(for: get("/f")).response }?.name == "endpointError")
    }

    @Test("before the first byte it is tried again; after it, not, and the attempt says why")
    func retries() async throws {
        server.on("/early", .reset, .status(503), .text("third"))
        #expect(try await all(queue.bytes(for: get("/early"))) == Data("third".utf8))
        #expect(server.requests(to: "/early").count == 3)
        server.on("/late", .data(Data("onetwo".utf8)).truncated(after: 3, then: .close))
        let bytes = queue.bytes(for: get("/late"))
        var read = Data()
        let failure = await error { for try await chunk in bytes { read.append(chunk) } }
        #expect(failure?.urlErrorCode == .networkConnectionLost)
        #expect(read == Data("one".utf8) && server.requests(to: "/late").count == 1)
        #expect(bytes.operation.attempts.last?.notRetried == .partlyDelivered)
    }

    @Test("what is read after the end stays the end")
    func afterTheEnd() async throws {
        server.on("/f", .text("x"))
        let bytes = queue.bytes(for: get("/f"))
        var iterator = bytes.makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
        #expect(try await bytes.response.statusCode == 200)
    }

    #if canImport(FoundationNetworking)
        @Test("a reader that is too slow for a transport that cannot pause gets a clear error, and what had come")
        func tooSlow() async throws {
            // Over one that can, the reader is waited for: see `slowReader` of the probe.
            guard !queue.session.transport.canPause else { return }
            server.on("/f", .data(Data.pattern(4_000_000)))
            let bytes = queue.bytes(for: get("/f"), bufferSize: 1_000_000)
            _ = try await bytes.response
            await bytes.operation.finished()
            var count = 0
            guard
                case .responseTooLarge(limit: 1_000_000)? = await error(of: {
                    for try await chunk in bytes { count += chunk.count }
                })
            else {
                Issue.record("no error")
                return
            }
            #expect(count >= 1_000_000 && count < 1_100_000)
        }
    #endif

    @Test("a transport that can pause does so when much waits, and goes on when little does")
    func backPressure() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let bytes = queue.bytes(for: request(), bufferSize: 1_000)
        async let head = bytes.response
        await stage.transport.waitForSent(1)
        let task = stage.transport.sent[0].identifier
        stage.transport.give(task, status: 200, body: Data(repeating: 1, count: 600))
        stage.transport.give(task, body: Data(repeating: 2, count: 300))
        stage.transport.settled()
        #expect(stage.transport.paused.isEmpty)
        stage.transport.give(task, body: Data(repeating: 3, count: 200))
        stage.transport.settled()
        #expect(stage.transport.paused == [task])
        _ = try await head
        var iterator = bytes.makeAsyncIterator()
        #expect(try await iterator.next()?.count == 600)
        #expect(stage.transport.paused == [task])
        #expect(try await iterator.next()?.count == 300)
        // 200 of 1000 wait.
        #expect(stage.transport.paused.isEmpty)
        stage.transport.finish(task)
        #expect(try await iterator.next()?.count == 200)
        #expect(try await iterator.next() == nil)
    }

    @Test("lines come one by one; the last one may lack its end; a line beyond the buffer is an error")
    func lines() async throws {
        server.on("/f", .data(Data("one\ntwo\r\n\nlast".utf8)).dripped(size: 2, interval: .milliseconds(1)))
        var lines: [String] = []
        for try await line in queue.bytes(for: get("/f")).lines { lines.append(line) }
        #expect(lines == ["one", "two", "", "last"])
        server.on("/long", .data(Data(repeating: 0x61, count: 5_000)).dripped(size: 100, interval: .milliseconds(1)))
        let failure = await error {
            for try await _ in queue.bytes(for: get("/long"), bufferSize: 1_000).lines {}
        }
        #expect(failure?.name == "responseTooLarge")
    }

    @Test("JSON lines are decoded; empty ones are passed over; one that does not fit says which")
    func jsonLines() async throws {
        server.on("/f", .text("{\"n\":1}\n\n  \n{\"n\":2}\n{\"x\":3}\n"))
        struct Value: Decodable { var n: Int }
        var numbers: [Int] = []
        let failure = await error {
            for try await value in queue.bytes(for: get("/f")).jsonLines(as: Value.self) { numbers.append(value.n) }
        }
        #expect(numbers == [1, 2])
        guard case .decodingFailed(_, let response)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(response.data == Data("{\"x\":3}".utf8))
    }

    @Test("an invalid request, a cancelled operation and an invalidated session end a stream too")
    func ends() async throws {
        let invalid = await error { try await self.all(self.queue.bytes(for: requestTo("ftp://x/"))) }
        #expect(invalid?.name == "invalidRequest")
        let bytes = queue.bytes(for: get("/f"))
        bytes.operation.cancel()
        #expect(await error { try await self.all(bytes) }?.isCancelled == true)
        let session = Wire.session()
        let closed = NetworkQueue(session: session)
        session.invalidateAndCancel()
        #expect(await error { try await self.all(closed.bytes(for: self.get("/f"))) }?.name == "sessionInvalidated")
    }
}

private func requestTo(_ text: String) -> URLRequest {
    URLRequest(url: URL(string: text) ?? URL(fileURLWithPath: "/"))
}
