import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// `APIClient.recover`: an answer in the stead of a response that was refused.
struct RecoverTests {
    private func client(
        _ stage: Stage, recover: @escaping @Sendable (InvalidResponse) async throws -> NetworkResponse?
    ) -> APIClient {
        var client = APIClient(
            baseURL: "http://stub.test", queue: NetworkQueue(session: stage.session) { $0.retryPolicy = .never })
        client.recover = recover
        return client
    }

    @Test("parity: a refused response is answered in its stead, and the answer is the operation's result")
    func answered() async throws {
        let stage = Stage { _, _ in .status(404, body: Data("none".utf8)) }
        let client = client(stage) { refused in
            #expect(refused.http.statusCode == 404 && refused.data == Data("none".utf8))
            #expect(["/x", "/1"].contains(refused.request.url?.path) && refused.attempts.count == 1)
            return refused.answer(Data("[1]".utf8))
        }
        let operation = client.operation(for: .get("/x", as: [Int].self))
        let after = client.operation(after: operation) { .get("/\($0.value[0])", as: [Int].self) }
        client.queue.addOperations([after, operation], waitUntilFinished: false)
        #expect(try await operation.value == [1])
        #expect(try operation.result?.get().attempts.count == 1)
        #expect(try await after.value == [1])
        #expect(stage.transport.sent.count == 2)
    }

    @Test("it is asked once, when the retries are used up, and holds no slot: it may send through the same queue")
    func afterRetries() async throws {
        let stage = Stage(random: 0) { request, _ in .status(request.url?.path == "/other" ? 200 : 503) }
        let asked = Counter()
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 2)
            $0.maxConcurrentRequests = 1
        }
        var client = APIClient(baseURL: "http://stub.test", queue: queue)
        let other = client
        client.recover = { refused in
            asked.increment()
            return try await other.send(.get("/other")).response
        }
        let response = try await client.send(.get("/x"))
        #expect(response.statusCode == 200 && asked.value == 1)
        #expect(stage.transport.sent.count == 4)
    }

    @Test("nil leaves the failure, what it throws takes its place, an answer that cannot be read fails")
    func declined() async {
        let stage = Stage { _, _ in .status(404) }
        let kept = await failure { () async throws(NetworkError) in
            try await client(stage) { _ in nil }.send(.get("/x"))
        }
        #expect(kept?.name == "endpointError")
        struct Own: Error {}
        let thrown = await failure { () async throws(NetworkError) in
            try await client(stage) { _ in throw Own() }.send(.get("/x"))
        }
        #expect(thrown?.name == "generalError")
        let unreadable = await failure { () async throws(NetworkError) in
            try await client(stage) { $0.answer(Data("{".utf8)) }.send(.get("/x", as: [Int].self))
        }
        #expect(unreadable?.name == "decodingFailed")
    }

    @Test("it is not asked for failures without a response, nor for a success")
    func notAsked() async throws {
        let stage = Stage { request, _ in request.url?.path == "/ok" ? .status(200) : .failure(.timedOut) }
        let client = client(stage) { _ in
            Issue.record("asked")
            return nil
        }
        try await client.send(.get("/ok"))
        let error = await failure { () async throws(NetworkError) in try await client.send(.get("/x")) }
        #expect(error?.urlErrorCode == .timedOut)
    }

    @Test("cancel while it works ends the operation at once, and its task")
    func cancelled() async {
        let stage = Stage { _, _ in .status(404) }
        let began = Counter()
        let ended = Counter()
        let client = client(stage) { refused in
            began.increment()
            try? await Task.sleep(for: .seconds(3600))
            ended.increment()
            return refused.answer(Data())
        }
        let operation = client.send(.get("/x")) { _ in }
        await began.wait(for: 1)
        operation.cancel()
        await operation.finished()
        #expect(operation.result?.isCancelled == true)
        await ended.wait(for: 1)
        #expect(operation.result?.isCancelled == true)
    }
}
