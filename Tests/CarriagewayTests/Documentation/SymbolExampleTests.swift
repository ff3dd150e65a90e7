import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The examples in the comments of Carriageway's public symbols, as they stand there; `PagesTests` compares them.
struct SymbolExampleTests {
    private struct User: Codable, Sendable, Equatable { var name: String }
    private struct Token: Codable, Sendable {
        var value: String
        var userID: Int
    }

    private struct Storage: Sendable {
        func put(_ file: URL) async throws -> String { "receipt of \(file.lastPathComponent)" }
    }

    private let stub = StubTransport()
    private let session: NetworkSession
    private let queue: NetworkQueue
    private let client: APIClient
    private let request = URLRequest(url: URL(fileURLWithPath: "/")).with("https://api.example.com/users/1")
    private let loginRequest = URLRequest(url: URL(fileURLWithPath: "/")).with("https://api.example.com/login")
    private let newUser = User(name: "Grace")

    init() {
        session = NetworkSession(stub: stub)
        queue = NetworkQueue(session: session) { $0.retryPolicy = .never }
        client = APIClient(baseURL: "https://api.example.com", queue: queue)
        stub.on("/users/1", .json(User(name: "Ada")))
        stub.on("/users/7", .json(User(name: "Grace")))
        stub.on("/login", .json(Token(value: "secret", userID: 7)))
        stub.on("/users", .status(201, headers: ["Location": "/users/2"], body: Data(#"{"name":"Grace"}"#.utf8)))
    }

    @Test("queues: slots, retry, rates, a breaker, redirects, masks, a log")
    func queues() async throws {
        do {
            let queue = NetworkQueue(session: session) {
                $0.maxConcurrentRequests = 16
                $0.retryPolicy = .default
            }
            #expect(queue.configuration.maxConcurrentRequests == 16)
        }
        do {
            let queue = NetworkQueue(session: session) {
                $0.rateLimit = RateLimit(requestsPerSecond: 50, burst: 10)
                $0.rateLimitPerHost = RateLimit(requestsPerSecond: 10, burst: 5)
            }
            #expect(queue.configuration.rateLimit != nil && queue.configuration.rateLimitPerHost != nil)
        }
        do {
            let queue = NetworkQueue(session: session) {
                $0.circuitBreaker = CircuitBreaker(
                    failures: 5, coolDown: .seconds(30))
            }
            #expect(queue.configuration.circuitBreaker != nil)
        }
        do {
            let queue = NetworkQueue(session: session) {
                $0.secretMask.queryNames.insert("customer")
            }
            #expect(queue.configuration.secretMask.queryNames.contains("customer"))
        }
        do {
            let queue = NetworkQueue(session: session) {
                $0.observers = [LogObserver(to: .standardError)]
            }
            #expect(queue.configuration.observers.count == 1)
        }
        let operation = NetworkOperation(request)
        do {
            let queue = NetworkQueue(session: session) {
                $0.redirects = .refuse
            }
            operation.redirects = .custom { response, request in
                request.url?.host == "cdn.example.com" ? request : nil
            }
            queue.addOperation(operation)
        }
        #expect(try await operation.response.statusCode == 200)
    }

    @Test("a credential, bearer tokens, OAuth 2")
    func credentials() async throws {
        let (token, tokenURL) = ("old", URL(fileURLWithPath: "/"))
        let (secret, stored) = ("s3cret", "refresh")
        do {
            let authenticator = BearerTokenAuthenticator(
                hosts: ["api.example.com"]
            ) { session in
                try await session.response(for: loginRequest)
                    .decoded(as: Token.self).value
            }
            let authentication = Authentication(authenticator, credential: "")
            let signedIn = NetworkQueue(session: session, authentication: authentication)
            _ = try await signedIn.data(for: request)
            #expect(authentication.credential == "secret")
        }
        do {
            let authenticator = APIKeyAuthenticator(hosts: ["api.example.com"])
            let authentication = Authentication(
                authenticator, credential: token)
            let queue = NetworkQueue(authentication: authentication)
            #expect(queue.session === NetworkSession.shared && authentication.credential == "old")
        }
        let authenticator = OAuth2Authenticator(
            tokenURL: tokenURL, clientID: "app", clientSecret: secret,
            hosts: ["api.example.com"])
        let authentication = Authentication(
            authenticator, credential: OAuth2Credential(refreshToken: stored))
        let queue = NetworkQueue(authentication: authentication)
        #expect(queue.session === NetworkSession.shared && authentication.credential?.refreshToken == "refresh")
    }

    @Test("operations that depend on each other")
    func operations() async throws {
        let profileURL = try #require(request.url)
        let login = NetworkOperation(loginRequest)
        let profile = NetworkOperation(after: login) { response in
            let token = try response.decoded(as: Token.self).value
            var request = URLRequest(url: profileURL)
            request.setValue(
                "Bearer \(token)", forHTTPHeaderField: "Authorization")
            return request
        }
        queue.addOperations([profile, login], waitUntilFinished: false)
        let response = try await profile.response
        #expect(response.request.value(forHTTPHeaderField: "Authorization") == "Bearer secret")
    }

    @Test("a client's operations that depend on each other")
    func clientOperations() async throws {
        let credentials = ["name": "ada"]
        let login = client.operation(
            for: .post("/login", as: Token.self).sending(credentials))
        let profile = client.operation(after: login) {
            .get("/users/\($0.value.userID)", as: User.self)
        }
        let both = [profile, login]
        client.queue.addOperations(both, waitUntilFinished: false)
        let user = try await profile.value
        #expect(user == User(name: "Grace"))
    }

    @Test("work of another kind")
    func work() async throws {
        let (storage, file, reportRequest) = (Storage(), URL(fileURLWithPath: "/file"), request)
        let host = "storage.example.com"
        let upload = RetryingOperation(host: host) { attempt in
            try await storage.put(file)  // a library of somebody else's
        }
        upload.retryPolicy = .fixed(interval: .seconds(2), maxRetries: 5)
        let report = NetworkOperation(after: upload) { _ in reportRequest }
        queue.addOperations([report, upload], waitUntilFinished: false)
        let receipt = try await upload.value
        #expect(receipt == "receipt of file")
        #expect(try await report.response.statusCode == 200)
    }

    @Test("trust by host")
    func trust() {
        let (oldKey, nextKey) = (Data(repeating: 1, count: 32), Data(repeating: 2, count: 32))
        let trust = ServerTrust.pinnedPublicKeys([oldKey, nextKey])
        let session = NetworkSession(
            configuration: .ephemeral,
            serverTrust: .byHost(["api.example.com": trust]))
        #expect(!session.isInvalidated && trust != .system)
    }

    @Test("observers, events, commands for curl")
    func observing() async throws {
        let observation = queue.addObserver { event in
            if case .retry(let delay, let error) = event.kind {
                print(event.url, delay, error)
            }
        }
        observation.cancel()
        let reader = Task { [queue] in
            for await event in queue.events { print(event) }
        }
        let response = try await queue.response(for: request)
        print(response.request.curlCommand)
        // With all its secrets:
        print(request.curlCommand(masking: .none, showsBody: true))
        #expect(response.request.curlCommand == "curl --url 'https://api.example.com/users/1'")
        reader.cancel()
        await reader.value
    }

    @Test("bodies in pieces, lines and values; events of a server")
    func streams() async throws {
        for try await chunk in queue.bytes(for: request) {
            print(chunk.count)
        }
        for try await line in queue.bytes(for: request).lines {
            print(line)
        }
        let users = queue.bytes(for: request).jsonLines(as: User.self)
        for try await user in users {
            print(user.name)
            #expect(user == User(name: "Ada"))
        }
        #expect(stub.requests.count == 3)
        let server = try LoopbackServer()
        server.on("/events", .data(Data("data: x\n\n".utf8), contentType: "text/event-stream"), .empty(204))
        do {
            let (queue, request) = (NetworkQueue(), URLRequest(url: server.url("/events")))
            for try await event in queue.events(for: request) {
                print(event.event, event.data)
            }
        }
        #expect(server.requests.count == 2)
    }

    @Test("a client, endpoints")
    func endpoints() async throws {
        let id = 1
        do {
            let user = Endpoint.get("/users/\(id)", as: User.self)
            let named = [URLQueryItem(name: "name", value: "Ada & Co")]
            let search = Endpoint.get("/users", query: named, as: [User].self)
            let create = Endpoint.post("/users", as: User.self).sending(newUser)
            let remove = Endpoint.delete("/users/\(id)")

            let ada = try await client.value(for: user)
            #expect(ada.name == "Ada" && create.method == .post && remove.method == .delete)
            #expect(try client.request(for: search).url?.query == "name=Ada%20%26%20Co")
        }
        do {
            var client = APIClient(baseURL: "https://api.example.com/v1")
            client.headers["Accept-Language"] = "de"
            let request = try client.request(for: .get("/users/1"))
            #expect(request.url?.absoluteString == "https://api.example.com/v1/users/1")
            #expect(request.value(forHTTPHeaderField: "Accept-Language") == "de")
        }
        let user = try await client.value(
            for: .get("/users/1", as: User.self))
        let created = try await client.send(
            .post("/users", as: User.self).sending(newUser))
        print(created.value, created.statusCode)
        print(created.header("Location") ?? "")
        #expect(user.name == "Ada" && created.value == newUser && created.header("Location") == "/users/2")
    }

    @Test("JSON of any shape, problems, validation")
    func json() async throws {
        stub.on(
            "/orders", .status(201),
            .status(
                422, headers: ["Content-Type": "application/problem+json"], body: Data(#"{"detail":"no stock"}"#.utf8)))
        let response = try await queue.response(for: request)
        let json = try response.json()
        let city = json["user"]["addresses"][0]["city"].string
        #expect(city == nil && json["name"].string == "Ada")

        let order: JSONValue = [
            "id": JSONValue(UInt64.max), "note": nil,
            "lines": [["sku": "A-1", "count": 2]],
        ]
        try await client.send(.post("/orders").sending(order))
        let body = try #require(stub.requests.last?.httpBody)
        #expect(try JSONValue(parsing: body) == order)

        var shown: [String] = []
        func show(_ text: String) { shown.append(text) }
        do {
            try await client.send(.post("/orders").sending(order))
        } catch {
            show(error.problem?.detail ?? error.localizedDescription)
        }
        #expect(shown == ["no stock"])

        let operation = NetworkOperation(request)
        operation.validation = .default.contentTypes("application/json")
        operation.validation = .statuses(200..<300)
        operation.validation = .none
        queue.addOperation(operation)
        #expect(try await operation.response.statusCode == 200)
    }

    @Test("bodies")
    func bodies() async throws {
        let folder = try TemporaryFolder()
        let user = newUser
        let (videoURL, photoURL) = (try folder.file("video", Data("v".utf8)), try folder.file("photo", Data("p".utf8)))
        stub.on("/upload", .status(200))
        var request = loginRequest.with("https://api.example.com/upload")
        request.httpMethod = "POST"
        queue.send(request, body: .json(user)) { result in }
        queue.send(request, body: .file(videoURL)) { result in }

        var form = MultipartForm()
        form.append(name: "title", value: "Holiday")
        form.append(name: "photo", file: photoURL)
        let response = try await queue.response(
            for: request, body: .multipart(form))
        #expect(response.statusCode == 200)
        await queue.drained()
        #expect(stub.requests.count == 3)
    }
}

extension URLRequest {
    /// The same for another URL.
    fileprivate func with(_ url: String) -> URLRequest {
        var copy = self
        copy.url = URL(string: url)
        return copy
    }
}
