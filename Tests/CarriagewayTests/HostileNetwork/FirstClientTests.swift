import Carriageway
import Foundation
import Testing

/// A whole client in under 40 lines, of what the README shows; and what it comes to, against httpbin.
@Suite(
    "the first client",
    .enabled(if: RealServer.httpbin.isThere, "CARRIAGEWAY_HTTPBIN is not set; .ci/run starts httpbin and sets it"))
struct FirstClientTests {
    struct Account: Codable { var name, token: String }
    struct Echo: Decodable { var json: Account }
    struct Bearer: Decodable { var token: String }

    struct FirstClient {
        let api: APIClient
        let signedIn: APIClient

        init(server: URL, me: Account, storedToken: String) {
            let queue = NetworkQueue { $0.retryPolicy = .fixed(interval: .milliseconds(50), maxRetries: 2) }
            let api = APIClient(baseURL: server, queue: queue)
            let authenticator = BearerTokenAuthenticator(hosts: [server.host ?? ""]) { _ in
                try await api.value(for: .post("/anything", as: Echo.self).sending(me)).json.token
            }
            let authentication = Authentication(authenticator, credential: storedToken)
            self.api = api
            signedIn = APIClient(baseURL: server, queue: NetworkQueue(authentication: authentication))
        }

        func logIn(_ path: String, as me: Account) async throws(NetworkError) -> (token: String, posted: Account) {
            let login = api.operation(for: .post(path, as: Echo.self).sending(me))
            let bearer = api.operation(after: login) {
                .get("/bearer", headers: ["Authorization": "Bearer \($0.value.json.token)"], as: Bearer.self)
            }
            let post = api.operation(for: .post("/anything", as: Echo.self).sending(me))
            post.addDependency(login)
            api.queue.addOperations([post, bearer, login], waitUntilFinished: false)
            return (try await bearer.value.token, try await post.value.json)
        }

        func fetch(_ path: String, to file: URL) async throws(NetworkError) -> URL? {
            try await api.download(.get(path), to: file).fileURL
        }
    }

    private let me = Account(name: "ada", token: "t0")

    private func client(storedToken: String = "") -> FirstClient {
        FirstClient(server: RealServer.httpbin.url(""), me: me, storedToken: storedToken)
    }

    @Test("two requests depend on a login, and are not sent if it fails")
    func login() async throws {
        let client = client()
        let (token, posted) = try await client.logIn("/anything", as: me)
        #expect(token == "t0" && posted.name == "ada")
        let (sent, finished) = (Counter(), Counter())
        let observation = client.api.queue.addObserver { event in
            if case .onWire = event.kind { sent.increment() }
            if case .finished = event.kind { finished.increment() }
        }
        let error = await failure { () async throws(NetworkError) in try await client.logIn("/status/403", as: me) }
        guard case .dependencyFailed(let cause as NetworkError) = error else { throw try #require(error) }
        #expect(cause.response?.statusCode == 403)
        await finished.wait(for: 3)
        #expect(sent.value == 1)
        observation.cancel()
    }

    @Test("a token is fetched before the first request, and again when the server answers 401")
    func renewal() async throws {
        #expect(try await client().signedIn.value(for: .get("/bearer", as: Bearer.self)).token == "t0")
        // httpbin takes no token here, so two new ones are tried.
        let signedIn = client(storedToken: "expired").signedIn
        let operation = signedIn.operation(for: .get("/status/401"))
        signedIn.queue.addOperation(operation)
        #expect(await failure { () async throws(NetworkError) in try await operation.value } != nil)
        #expect(operation.attempts.count == 3)
    }

    @Test("503 is tried three times; a download is in its file")
    func retryAndDownload() async throws {
        let client = client()
        let error = await failure { () async throws(NetworkError) in try await client.api.send(.get("/status/503")) }
        guard case .inaccessible(after: 3, _) = error else { throw try #require(error) }
        let folder = try TemporaryFolder()
        let file = try #require(try await client.fetch("/bytes/100000", to: folder.url.appendingPathComponent("bytes")))
        #expect(try Data(contentsOf: file).count == 100_000)
    }
}
