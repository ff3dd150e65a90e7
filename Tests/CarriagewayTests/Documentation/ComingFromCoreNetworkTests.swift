import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The right sides of "Coming from CoreNetwork".
struct ComingFromCoreNetworkTests {
    private struct User: Codable, Sendable, Equatable { var name: String }

    private let stub = StubTransport()
    private let user = User(name: "Ada")

    private func queue(_ configure: (inout NetworkQueue.Configuration) -> Void = { _ in }) -> NetworkQueue {
        NetworkQueue(session: NetworkSession(stub: stub), configure: configure)
    }

    private func client(_ queue: NetworkQueue) -> APIClient {
        APIClient(host: "api.example.com", queue: queue)
    }

    @Test("parity: APIClient(host:), client.send(.GET(path:)); https by default")
    func sending() async throws {
        stub.on(.get, "/users/1", .json(user))
        stub.on(.post, "/users", .status(201))
        #expect(try APIClient(host: "api.example.com").request(for: .get("/")).url?.scheme == "https")
        let client = client(queue())
        let value = try await client.value(for: .get("/users/1", as: User.self))
        try await client.send(.post("/users").sending(user))
        let slashless = try await client.value(for: .get("users/1", as: User.self))
        #expect(value == user && slashless == user)
        let urls = stub.requests.compactMap(\.url?.absoluteString)
        #expect(urls == ["/users/1", "/users", "/users/1"].map { "https://api.example.com\($0)" })
        #expect(stub.requests[1].httpBody == Data(#"{"name":"Ada"}"#.utf8))
    }

    @Test("parity: willSendRequest changes the request, didReceiveInvalidResponse answers in its stead")
    func delegate() async throws {
        stub.on("/private", .status(403))
        let queue = queue {
            $0.prepare = { request in
                request.setValue("1", forHTTPHeaderField: "X-Seen")
            }
        }
        var client = client(queue)
        client.recover = { refused in
            refused.http.statusCode == 403 ? refused.answer(Data(#"{"name":"guest"}"#.utf8)) : nil
        }
        #expect(try await client.value(for: .get("/private", as: User.self)) == User(name: "guest"))
        #expect(stub.requests.map { $0.value(forHTTPHeaderField: "X-Seen") } == ["1"])
    }

    @Test("parity: badURL, badData, badRequest, noHTTPResponse, unacceptableStatusCode, each described")
    func errors() async throws {
        stub.on("/text", .text("no JSON"))
        stub.on("/missing", .status(404))
        let client = client(queue())
        func error(_ endpoint: Endpoint<User>) async -> NetworkError? {
            await failure { () async throws(NetworkError) in try await client.send(endpoint) }
        }
        guard case NetworkError.invalidRequest? = await error(.get("/a?b")) else { throw Unlike() }
        guard case NetworkError.decodingFailed? = await error(.get("/text")) else { throw Unlike() }
        let unencodable = Endpoint.post("/x", as: User.self).sending([Double.nan])
        guard case NetworkError.generalError? = await error(unencodable) else { throw Unlike() }
        guard case NetworkError.endpointError? = await error(.get("/missing")) else { throw Unlike() }
        let url = try #require(URL(string: "https://a.test/x"))
        let other = URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
        let noHTTP = NetworkError.invalidResponseType(other)
        #expect(noHTTP.description.contains("not an HTTP response"))
        #expect(await error(.get("/missing"))?.description.contains("404") == true)
    }

    private struct Unlike: Error {}

    @Test("parity: untyped JSON")
    func json() throws {
        let json = try JSONValue(parsing: #"{"user":{"name":"Ada"}}"#)
        let name = json["user"]["name"].string
        #expect(name == "Ada")
    }
}
