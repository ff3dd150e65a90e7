import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The right sides of "Coming from URLSessionAdapter": each test has the name of its row of the table of what came before.
struct ComingFromURLSessionAdapterTests {
    private struct User: Codable, Sendable, Equatable { var name: String }

    private let server: LoopbackServer
    private let folder: TemporaryFolder
    private let queue = NetworkQueue(session: NetworkSession(configuration: .ephemeral)) { $0.retryPolicy = .never }
    private let client: APIClient
    private let user = User(name: "Ada")

    init() throws {
        server = try LoopbackServer()
        folder = try TemporaryFolder()
        client = APIClient(baseURL: server.url(), queue: queue)
        server.on("/users/1", .json(user))
        server.on("POST", "/users") { .data($0.body, contentType: "application/json", status: 201) }
        server.on("GET", "/users", .json([user]))
        server.on("GET", "/file", .text("file"))
        server.on("PUT", "/file", .empty(204))
        server.on("/missing", .text("gone", status: 404))
    }

    @Test("parity: Endpoint(method:baseURL:path:params:), HTTPParams, RequestFactory.request")
    func endpoints() async throws {
        let endpoint = Endpoint.get("/users/1", as: User.self)
        let create = Endpoint.post("/users", headers: ["X-Trace": "1"], body: .json(user))
        let list = Endpoint.get("/users", query: [URLQueryItem(name: "page", value: "2")], as: [User].self)
        let request = try client.request(for: endpoint)
        #expect(request.url == server.url("/users/1") && request.httpMethod == "GET")
        try await client.send(create)
        #expect(try await client.value(for: list) == [user])
        #expect(server.requests(to: "/users").map { $0.header("X-Trace") } == ["1", nil])
        #expect(server.requests(to: "/users").last?.target == "/users?page=2")
    }

    @Test("parity: request, request(type:), fetchFile, downloadFile, each with status code; async and callback")
    func requests() async throws {
        let (fileURL, target) = (server.url("/file"), folder.url.appendingPathComponent("file"))
        let data = try await client.value(for: .get("/users/1", as: Data.self))
        let value = try await client.value(for: .get("/users/1", as: User.self))
        let status = try await client.send(.get("/users/1", as: User.self)).statusCode
        #expect(try JSONDecoder().decode(User.self, from: data) == value && value == user && status == 200)
        let file = try await queue.data(for: URLRequest(url: fileURL))
        let download = try await client.download(.get("/file"), to: target)
        #expect(try file == Data("file".utf8) && Data(contentsOf: target) == file && download.statusCode == 200)
        let endpoint = Endpoint.get("/users/1", as: User.self)
        let name = await withCheckedContinuation { continuation in
            client.send(endpoint) { result in
                continuation.resume(returning: try? result.get().value.name)
            }
        }
        #expect(name == "Ada")
    }

    @Test("parity: validation of 400 to 599 is on by default, off for one request or for all")
    func validation() async throws {
        let error = await failure { () async throws(NetworkError) in try await self.client.send(.get("/missing")) }
        #expect(error?.name == "endpointError")
        let lenient = Endpoint.get("/missing").with { $0.validation = ResponseValidation.none }
        #expect(try await self.client.send(lenient).statusCode == 404)
        var client = self.client
        client.validation = ResponseValidation.none
        #expect(try await client.send(.get("/missing")).statusCode == 404)
    }

    @Test("parity: upload tasks, progress observer, NetworkCancellable")
    func uploads() async throws {
        let source = try folder.file("source", Data(repeating: 1, count: 3000))
        try await client.send(.put("/file", body: .file(source)))
        #expect(server.requests(to: "/file").last?.body.count == 3000)
        let operation = client.send(.get("/file", as: Data.self)) { _ in }
        let progress = operation.progress
        await operation.finished()
        #expect(progress.isFinished)
        operation.cancel()
        let waiting = NetworkOperation(URLRequest(url: server.url("/file")))
        waiting.cancel()
        #expect(waiting.result?.isCancelled == true)
    }

    @Test("parity: Codable encode and decode helpers")
    func codable() async throws {
        let echo = Endpoint.post("/users", as: User.self).sending(user)
        #expect(try await client.value(for: echo) == user)
    }
}
