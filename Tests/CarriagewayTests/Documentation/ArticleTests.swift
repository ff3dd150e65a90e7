import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The examples of the articles, as they stand there; `PagesTests` compares them.
struct ArticleTests {
    private struct User: Codable, Sendable, Equatable { var name: String }
    private struct Token: Codable, Sendable {
        var value: String
        var user: Int
    }
    private struct Busy: Error {}

    private actor Tokens {
        private(set) var current = "none"

        func set(_ data: Data) { current = String(decoding: data, as: UTF8.self) }
    }

    private struct KeyAuthenticator: Authenticator {
        let host: String
        var hosts: Set<String> { [host] }

        func apply(_ credential: String, to request: inout URLRequest) {
            request.setValue(credential, forHTTPHeaderField: "X-Key")
        }

        func refresh(_ credential: String, over session: NetworkSession) async throws -> String { "new" }
    }

    private let server: LoopbackServer
    private let folder: TemporaryFolder
    private let session = NetworkSession(configuration: .ephemeral)
    private let queue: NetworkQueue
    private let client: APIClient
    private var baseURL: URL { server.url() }

    init() throws {
        server = try LoopbackServer()
        folder = try TemporaryFolder()
        queue = NetworkQueue(session: session) { $0.retryPolicy = .never }
        client = APIClient(baseURL: server.url(), queue: queue)
        server.on("/users/1", .json(User(name: "Ada")))
        server.on("/users/7", .json(User(name: "Grace")))
        server.on("/profile") { .text($0.header("Authorization") ?? "none") }
        server.on("/login", .json(Token(value: "secret", user: 7)))
        server.on("/token", .text("fresh"))
    }

    @Test("the first page")
    func firstPage() async throws {
        let client = APIClient(baseURL: baseURL)
        let user = try await client.value(for: .get("/users/1", as: User.self))
        #expect(user.name == "Ada")
    }

    @Test("Getting started")
    func gettingStarted() async throws {
        server.on("POST", "/users", .json(User(name: "Grace"), status: 201).header("Location", "/users/2"))
        server.on("/search", .json([User(name: "Rock")]))
        server.on("/nobody", .empty(204))
        server.on("DELETE", "/users/1", .empty(204))
        server.on(
            "/orders",
            .data(Data(#"{"detail":"no stock"}"#.utf8), contentType: "application/problem+json", status: 422),
            .empty(409))
        let session = NetworkSession(configuration: .ephemeral)
        let queue = NetworkQueue(session: session) {
            $0.maxConcurrentRequests = 16
            $0.timeout = .seconds(60)
        }
        let client = APIClient(baseURL: baseURL, queue: queue)

        let ada = try await client.value(for: .get("/users/1", as: User.self))
        let created = try await client.send(.post("/users", as: User.self).sending(User(name: "Grace")))
        print(created.value, created.statusCode)
        print(created.header("Location") ?? "none")
        #expect(ada.name == "Ada" && created.statusCode == 201 && created.header("Location") == "/users/2")

        let words = URLQueryItem(name: "q", value: "rock & roll")
        let search = Endpoint.get("/search", query: [words], as: [User].self)
        let file = Endpoint.get("/files/\(PercentEncoding.segment("a/b"))", as: Data.self)
        #expect(try client.request(for: search).url?.absoluteString.hasSuffix("/search?q=rock%20%26%20roll") == true)
        #expect(try client.request(for: file).url?.absoluteString.hasSuffix("/files/a%2Fb") == true)

        let maybe = try await client.value(for: .get("/nobody", as: User?.self))
        try await client.send(.delete("/users/1"))
        #expect(maybe == nil)

        let show = Endpoint.get("/users/1", as: User.self)
        let operation = client.send(show) { result in
            print(result.map(\.value))
        }
        operation.queuePriority = .high
        #expect(try await operation.value == ada)

        for _ in 0..<2 {
            do {
                try await client.send(.post("/orders").sending(["item": "book"]))
            } catch .endpointError(let response, _) where response.statusCode == 409 {
                print("already there")
            } catch {
                print(error.problem?.detail ?? error.localizedDescription)
            }
        }
        #expect(server.requests(to: "/orders").count == 2)

        let json = try await client.value(for: .get("/search", as: JSONValue.self))
        print(json[0]["name"].string ?? "nobody")
        #expect(json[0]["name"] == "Rock")
    }

    @Test("Getting started: a login, and a token that is renewed")
    func gettingStartedWithLogin() async throws {
        let (host, tokenRequest) = ("127.0.0.1", URLRequest(url: server.url("/login")))
        server.on("POST", "/visits", .empty(204))
        server.on("/private") { request in
            request.header("Authorization") == "Bearer secret" ? .json(User(name: "Ada")) : .status(401)
        }
        let login = client.operation(for: .post("/login", as: Token.self))
        let profile = client.operation(after: login) {
            .get("/users/\($0.value.user)", as: User.self)
        }
        let visit = client.operation(for: .post("/visits").sending(["page": 1]))
        visit.addDependency(login)
        let all = [visit, profile, login]
        queue.addOperations(all, waitUntilFinished: false)
        let me = try await profile.value
        #expect(me.name == "Grace")
        #expect(try await visit.response.statusCode == 204)

        let authenticator = BearerTokenAuthenticator(hosts: [host]) { session in
            try await session.response(for: tokenRequest)
                .decoded(as: Token.self).value
        }
        let authentication = Authentication(authenticator, credential: "")
        let signedIn = APIClient(
            baseURL: baseURL,
            queue: NetworkQueue(authentication: authentication))
        let mine = try await signedIn.value(for: .get("/private", as: User.self))
        #expect(mine.name == "Ada")
    }

    @Test("Operations and dependencies")
    func operations() async throws {
        let (loginRequest, profileURL) = (URLRequest(url: server.url("/login")), server.url("/profile"))
        let login = NetworkOperation(loginRequest)
        let profile = NetworkOperation(after: login) { response in
            let token = try response.decoded(as: Token.self)
            var request = URLRequest(url: profileURL)
            request.setValue("Bearer \(token.value)", forHTTPHeaderField: "Authorization")
            return request
        }
        queue.addOperations([profile, login], waitUntilFinished: false)
        let response = try await profile.response
        #expect(response.data == Data("Bearer secret".utf8))

        let token = client.operation(for: .post("/login", as: Token.self))
        let user = client.operation(after: token) { .get("/users/\($0.value.user)", as: User.self) }
        client.queue.addOperations([user, token], waitUntilFinished: false)
        let name = try await user.value.name
        #expect(name == "Grace")
    }

    @Test("Operations and dependencies: joining many, and work of other kinds")
    func joining() async throws {
        server.on("/parts/*", .text("part"))
        let parts = (1...3).map { client.operation(for: .get("/parts/\($0)", as: Data.self)) }
        let joined = BlockOperation { print(parts.compactMap { try? $0.result?.get().data.count }) }
        for part in parts { joined.addDependency(part) }
        client.queue.addOperations(parts + [joined], waitUntilFinished: false)
        await client.queue.drained()
        #expect(joined.isFinished && parts.allSatisfy { (try? $0.result?.get().data.count) == 4 })

        @Sendable func compute(_ attempt: Int) async throws -> Int {
            if attempt < 3 { throw Busy() }
            return 42
        }
        let work = RetryingOperation { attempt in
            try await compute(attempt)
        }
        work.retryPolicy = .fixed(interval: .milliseconds(1), maxRetries: 5)
        queue.addOperation(work)
        let sum = try await work.value
        #expect(sum == 42 && work.attempts.count == 3)
    }

    @Test("Suspending the queue and renewing tokens, by hand")
    func suspending() async throws {
        let tokenRequest = URLRequest(url: server.url("/token"))
        let tokens = Tokens()
        let queue = NetworkQueue(session: session) {
            $0.prepare = { request in
                request.setValue("Bearer \(await tokens.current)", forHTTPHeaderField: "Authorization")
            }
        }
        queue.isSuspended = true
        await tokens.set(try await queue.session.data(for: tokenRequest))
        queue.isSuspended = false
        #expect(try await queue.data(for: URLRequest(url: server.url("/profile"))) == Data("Bearer fresh".utf8))
    }

    @Test("Suspending the queue and renewing tokens, by an authenticator")
    func renewing() async throws {
        let host = "\(baseURL.host ?? ""):\(baseURL.port ?? 0)"
        server.on("/private") { $0.header("X-Key") == "new" ? .json(User(name: "Ada")) : .status(401) }
        server.on("/news") { .text($0.header("X-Key") ?? "no key") }
        let authentication = Authentication(KeyAuthenticator(host: host), credential: "old")
        let queue = NetworkQueue(session: session, authentication: authentication)
        let client = APIClient(baseURL: baseURL, queue: queue)
        let user = try await client.value(for: .get("/private", as: User.self))
        #expect(user.name == "Ada" && authentication.credential == "new")
        let news = Endpoint.get("/news", as: Data.self).with { $0.isAuthenticated = false }
        #expect(try await client.value(for: news) == Data("no key".utf8))
    }

    @Test("What is retried, and why not")
    func retrying() async throws {
        server.on("/x", .status(404))
        let request = URLRequest(url: server.url("/x"))
        do {
            let queue = NetworkQueue(session: session) {
                $0.retryPolicy = .fixed(interval: .milliseconds(500), maxRetries: 10)
            }
            let once = Endpoint.get("/x", as: Data.self).with { $0.retryPolicy = .never }
            let picky = RetryPolicy.custom {
                $0.error.response?.statusCode == 404 ? .retryAfter(.seconds(1)) : .automatic
            }
            #expect(queue.configuration.retryPolicy.maxRetries == 10 && once.retryPolicy?.maxRetries == 0)
            #expect(picky.maxRetries == 3)
        }
        let operation = queue.send(request)
        _ = try? await operation.response
        for attempt in operation.attempts {
            print(attempt.number, attempt.duration, attempt.outcome, attempt.notRetried?.description ?? "")
        }
        #expect(operation.attempts.map(\.notRetried) == [.notTransient])
    }

    @Test("Uploads, downloads and streams")
    func transfers() async throws {
        let photo = folder.url.appendingPathComponent("photo.jpg")
        let target = folder.url.appendingPathComponent("copy.jpg")
        try Data(repeating: 7, count: 1000).write(to: photo)
        server.on("POST", "/photos", .empty(204))
        server.on("PUT", "/photos/1", .empty(204))
        server.on("GET", "/photos/1", .data(Data(repeating: 8, count: 500)))
        server.on("/lines", .text("one\ntwo\n"))
        var form = MultipartForm()
        form.append(name: "title", value: "Holiday")
        form.append(name: "photo", file: photo)
        try await client.send(.post("/photos", body: .multipart(form)))
        try await client.send(.put("/photos/1", body: .file(photo)))
        #expect(server.requests(to: "/photos/1").first?.body.count == 1000)
        do {
            let response = try await client.download(.get("/photos/1"), to: target)
            print(response.fileURL?.path ?? "", response.statusCode)
            #expect(try Data(contentsOf: target).count == 500)
        }
        let request = try client.request(for: .get("/lines"))
        for try await line in queue.bytes(for: request).lines {
            print(line)
        }
        let operation = client.send(.get("/photos/1", as: Data.self)) { _ in }
        let progress = operation.progress
        await operation.finished()
        #expect(progress.isFinished && progress.completedUnitCount == 500)
    }

    @Test("Testing your client: stubs and the clock")
    func stubs() async throws {
        let stub = StubTransport()
        stub.on(.get, "/users/1", .json(User(name: "Ada")))
        stub.on("/flaky", .status(503), .failure(.timedOut), .text("third time lucky"))
        let client = APIClient(
            baseURL: "https://api.example.com", queue: NetworkQueue(session: NetworkSession(stub: stub)))
        let user = try await client.value(for: .get("/users/1", as: User.self))
        #expect(user == User(name: "Ada"))
        #expect(stub.requests.compactMap(\.url?.path) == ["/users/1"])
        #expect(stub.unexpectedRequests.isEmpty)

        let request = try client.request(for: .get("/flaky"))
        let time = VirtualTime()
        let queue = NetworkQueue(session: NetworkSession(stub: stub, time: time, random: 1))
        let operation = queue.send(request)
        await time.waitForTimers(1)
        #expect(time.nextDelay == .seconds(1))
        time.advance(by: .seconds(1))
        await time.waitForTimers(2)
        time.advance(by: .seconds(1))
        #expect(try await operation.response.data == Data("third time lucky".utf8))
    }

    @Test("Testing your client: recorded responses, and real sockets")
    func recorded() async throws {
        let stub = StubTransport()
        let file = folder.url.appendingPathComponent("recorded.json")
        let response = try await queue.response(for: URLRequest(url: server.url("/users/1")))
        try RecordedResponse.write([RecordedResponse(response)], to: file)
        for recorded in try RecordedResponse.read(from: file) { stub.replay(recorded) }
        let replayed = APIClient(host: "elsewhere.test", queue: NetworkQueue(session: NetworkSession(stub: stub)))
        #expect(try await replayed.value(for: .get("/users/1", as: User.self)) == User(name: "Ada"))

        let queue = NetworkQueue(session: session)
        let server = try LoopbackServer()
        server.on("/flaky", .status(503), .reset, .text("third time lucky"))
        let data = try await queue.data(for: URLRequest(url: server.url("/flaky")))
        #expect(data == Data("third time lucky".utf8))
    }

    @Test("Linux: the other transport")
    func transports() async throws {
        let session = NetworkSession(configuration: .ephemeral, transport: .curl)
        #expect(try await session.data(for: URLRequest(url: server.url("/token"))) == Data("fresh".utf8))
    }
}
