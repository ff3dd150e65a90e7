import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What counts as a success, what no body means, and what a server says of a failure.
struct ClientValidationTests {
    private struct User: Codable, Sendable, Equatable { var name: String }

    private func client(_ stage: Stage, queue validation: ResponseValidation = .default) -> APIClient {
        let queue = NetworkQueue(session: stage.session) {
            $0.validation = validation
            $0.retryPolicy = .never
        }
        return APIClient(baseURL: "http://stub.test", queue: queue)
    }

    private func error<Value>(_ client: APIClient, _ endpoint: Endpoint<Value>) async -> String {
        await failure { () async throws(NetworkError) in try await client.send(endpoint) }?.name ?? "none"
    }

    @Test(
        "parity: 400 to 599 are failures unless queue, client, endpoint or operation say otherwise, the nearest first")
    func levels() async throws {
        let stage = Stage { request, _ in .status(Int(request.url?.lastPathComponent ?? "") ?? 0) }
        var client = client(stage)
        for status in [400, 404, 499, 500, 599] { #expect(await error(client, .get("/\(status)")) == "endpointError") }
        for status in [200, 204, 299, 304] { #expect(await error(client, .get("/\(status)")) == "none") }
        #expect(await error(self.client(stage, queue: .none), .get("/500")) == "none")
        client.validation = .statuses(404..<405)
        #expect(await error(client, .get("/404")) == "none")
        #expect(await error(client, .get("/200")) == "unacceptableResponse")
        #expect(await error(client, .get("/500").with { $0.validation = ResponseValidation.none }) == "none")
        let operation = client.operation(for: .get("/500"))
        operation.validation = .none
        client.queue.addOperation(operation)
        #expect(try await operation.response.statusCode == 500)
    }

    @Test("content types are checked where the endpoint says so")
    func contentTypes() async {
        let stage = Stage { _, _ in .status(200, headers: ["Content-Type": "text/html"], body: Data("<p>".utf8)) }
        let endpoint = Endpoint.get("/x", as: Data.self)
        #expect(await error(client(stage), endpoint) == "none")
        let strict = endpoint.with { $0.validation = .default.contentTypes("application/json") }
        #expect(await error(client(stage), strict) == "unacceptableResponse")
    }

    @Test(
        "no body: an optional is nil, Void, Data and NoContent succeed, others are .noResponseData",
        arguments: [(204, "GET"), (205, "GET"), (304, "GET"), (200, "HEAD"), (200, "GET")], Wire.all)
    func noBody(answer: (status: Int, method: String), wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/x", .empty(answer.status))
        let queue = NetworkQueue(session: wire.session())
        let client = APIClient(baseURL: server.url(), queue: queue)
        let method = HTTPMethod(rawValue: answer.method)
        try await client.send(Endpoint<Void>(method, "/x"))
        #expect(try await client.value(for: Endpoint<User?>(method, "/x")) == nil)
        #expect(try await client.value(for: Endpoint<NoContent>(method, "/x")) == NoContent())
        #expect(try await client.value(for: Endpoint<Data>(method, "/x")).isEmpty)
        for name in [
            await error(client, Endpoint<User>(method, "/x")), await error(client, Endpoint<[User]>(method, "/x")),
            await error(client, Endpoint<JSONValue>(method, "/x")),
        ] {
            #expect(name == "noResponseData")
        }
    }

    @Test("the endpoint may have a value for no body, or refuse it whatever the type")
    func emptyBodyRule() async throws {
        let stage = Stage { _, _ in .status(204) }
        let client = client(stage)
        let users = Endpoint.get("/x", as: [User].self).with { $0.emptyBody = .value([]) }
        #expect(try await client.value(for: users).isEmpty)
        #expect(await error(client, .get("/x").with { $0.emptyBody = .failure }) == "noResponseData")
        #expect(await error(client, .get("/x", as: User?.self).with { $0.emptyBody = .failure }) == "noResponseData")
    }

    @Test("a body is read where there is one: optionals too; Void and NoContent do not look at it")
    func bodies() async throws {
        let stage = Stage { request, _ in
            .status(200, body: Data((request.url?.path == "/text" ? "not JSON" : #"{"name":"Ada"}"#).utf8))
        }
        let client = client(stage)
        #expect(try await client.value(for: .get("/x", as: User?.self)) == User(name: "Ada"))
        try await client.send(.get("/text"))
        #expect(try await client.value(for: .get("/text", as: NoContent.self)) == NoContent())
        #expect(await error(client, .get("/text", as: User?.self)) == "decodingFailed")
    }

    @Test("problem details of RFC 9457 come out of the error")
    func problems() async {
        let text = """
            {"type":"https://example.com/probs/out-of-credit","title":"You do not have enough credit.","status":"403",
            "detail":"Your current balance is 30, but that costs 50.","instance":"/account/12345/msgs/abc","balance":30}
            """
        let stage = Stage { request, _ in
            let type = request.url?.path == "/plain" ? "application/json" : "application/Problem+JSON; charset=utf-8"
            return .status(403, headers: ["Content-Type": type], body: Data(text.utf8))
        }
        let client = client(stage)
        let refused = await failure { () async throws(NetworkError) in try await client.send(.get("/x")) }
        let problem = refused?.problem
        #expect(problem?.type == "https://example.com/probs/out-of-credit")
        #expect(problem?.title == "You do not have enough credit.")
        #expect(problem?.status == nil, "a member of the wrong kind is ignored")
        #expect(problem?.detail == "Your current balance is 30, but that costs 50.")
        #expect(problem?.instance == "/account/12345/msgs/abc")
        #expect(problem?.extensions == ["balance": 30])
        let plain = await failure { () async throws(NetworkError) in try await client.send(.get("/plain")) }
        #expect(plain?.problem == nil)
        #expect(plain?.responseValue(as: [String: JSONValue].self)?["balance"] == 30)
        #expect(NetworkError.inaccessible(after: 2, last: refused ?? .cancelled).problem == problem)
        #expect(ProblemDetails([:]).type == "about:blank" && NetworkError.cancelled.problem == nil)
    }
}
