import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Servers that ask for name and password.
@Suite(.overEveryWire)
struct ChallengeTests {
    private static let good = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    private static let aladdin = URLCredential(user: "Aladdin", password: "open sesame", persistence: .none)
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        Self.guardRoute(of: server, "/secret", asking: [("WWW-Authenticate", "Basic realm=\"cave\"")])
    }

    private static func guardRoute(of server: LoopbackServer, _ path: String, asking: [(String, String)]) {
        server.on(path) { request in
            guard request.header("Authorization") == good else {
                return LoopbackServer.Response(
                    status: 401, headers: asking.map { (name: $0.0, value: $0.1) }, body: Data("who are you".utf8))
            }
            return .data(request.body.isEmpty ? Data("treasure".utf8) : request.body)
        }
    }

    private func queue(_ credentials: [String: URLCredential]) -> NetworkQueue {
        NetworkQueue(session: Wire.session()) { $0.credentials = credentials }
    }

    private var host: String { "127.0.0.1:\(server.port)" }

    private func expectRefusal(_ error: NetworkError?, sends: Int) {
        guard case .endpointError(let response, let body) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(response.statusCode == 401 && body == Data("who are you".utf8))
        #expect(response.value(forHTTPHeaderField: "WWW-Authenticate")?.contains("Basic") == true)
        #expect(server.requestCount == sends)
    }

    @Test("name and password for the host are sent once it asks, within the same attempt")
    func answered() async throws {
        let response = try await queue([host: Self.aladdin]).response(for: URLRequest(url: server.url("/secret")))
        #expect(response.data == Data("treasure".utf8))
        #expect(response.attempts.count == 1)
        #expect(server.requests.map { $0.header("Authorization") } == [nil, Self.good])
    }

    @Test("C33 without them the answer is the server's 401, once")
    func unanswered() async {
        let queue = queue(["elsewhere.test": Self.aladdin])
        let url = server.url("/secret")
        let error = await failure { () async throws(NetworkError) in try await queue.data(for: URLRequest(url: url)) }
        expectRefusal(error, sends: 1)
    }

    @Test("wrong ones end with the 401: headers and body once, and no third try")
    func wrong() async {
        let wrong = URLCredential(user: "Aladdin", password: "open barley", persistence: .none)
        let queue = queue([host: wrong])
        let url = server.url("/secret")
        let error = await failure { () async throws(NetworkError) in try await queue.data(for: URLRequest(url: url)) }
        expectRefusal(error, sends: 2)
    }

    @Test(
        "several schemes, in one header or in several",
        arguments: [
            ["Bearer realm=\"x, Basic\", Basic realm=\"cave\""], ["Bearer", "Basic realm=\"cave\""],
            ["Basic realm=\"cave\"", "Digest nonce=\"1\", realm=\"r\""], ["Negotiate, basic"], ["BASIC realm=cave"],
        ])
    func schemes(values: [String]) async throws {
        Self.guardRoute(of: server, "/many", asking: values.map { ("WWW-Authenticate", $0) })
        let url = server.url("/many")
        let data = try await queue([host: Self.aladdin]).data(for: URLRequest(url: url))
        #expect(data == Data("treasure".utf8))
        let silent = await failure { () async throws(NetworkError) in
            try await queue([:]).data(for: URLRequest(url: url))
        }
        #expect(silent?.response?.statusCode == 401)
    }

    @Test(
        "what does not ask for Basic is not answered",
        arguments: ["Bearer", "Digest realm=\"Basic\"", "Basically x=1", ""])
    func otherSchemes(value: String) async {
        Self.guardRoute(of: server, "/other", asking: [("WWW-Authenticate", value)])
        let url = server.url("/other")
        let error = await failure { () async throws(NetworkError) in
            try await queue([host: Self.aladdin]).data(for: URLRequest(url: url))
        }
        #expect(error?.response?.statusCode == 401)
        #expect(server.requestCount == 1)
    }

    @Test("a body is sent again; one that is a stream cannot be")
    func bodies() async throws {
        var request = URLRequest(url: server.url("/secret"))
        request.httpMethod = "POST"
        request.httpBody = Data("open".utf8)
        let queue = queue([host: Self.aladdin])
        #expect(try await queue.data(for: request) == Data("open".utf8))
        #expect(server.requests.map(\.body) == [Data("open".utf8), Data("open".utf8)])
        server.resetRecords()
        request.httpBody = nil
        request.httpBodyStream = InputStream(data: Data("open".utf8))
        let streamed = request
        expectRefusal(
            await failure { () async throws(NetworkError) in try await queue.data(for: streamed) }, sends: 1)
    }

    @Test("a header that the caller has set stays, right or wrong")
    func ownHeader() async {
        var request = URLRequest(url: server.url("/secret"))
        request.setValue("Bearer own", forHTTPHeaderField: "Authorization")
        let own = request
        let queue = queue([host: Self.aladdin])
        expectRefusal(await failure { () async throws(NetworkError) in try await queue.data(for: own) }, sends: 1)
        #expect(server.requests.first?.header("Authorization") == "Bearer own")
    }

    @Test("C37 an operation's own go to no other host, those for a host only there")
    func otherHosts() async throws {
        let other = try LoopbackServer()
        Self.guardRoute(of: other, "/secret", asking: [("WWW-Authenticate", "Basic")])
        let target = other.url("/secret").absoluteString
        Self.guardRoute(of: server, "/gate", asking: [("WWW-Authenticate", "Basic")])
        server.on("/away") { _ in .redirect(to: target) }
        let choices: [([String: URLCredential], Bool)] = [
            ([:], false), (["127.0.0.1:\(other.port)": Self.aladdin], true),
        ]
        for (credentials, isLetIn) in choices {
            other.resetRecords()
            let operation = NetworkOperation(URLRequest(url: server.url("/away")))
            operation.credential = URLCredential(user: "own", password: "own", persistence: .none)
            queue(credentials).addOperation(operation)
            await operation.finished()
            #expect((try? operation.result?.get().data) == (isLetIn ? Data("treasure".utf8) : nil))
            #expect(other.requests.map { $0.header("Authorization") } == (isLetIn ? [nil, Self.good] : [nil]))
        }
        let here = NetworkOperation(URLRequest(url: server.url("/gate")), session: Wire.session())
        here.credential = Self.aladdin
        here.start()
        #expect(try await here.response.data == Data("treasure".utf8))
    }

    @Test("C37 what one host was told does not go to the next by a redirect")
    func redirectAfterChallenge() async throws {
        let other = try LoopbackServer()
        other.on("/", .text("end"))
        let target = other.url().absoluteString
        server.on("/gate") { request in
            request.header("Authorization") == Self.good
                ? .redirect(to: target) : .status(401, headers: ["WWW-Authenticate": "Basic"])
        }
        let response = try await queue([host: Self.aladdin]).response(for: URLRequest(url: server.url("/gate")))
        #expect(response.data == Data("end".utf8) && response.redirects.count == 1)
        #expect(other.requests.map { $0.header("Authorization") } == [nil])
    }

    @Test("the session's credential storage is asked, as URLSession asks it")
    func storage() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        let storage = configuration.urlCredentialStorage ?? .shared
        let space = URLProtectionSpace(
            host: "127.0.0.1", port: server.port, protocol: "http", realm: "cave",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let credential = URLCredential(user: "Aladdin", password: "open sesame", persistence: .forSession)
        storage.setDefaultCredential(credential, for: space)
        configuration.urlCredentialStorage = storage
        let session = Wire.session(configuration)
        #expect(try await session.data(for: URLRequest(url: server.url("/secret"))) == Data("treasure".utf8))
    }

    @Test("names and passwords are sent in UTF-8; a name that cannot be sent is not", arguments: ["", "a:b", "a\nb"])
    func encoding(user: String) async throws {
        server.on("/utf8") { request in
            request.header("Authorization") == "Basic dGVzdDoxMjPCow=="
                ? .text("in") : .status(401, headers: ["WWW-Authenticate": "Basic charset=\"UTF-8\""])
        }
        let pound = URLCredential(user: "test", password: "123\u{A3}", persistence: .none)
        #expect(try await queue([host: pound]).data(for: URLRequest(url: server.url("/utf8"))) == Data("in".utf8))
        server.resetRecords()
        let odd = URLCredential(user: user, password: "p", persistence: .none)
        let url = server.url("/secret")
        let error = await failure { () async throws(NetworkError) in
            try await queue([host: odd]).data(for: URLRequest(url: url))
        }
        expectRefusal(error, sends: user.isEmpty ? 2 : 1)
    }

    @Test("name and password in the URL work, and end with the 401 when they are wrong")
    func inURL() async throws {
        let right = "http://Aladdin:open%20sesame@\(host)/secret"
        let wrong = "http://Aladdin:open%20barley@\(host)/secret"
        let session = Wire.session()
        let request = URLRequest(url: try #require(URL(string: right)))
        #expect(try await session.data(for: request) == Data("treasure".utf8))
        let refused = URLRequest(url: try #require(URL(string: wrong)))
        let error = await failure { () async throws(NetworkError) in try await session.data(for: refused) }
        #expect(error?.response?.statusCode == 401)
    }

    @Test("the most exact entry counts")
    func specificity() throws {
        func credential(_ name: String) -> URLCredential {
            URLCredential(user: name, password: "p", persistence: .none)
        }
        let names = ["*.example.com", "*.b.example.com", "a.b.example.com", "a.b.example.com:81"]
        let credentials = ChallengeCredentials(
            byHost: Dictionary(uniqueKeysWithValues: names.map { ($0, credential($0.filter { $0 != ":" })) }))
        let response = Made.response(401, ["WWW-Authenticate": "Basic"])
        for (url, name) in [
            ("http://a.b.example.com:81/", names[3]), ("http://a.b.example.com/", names[2]),
            ("http://c.b.example.com/", names[1]), ("http://c.example.com/", names[0]),
        ] {
            let answer = credentials.answer(to: response, of: Made.request("GET", url), isFirstOrigin: true)
            let token = Data("\(name.filter { $0 != ":" }):p".utf8).base64EncodedString()
            #expect(answer?.value(forHTTPHeaderField: "Authorization") == "Basic \(token)")
        }
        let elsewhere = Made.request("GET", "http://example.com/")
        #expect(credentials.answer(to: response, of: elsewhere, isFirstOrigin: true) == nil)
    }
}
