import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct APIClientTests {
    private struct User: Codable, Sendable, Equatable {
        var name: String
        var bornAt: Date?
    }

    private static let ada = Data(#"{"name":"Ada"}"#.utf8)

    private func client(_ stage: Stage, configure: (inout NetworkQueue.Configuration) -> Void = { _ in }) -> APIClient {
        APIClient(baseURL: "http://stub.test/v1", queue: NetworkQueue(session: stage.session, configure: configure))
    }

    @Test("parity: value, status and headers are at hand, in async and completion form", arguments: Wire.all)
    func sending(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/v1/users/1", .json(User(name: "Ada"), status: 201).header("X-Page", "7"))
        let client = APIClient(
            baseURL: server.url("/v1"), queue: NetworkQueue(session: wire.session()))
        let endpoint = Endpoint.get("/users/1", as: User.self)
        let response = try await client.send(endpoint)
        #expect(response.value == User(name: "Ada") && response.statusCode == 201 && response.header("x-page") == "7")
        #expect(response.response.attempts.count == 1)
        #expect(try await client.value(for: endpoint) == User(name: "Ada"))
        let completed = await withCheckedContinuation { continuation in
            client.send(endpoint) { continuation.resume(returning: $0) }
        }
        #expect(try completed.get().value == User(name: "Ada") && completed.get().statusCode == 201)
    }

    @Test(
        "every way to send goes through the queue: the transport counts the sends, and a suspended queue sends nothing")
    func throughThePipeline() async throws {
        let stage = Stage { _, _ in .status(200, body: Self.ada) }
        let client = client(stage)
        let endpoint = Endpoint.get("/x", as: User.self)
        client.queue.isSuspended = true
        let first = client.send(endpoint) { _ in }
        let second = client.operation(for: endpoint)
        let third = client.operation(after: second) { _ in .get("/y", as: User.self) }
        client.queue.addOperations([third, second], waitUntilFinished: false)
        let fourth = Task { try await client.value(for: endpoint) }
        while client.queue.unfinishedOperations.count < 4 { await Task.yield() }
        #expect(stage.transport.sent.isEmpty)
        client.queue.isSuspended = false
        _ = try await first.value
        _ = try await third.value
        _ = try await fourth.value
        #expect(stage.transport.sent.count == 4)
    }

    @Test("an endpoint's requests go out in the order in which they were added")
    func order() async throws {
        let stage = Stage { _, _ in .status(200, body: Self.ada) }
        let client = client(stage) { $0.maxConcurrentRequests = 1 }
        let operations = (0..<50).map { client.send(.get("/\($0)", as: User.self)) { _ in } }
        for operation in operations { _ = try await operation.value }
        #expect(stage.transport.sent.compactMap { $0.request.url?.lastPathComponent } == (0..<50).map(String.init))
    }

    @Test("every method goes out under its own name")
    func methods() async throws {
        let stage = Stage { _, _ in .status(204) }
        let client = client(stage)
        let endpoints: [Endpoint<Void>] = [
            .get("/x"), .post("/x"), .put("/x"), .patch("/x"), .delete("/x"), .head("/x"), .options("/x"), .trace("/x"),
            .connect("/x"), .query("/x"), Endpoint("PURGE", "/x"),
        ]
        for endpoint in endpoints { try await client.send(endpoint) }
        let names = "GET POST PUT PATCH DELETE HEAD OPTIONS TRACE CONNECT QUERY PURGE"
        #expect(stage.transport.sent.compactMap(\.request.httpMethod) == names.split(separator: " ").map(String.init))
        let typed: [Endpoint<NoContent>] = [
            .get("/x"), .post("/x"), .put("/x"), .patch("/x"), .delete("/x"), .head("/x"), .options("/x"), .trace("/x"),
            .connect("/x"), .query("/x"),
        ]
        #expect(typed.map(\.method) == endpoints.dropLast().map(\.method))
    }

    @Test("headers of the client go with every request; the endpoint's take their place, in any case")
    func headers() async throws {
        let stage = Stage { _, _ in .status(204) }
        var client = client(stage)
        client.headers = ["X-Client": "1", "Accept-Language": "de"]
        try await client.send(.get("/x", headers: ["accept-language": "fr", "X-Own": "2"]))
        let request = try #require(stage.transport.sent.first?.request)
        #expect(request.value(forHTTPHeaderField: "X-Client") == "1")
        #expect(request.value(forHTTPHeaderField: "Accept-Language") == "fr")
        #expect(request.value(forHTTPHeaderField: "X-Own") == "2")
    }

    @Test(
        "values go out and come in by the client's encoder and decoder, with their strategies; an endpoint has its own",
        .overEveryWire)
    func codings() async throws {
        let server = try LoopbackServer()
        server.on("/echo") { .data($0.body, contentType: $0.header("Content-Type") ?? "none") }
        var client = APIClient(baseURL: server.url(), queue: NetworkQueue(session: Wire.session()))
        let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .iso8601
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .iso8601
        client.encoder = encoder
        client.decoder = decoder
        let user = User(name: "Ada", bornAt: Date(timeIntervalSince1970: 0))
        let echo = Endpoint.post("/echo", as: User.self).sending(user)
        let response = try await client.send(echo)
        #expect(response.value == user && response.header("Content-Type") == "application/json")
        #expect(try response.response.json()["born_at"] == "1970-01-01T00:00:00Z")
        let form = Endpoint.post("/echo", as: Data.self).sending(["a b": "1&2"], by: .form)
        let sent = try await client.send(form)
        #expect(sent.value == Data("a+b=1%262".utf8))
        #expect(sent.header("Content-Type") == "application/x-www-form-urlencoded")
        let own = echo.with { $0.decoder = JSONDecoder() }
        #expect(try await client.value(for: own) == User(name: "Ada", bornAt: nil), "it knows no born_at")
        let text = Endpoint.put("/echo", body: .text("plain"), as: Data.self)
        #expect(try await client.value(for: text) == Data("plain".utf8))
    }

    @Test("a value that cannot be encoded fails the request; nothing is sent")
    func unencodable() async {
        let stage = Stage()
        let endpoint = Endpoint.post("/x").sending(["x": Double.nan])
        let error = await failure { () async throws(NetworkError) in try await client(stage).send(endpoint) }
        #expect(error?.name == "generalError" && stage.transport.sent.isEmpty)
    }

    @Test("a wrong path, base or host fails the request with a reason; nothing is sent")
    func invalid() async {
        let stage = Stage()
        let client = client(stage)
        let error = await failure { () async throws(NetworkError) in try await client.send(.get("/x?y")) }
        #expect(error?.name == "invalidRequest" && error?.description.contains("question mark") == true)
        let hostless = APIClient(host: "https://a.test", queue: client.queue)
        let operation = hostless.send(.get("/x")) { _ in }
        await operation.finished()
        #expect(operation.result?.error?.name == "invalidRequest")
        #expect(stage.transport.sent.isEmpty)
    }

    @Test("an untyped value keeps all its digits")
    func untyped() async throws {
        let text = #"{"n":0.12345678901234567890123456789012345678901234567890}"#
        let stage = Stage { _, _ in .status(200, body: Data(text.utf8)) }
        #expect(try await client(stage).value(for: .get("/x", as: JSONValue.self)).description == text)
    }

    // MARK: Operations

    @Test("parity: an endpoint as an operation, whose value another endpoint is made from")
    func dependencies() async throws {
        let stage = Stage { request, _ in
            .status(200, body: request.url?.lastPathComponent == "login" ? Data(#"{"name":"7"}"#.utf8) : Self.ada)
        }
        let client = client(stage)
        let login = client.operation(for: .post("/login", as: User.self))
        let profile = client.operation(after: login) {
            .put("/users/\($0.value.name)", body: .text("x"), as: User.self)
        }
        client.queue.addOperations([profile, login], waitUntilFinished: false)
        #expect(try await profile.value == User(name: "Ada"))
        #expect(stage.transport.sent.map { $0.request.url?.path } == ["/v1/login", "/v1/users/7"])
        #expect(stage.transport.sent.last?.request.httpMethod == "PUT")
    }

    @Test("a body that cannot be read fails the operation itself; what depends on it is not sent")
    func unreadable() async throws {
        let stage = Stage { _, _ in .status(200, body: Data(#"{"name":[{"secret":1}]}"#.utf8)) }
        let client = client(stage)
        let login = client.operation(for: .get("/login", as: User.self))
        let profile = client.operation(after: login) { _ in .get("/x") }
        client.queue.addOperations([profile, login], waitUntilFinished: false)
        let error = await failure { () async throws(NetworkError) in try await profile.value }
        guard case .dependencyFailed(let cause as NetworkError) = error, case .decodingFailed(_, let response) = cause
        else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(response.statusCode == 200 && !response.data.isEmpty)
        #expect(cause.description.contains("$.name") && !cause.description.contains("secret"))
        #expect(login.result?.error?.name == "decodingFailed" && login.attempts.count == 1)
        #expect(stage.transport.sent.count == 1)
    }

    @Test("an endpoint's retry policy, timeout and opt-out are the operation's")
    func settings() {
        let endpoint = Endpoint.get("/x").with {
            $0.retryPolicy = .never
            $0.timeout = .seconds(3)
            $0.isAuthenticated = false
        }
        let operation = client(Stage()).operation(for: endpoint)
        #expect(operation.retryPolicy.maxRetries == 0 && operation.timeout == .seconds(3))
        #expect(!operation.isAuthenticated)
    }

    @Test("equal endpoints under way share one transfer, where the queue is told so; each reads it in its own way")
    func sharing() async throws {
        let stage = Stage()
        let client = client(stage) { $0.sharesEqualRequests = true }
        let users = (0..<2).map { _ in client.send(.get("/x", as: User.self)) { _ in } }
        let numbers = client.send(.get("/x", as: [Int].self)) { _ in }
        await stage.transport.waitForSent(1)
        stage.transport.complete(1, with: .status(200, body: Self.ada))
        for operation in users { #expect(try await operation.value == User(name: "Ada")) }
        await numbers.finished()
        #expect(numbers.result?.error?.name == "decodingFailed")
        #expect(stage.transport.sent.count == 1)
    }

    @Test("a cancelled task sends nothing, and cancels what it awaits")
    func cancelling() async {
        let stage = Stage()
        let client = client(stage)
        let task = Task { try await client.send(.get("/x")).statusCode }
        await stage.transport.waitForSent(1)
        task.cancel()
        let result = await task.result
        #expect(throws: NetworkError.self) { try result.get() }
        await client.queue.drained()
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.send(.get("/x")).statusCode
        }
        _ = await late.result
        #expect(stage.transport.sent.count == 1)
    }
}
