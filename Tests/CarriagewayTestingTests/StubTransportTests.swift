import Carriageway
import CarriagewayTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The stub as a user of the library has it: through the public names only.
struct StubTransportTests {
    private let stub = StubTransport()

    private var client: APIClient {
        APIClient(baseURL: "https://a.test", queue: NetworkQueue(session: NetworkSession(stub: stub)))
    }

    @Test("answers by method and path, one after the other, the last for good; what was said later goes before")
    func routes() async throws {
        stub.on("/x", .text("any"))
        stub.on(.post, "/x", .text("first"), .text("second"))
        stub.on("/all/*", .text("below"))
        stub.on("/all/special", .text("special"))
        stub.on(.text("head")) { $0.value(forHTTPHeaderField: "X-Special") == "1" }
        func text(_ endpoint: Endpoint<Data>) async throws -> String {
            String(decoding: try await client.value(for: endpoint), as: UTF8.self)
        }
        #expect(try await text(.get("/x")) == "any")
        for expected in ["first", "second", "second"] { #expect(try await text(.post("/x")) == expected) }
        #expect(try await text(.get("/all/a/b")) == "below")
        #expect(try await text(.get("/all/special")) == "special")
        #expect(try await text(.get("/x", headers: ["X-Special": "1"])) == "head")
    }

    @Test("requests are kept with their bodies, those of files and streams too")
    func requests() async throws {
        stub.on("/*", .status(204))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("stub-\(UUID().uuidString)")
        try Data("file".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await client.send(.post("/1").sending(["a": 1]))
        try await client.send(.put("/2", body: .file(file)))
        try await client.send(.put("/3", body: .stream { InputStream(data: Data("stream".utf8)) }))
        let bodies = stub.requests.map { String(decoding: $0.httpBody ?? Data(), as: UTF8.self) }
        #expect(bodies == [#"{"a":1}"#, "file", "stream"])
        #expect(stub.requests.map(\.httpMethod) == ["POST", "PUT", "PUT"])
    }

    @Test("what nobody expected fails with what it was, is sent once, and is kept")
    func unexpected() async throws {
        stub.on(.get, "/x", .status(204))
        try await client.send(.get("/x"))
        #expect(stub.unexpectedRequests.isEmpty)
        do {
            try await client.send(.delete("/x"))
            Issue.record("it was answered")
        } catch {
            guard case .invalidRequest(let reason) = error else { throw error }
            #expect(reason.contains("DELETE /x"))
        }
        #expect(stub.unexpectedRequests.map(\.httpMethod) == ["DELETE"] && stub.requests.count == 2)
    }

    @Test("failures and statuses go through the retry of the real pipeline, on a clock that stands still")
    func retry() async throws {
        stub.on("/x", .status(503, headers: ["Retry-After": "30"]), .failure(.timedOut), .json(["a": 1]))
        let time = VirtualTime()
        let queue = NetworkQueue(session: NetworkSession(stub: stub, time: time, random: 0))
        let operation = APIClient(baseURL: "https://a.test", queue: queue)
            .send(.get("/x", as: [String: Int].self)) { _ in }
        // That of the host, which is held, and then that of the retry.
        await time.waitForTimers(2)
        time.advance(by: .seconds(29))
        #expect(stub.requests.count == 1)
        time.advance(by: .seconds(1))
        #expect(try await operation.value == ["a": 1])
        #expect(stub.requests.count == 3 && time.elapsed == .seconds(30))
    }

    @Test("answers by hand, in parts")
    func byHand() async throws {
        stub.on("/x", .none)
        let operation = client.send(.get("/x", as: Data.self)) { _ in }
        await stub.waitForSent(1)
        #expect(stub.aliveCount == 1)
        let identifier = stub.sent[0].identifier
        stub.give(identifier, status: 200, body: Data("a".utf8))
        stub.give(identifier, body: Data("b".utf8))
        stub.finish(identifier)
        #expect(try await operation.value == Data("ab".utf8))
        #expect(stub.aliveCount == 0)
        stub.complete(identifier, with: .failure(.timedOut))
    }

    @Test("several sessions share a stub; ending one leaves the other")
    func sessions() async throws {
        stub.on("/x", .status(204))
        let (first, second) = (NetworkSession(stub: stub), NetworkSession(stub: stub))
        let request = try client.request(for: .get("/x"))
        _ = try await first.response(for: request)
        first.invalidateAndCancel()
        _ = try await second.response(for: request)
        await #expect(throws: NetworkError.self) { try await first.response(for: request) }
        #expect(stub.requests.count == 2)
    }

    @Test("a recorded response has no cookie and nothing of the request but method and URL, and is replayed")
    func recording() async throws {
        let server = try LoopbackServer()
        server.on("/x", .json(["a": 1]).header("Set-Cookie", "secret").header("X-A", "1"))
        server.on("/bytes", .data(Data([0xFF, 0x00])))
        let queue = NetworkQueue(session: NetworkSession(configuration: .ephemeral))
        var request = URLRequest(url: server.url("/x?q=1"))
        request.setValue("secret", forHTTPHeaderField: "Authorization")
        let recorded = [
            RecordedResponse(try await queue.response(for: request)),
            RecordedResponse(try await queue.response(for: URLRequest(url: server.url("/bytes")))),
        ]
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("recorded-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try RecordedResponse.write(recorded, to: file)
        #expect(!String(decoding: try Data(contentsOf: file), as: UTF8.self).contains("secret"))
        #expect(try RecordedResponse.read(from: file) == recorded)
        for response in recorded { stub.replay(response) }
        let response = try await client.send(
            .get("/x", query: [URLQueryItem(name: "q", value: "1")], as: [String: Int].self))
        #expect(response.value == ["a": 1] && response.header("X-A") == "1")
        #expect(try await client.value(for: .get("/bytes", as: Data.self)) == Data([0xFF, 0x00]))
        do {
            try await client.send(.get("/x"))
            Issue.record("another query was answered")
        } catch {
            #expect(stub.unexpectedRequests.count == 1)
        }
    }
}
