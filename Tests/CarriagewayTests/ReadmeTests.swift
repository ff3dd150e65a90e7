import Carriageway
import CarriagewayTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The examples of the README, as they stand there; `PagesTests` compares them.
struct ReadmeTests {
    private struct User: Codable { let name: String }
    private struct Token: Codable { let value: String }

    private actor TokenStore {
        private(set) var value = "none"

        func set(_ data: Data) { value = String(decoding: data, as: UTF8.self) }
    }

    private let server: LoopbackServer
    private var userURL: URL { server.url("/user") }
    private var postRequest: URLRequest {
        var request = URLRequest(url: server.url("/posts"))
        request.httpMethod = "POST"
        return request
    }

    init() throws {
        server = try LoopbackServer()
        server.on("/user", .json(User(name: "Ada")))
        server.on("/login", .json(Token(value: "secret")))
        server.on("/token", .text("fresh"))
        server.on("/posts") { .data($0.body) }
        server.on("/profile") { .text($0.header("Authorization") ?? "none") }
    }

    @Test("a client")
    func client() async throws {
        server.on("/users/1", .json(User(name: "Ada")), .empty(204))
        server.on("POST", "/users") { .data($0.body, contentType: "application/json", status: 201) }
        server.on("GET", "/users", .json([User(name: "Ada & Co")]))
        do {
            let client = APIClient(baseURL: "https://api.example.com/v1")
            let request = try client.request(for: .get("/users/1"))
            #expect(request.url?.absoluteString == "https://api.example.com/v1/users/1")
        }
        let client = APIClient(baseURL: server.url())
        let user = try await client.value(for: .get("/users/1", as: User.self))
        let created = try await client.send(.post("/users", as: User.self).sending(user))  // as JSON
        print(created.value, created.statusCode, created.header("Location") ?? "")
        #expect(created.value.name == "Ada" && created.statusCode == 201)
        let found = try await client.value(
            for: .get("/users", query: [URLQueryItem(name: "name", value: "Ada & Co")], as: [User].self))
        #expect(found.map(\.name) == ["Ada & Co"])
        try await client.send(.delete("/users/1"))  // no type: the body is not read
        #expect(server.requests.map(\.method) == ["GET", "POST", "GET", "DELETE"])
    }

    @Test("a client's operations")
    func clientOperations() async throws {
        server.on("/profile") { .json(User(name: $0.header("Authorization") ?? "none")) }
        let (client, password) = (APIClient(baseURL: server.url()), "lovelace")
        let login = client.operation(
            for: .post("/login", as: Token.self).sending(["name": "ada", "password": password]))
        let profile = client.operation(after: login) {
            .get("/profile", headers: ["Authorization": "Bearer \($0.value.value)"], as: User.self)
        }
        client.queue.addOperations([profile, login], waitUntilFinished: false)
        let user = try await profile.value
        #expect(user.name == "Bearer secret")
    }

    private func makeQueue() -> NetworkQueue {
        let queue = NetworkQueue(session: NetworkSession(configuration: .ephemeral)) {
            $0.maxConcurrentRequests = 64  // on the wire at once
            $0.maxConcurrentRequestsPerHost = 6
            $0.retryPolicy = .default  // three retries, exponential with full jitter
            $0.timeout = .seconds(60)  // of the whole operation, waits included
        }
        return queue
    }

    @Test("bodies, files, streams")
    func files() async throws {
        let queue = makeQueue()
        let temporary = try TemporaryFolder()
        let folder = temporary.url
        let photoURL = try temporary.file("photo.jpg", Data("JPEG".utf8))
        let fileURL = server.url("/user")
        let (logURL, eventsURL) = (server.url("/log"), server.url("/events"))
        server.on("/upload", .text("thanks"))
        server.on("/log", .text("one\ntwo\n"))
        server.on("/events", .data(Data("retry: 1\ndata: x\n\n".utf8), contentType: "text/event-stream"), .empty(204))
        var uploadRequest = URLRequest(url: server.url("/upload"))
        uploadRequest.httpMethod = "POST"

        var form = MultipartForm()
        form.append(name: "title", value: "Holiday")
        form.append(name: "photo", file: photoURL)
        let posted = try await queue.response(for: uploadRequest, body: .multipart(form))
        #expect(posted.statusCode == 200)

        let saved = try await queue.download(URLRequest(url: fileURL), to: folder.appendingPathComponent("file.bin"))
        print(saved.statusCode, saved.fileURL?.path ?? "")  // saved.data is empty
        #expect(saved.description == "NetworkResponse(status 200, file file.bin, 1 attempt)")

        for try await line in queue.bytes(for: URLRequest(url: logURL)).lines { print(line) }
        for try await event in queue.events(for: URLRequest(url: eventsURL)) { print(event.data) }
        #expect(server.requests(to: "/log").count == 1 && server.requests(to: "/events").count == 2)
    }

    @Test("async/await, completion handlers")
    func sending() async throws {
        let queue = makeQueue()
        let user = try await queue.value(for: URLRequest(url: userURL), as: User.self)
        let created = try await queue.response(for: postRequest, body: .json(user))  // .form, .file, .multipart, …
        #expect(user.name == "Ada" && created.data == Data(#"{"name":"Ada"}"#.utf8))

        let operation = queue.send(URLRequest(url: userURL), decoding: User.self) { result in
            print(result)
        }
        operation.queuePriority = .high
        #expect(try await operation.response.statusCode == 200)
    }

    @Test("errors")
    func errors() async throws {
        let missingURL = server.url("/missing")
        server.on("/missing", .text("gone", status: 404), .text("busy", status: 503))
        let queue = NetworkQueue { $0.retryPolicy = .fixed(interval: .zero, maxRetries: 2) }
        for _ in 0..<2 {
            do {
                print(try await queue.response(for: URLRequest(url: missingURL)))
            } catch .endpointError(let response, let body) {
                print(response.statusCode, body.count)
                #expect(response.statusCode == 404 && body == Data("gone".utf8))
            } catch .inaccessible(let attempts, let last) {  // retried, in vain
                print(attempts, last)
                #expect(attempts == 3 && last.response?.statusCode == 503)
            } catch {
                print(error, error.response?.statusCode ?? 0)
                Issue.record(error)
            }
        }
        #expect(server.requests.count == 4)
    }

    @Test("operations with dependencies")
    func dependencies() async throws {
        let queue = makeQueue()
        let loginRequest = URLRequest(url: server.url("/login"))
        let profileURL = server.url("/profile")
        let login = NetworkOperation(loginRequest)
        let profile = NetworkOperation(after: login) { response in
            let token = try response.decoded(as: Token.self)
            var request = URLRequest(url: profileURL)
            request.setValue("Bearer \(token.value)", forHTTPHeaderField: "Authorization")
            return request
        }
        let visit = NetworkOperation(postRequest, body: .json(["page": "home"]))
        visit.addDependency(login)
        queue.addOperations([visit, profile, login], waitUntilFinished: false)  // in any order
        let response = try await profile.response
        #expect(response.data == Data("Bearer secret".utf8))
        #expect(try await visit.response.data == Data(#"{"page":"home"}"#.utf8))
        #expect(server.requests.first?.path == "/login")
    }

    @Test("dependencies that fail")
    func failedDependencies() async throws {
        let queue = makeQueue()
        server.on("/login", .status(403))
        let login = NetworkOperation(URLRequest(url: server.url("/login")))
        let profile = NetworkOperation(after: login) { _ in URLRequest(url: URL(fileURLWithPath: "/")) }
        let visit = NetworkOperation(postRequest, body: .json(["page": "home"]))
        visit.addDependency(login)
        queue.addOperations([visit, profile, login], waitUntilFinished: false)
        for operation in [profile, visit] {
            do {
                _ = try await operation.response
                Issue.record("it was sent")
            } catch .dependencyFailed(let cause) {
                #expect((cause as? NetworkError)?.response?.statusCode == 403)
            } catch {
                Issue.record(error)
            }
        }
        #expect(server.requests.map(\.path) == ["/login"])
    }

    @Test("bearer tokens that a closure gets")
    func bearerTokens() async throws {
        let (apiHost, tokenRequest) = ("127.0.0.1", URLRequest(url: server.url("/login")))
        server.on("/login", .json(Token(value: "old")), .json(Token(value: "new")))
        server.on("/user") { request in
            request.header("Authorization") == "Bearer new" ? .json(User(name: "Ada")) : .status(401)
        }
        let authenticator = BearerTokenAuthenticator(hosts: [apiHost]) { session in  // "api.example.com"
            try await session.response(for: tokenRequest).decoded(as: Token.self).value
        }
        let authentication = Authentication(authenticator, credential: "")  // "": fetched before the first request
        let queue = NetworkQueue(authentication: authentication)
        let user = try await queue.value(for: URLRequest(url: userURL), as: User.self)
        #expect(user.name == "Ada")
        #expect(server.requests.map(\.path) == ["/login", "/user", "/login", "/user"])
    }

    @Test("tokens that are renewed")
    func tokens() async throws {
        actor Store {
            private(set) var credential: OAuth2Credential?

            func save(_ credential: OAuth2Credential) { self.credential = credential }
        }
        server.on("/oauth", .json(["access_token": "new", "refresh_token": "next"]))
        server.on("/user") { request in
            request.header("Authorization") == "Bearer new" ? .json(User(name: "Ada")) : .status(401)
        }
        let (session, store, apiHost, secret) = (NetworkSession(), Store(), "127.0.0.1", "s3cret")
        let tokenURL = server.url("/oauth")
        let stored = OAuth2Credential(accessToken: "old", refreshToken: "last")
        let authenticator = OAuth2Authenticator(
            tokenURL: tokenURL, clientID: "app", clientSecret: secret, hosts: [apiHost])
        let authentication = Authentication(authenticator, credential: stored)  // Codable
        authentication.onCredentialChange = { await store.save($0) }  // before it is used
        authentication.onSignedOut = { error in print("log in again: \(error)") }
        let queue = NetworkQueue(session: session, authentication: authentication)
        let user = try await queue.value(for: URLRequest(url: userURL), as: User.self)
        #expect(user.name == "Ada")
        #expect(await store.credential?.refreshToken == "next")
        #expect(server.requests.map(\.path) == ["/user", "/oauth", "/user"])
    }

    @Test("pausing the queue while a token is fetched")
    func pausing() async throws {
        let session = NetworkSession()
        let tokenRequest = URLRequest(url: server.url("/token"))
        let token = TokenStore()
        let queue = NetworkQueue(session: session) {
            $0.prepare = { request in
                request.setValue("Bearer \(await token.value)", forHTTPHeaderField: "Authorization")
            }
        }
        queue.isSuspended = true
        let waiting = queue.send(URLRequest(url: server.url("/profile")))
        await token.set(try await queue.session.data(for: tokenRequest))  // past the queue
        queue.isSuspended = false
        #expect(try await waiting.response.data == Data("Bearer fresh".utf8))
    }

    @Test("deciding about retries")
    func deciding() async throws {
        final class Patient: NetworkOperation, @unchecked Sendable {
            override func shouldRetry(after error: NetworkError) -> Bool {
                error.response?.statusCode == 404 || super.shouldRetry(after: error)
            }
        }
        let queue = makeQueue()
        let operation = Patient(URLRequest(url: userURL))
        operation.retryPolicy = .fixed(interval: .milliseconds(500), maxRetries: 10)
        queue.addOperation(operation)
        #expect(try await operation.response.statusCode == 200)
    }

    #if os(Linux)
        @Test("libcurl in place of URLSession")
        func transport() async throws {
            let session = NetworkSession(transport: .curl)  // Linux only; .urlSession is the usual
            #expect(try await session.response(for: URLRequest(url: userURL)).statusCode == 200)
            #expect(NetworkSession.TransportKind.curl.unavailability == nil)
        }
    #endif

    @Test("watching")
    func watching() async throws {
        let session = NetworkSession(configuration: .ephemeral)
        let queue = NetworkQueue(session: session) {
            $0.observers = [LogObserver(to: .standardError)]
        }
        let observation = queue.addObserver { event in
            if case .retry(let delay, let error) = event.kind { print(event.url, delay, error) }
        }
        observation.cancel()
        let response = try await queue.response(for: URLRequest(url: userURL))
        print(response.request.curlCommand)  // the request for a shell, masked too
        print(response.attempts.map { $0.timing?.firstByte })
        #expect(response.request.curlCommand == "curl --url '\(userURL.absoluteString)'")
    }

    @Test("sparing a server")
    func sparing() async throws {
        let session = NetworkSession(configuration: .ephemeral)
        let queue = NetworkQueue(session: session) {
            $0.rateLimit = RateLimit(requestsPerSecond: 50, burst: 10)
            $0.rateLimitPerHost = RateLimit(requestsPerSecond: 10, burst: 5)
            $0.circuitBreaker = CircuitBreaker(failures: 5, coolDown: .seconds(30))
            $0.retriesEarly = true
        }
        #expect(try await queue.response(for: URLRequest(url: userURL)).statusCode == 200)
    }

    @Test("testing your client")
    func testing() async throws {
        let queue = makeQueue()
        let server = try LoopbackServer()
        server.on("/flaky", .status(503), .reset, .text("third time lucky"))
        let data = try await queue.data(for: URLRequest(url: server.url("/flaky")))
        #expect(data == Data("third time lucky".utf8))
    }
}
