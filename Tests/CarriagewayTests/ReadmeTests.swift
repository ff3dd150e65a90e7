import Carriageway
import CarriagewayTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The examples of the README, as they stand there.
struct ReadmeTests {
    private struct User: Codable { let name: String }
    private struct Token: Codable { let value: String }

    private actor TokenStore {
        private(set) var value = "none"

        func set(_ data: Data) { value = String(decoding: data, as: UTF8.self) }
    }

    private final class Patient: NetworkOperation, @unchecked Sendable {
        override func shouldRetry(after error: NetworkError) -> Bool {
            error.response?.statusCode == 404 || super.shouldRetry(after: error)
        }
    }

    private let server: LoopbackServer
    private var userURL: URL { server.url("/user") }

    init() throws {
        server = try LoopbackServer()
        server.on("/user", .json(User(name: "Ada")))
        server.on("/login", .json(Token(value: "secret")))
        server.on("/token", .text("fresh"))
        server.on("/profile") { .text($0.header("Authorization") ?? "none") }
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
        let folder = try TemporaryFolder()
        let photoURL = try folder.file("photo.jpg", Data("JPEG".utf8))
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

        let saved = try await queue.download(
            URLRequest(url: fileURL), to: folder.url.appendingPathComponent("file.bin"))
        #expect(saved.fileURL?.lastPathComponent == "file.bin")

        var lines: [String] = []
        for try await line in queue.bytes(for: URLRequest(url: logURL)).lines { lines.append(line) }
        #expect(lines == ["one", "two"])
        for try await event in queue.events(for: URLRequest(url: eventsURL)) { #expect(event.data == "x") }
    }

    @Test("async/await, completion handlers")
    func sending() async throws {
        let queue = makeQueue()
        let user = try await queue.value(for: URLRequest(url: userURL), as: User.self)
        #expect(user.name == "Ada")
        let name = await withCheckedContinuation { continuation in
            let operation = queue.send(URLRequest(url: userURL), decoding: User.self) { result in
                continuation.resume(returning: try? result.get().name)
            }
            operation.queuePriority = .high
        }
        #expect(name == "Ada")
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
        queue.addOperations([profile, login], waitUntilFinished: false)  // in any order
        let response = try await profile.response
        #expect(response.data == Data("Bearer secret".utf8))
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
            tokenURL: tokenURL, clientID: "app", clientSecret: secret, hosts: [apiHost])  // "api.example.com"
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
        let queue = makeQueue()
        let operation = Patient(URLRequest(url: userURL))
        operation.retryPolicy = .fixed(interval: .milliseconds(500), maxRetries: 10)
        queue.addOperation(operation)
        #expect(try await operation.response.statusCode == 200)
    }

    #if os(Linux)
        @Test("libcurl in place of URLSession")
        func transport() async throws {
            let session = NetworkSession(transport: .curl)
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
