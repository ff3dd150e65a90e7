import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Hosts of a credential")
struct HostPatternTests {
    private struct Key: Authenticator {
        let hosts: Set<String>

        func apply(_ credential: String, to request: inout URLRequest) {}
        func refresh(_ credential: String, over session: NetworkSession) async throws -> String { credential }
    }

    private func covers(_ hosts: Set<String>, _ url: String) throws -> Bool {
        Key(hosts: hosts).covers(try #require(URL(string: url), "\(url)"))
    }

    @Test(
        "a URL is covered",
        arguments: [
            ("api.example.com", "https://api.example.com/"), ("api.example.com", "http://api.example.com:8080/a?b"),
            ("API.Example.COM", "https://api.example.com/"), ("api.example.com", "HTTPS://API.EXAMPLE.COM/"),
            ("api.example.com:443", "https://api.example.com/"), ("api.example.com:443", "HTTPS://api.example.com/"),
            ("api.example.com:80", "http://api.example.com/"), ("api.example.com:443", "http://api.example.com:443/"),
            ("api.example.com:8443", "https://api.example.com:8443/"), ("localhost", "http://localhost:1/"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080/"), ("127.0.0.1", "http://127.0.0.1:9/"),
            ("*.example.com", "https://api.example.com/"), ("*.example.com", "https://a.b.c.Example.com:444/"),
            ("*.EXAMPLE.com:444", "https://a.example.com:444/"), ("a_b.example.com", "https://a_b.example.com/"),
            ("[::1]:8080", "http://[::1]:8080/"), ("[::1]", "http://[::1]:8080/"), ("::1", "http://[::1]/"),
            ("[0:0:0:0:0:0:0:1]", "http://[::1]/"), ("2001:DB8::1", "http://[2001:db8:0::1]/"),
            ("[::1]:443", "https://[::1]/"), ("api.example.com", "https://user:word@api.example.com/"),
            ("bücher.example", "https://xn--bcher-kva.example/"),
            ("*.bücher.example", "https://a.xn--bcher-kva.example/"),
        ])
    func covered(pattern: String, url: String) throws {
        #expect(try covers([pattern], url))
        #expect(try covers(["other.example", pattern, "*"], url))
    }

    @Test(
        "a URL is not covered",
        arguments: [
            ("api.example.com", "https://example.com/"), ("example.com", "https://api.example.com/"),
            ("api.example.com", "https://api.example.com.evil.test/"),
            ("api.example.com", "https://evilapi.example.com/"),
            ("api.example.com", "https://api.example.com@evil.test/"),
            ("api.example.com", "https://evil.test/api.example.com"),
            ("api.example.com:443", "http://api.example.com/"), ("api.example.com:80", "https://api.example.com/"),
            ("127.0.0.1:8080", "http://127.0.0.1/"), ("127.0.0.1:8080", "http://127.0.0.1:8081/"),
            ("127.0.0.1", "http://127.0.0.2/"), ("*.example.com", "https://example.com/"),
            ("*.example.com", "https://evilexample.com/"), ("*.example.com", "https://.example.com/"),
            ("*.example.com", "https://evil.test%2F.example.com/"), ("*.example.com", "https://a%2Eexample.com/"),
            ("*.0.0.1", "http://127.0.0.1/"), ("::1", "http://[::2]/"), ("[::1]:8080", "http://[::1]/"),
            ("api.example.com:443", "ftp://api.example.com/"), ("api.example.com", "https:///path"),
            ("api.example.com", "mailto:api.example.com"), ("api.example.com", "/api.example.com"),
        ])
    func notCovered(pattern: String, url: String) throws {
        #expect(try !covers([pattern], url))
    }

    @Test(
        "what is no pattern matches nothing",
        arguments: [
            "", "*", "*.", "*.*.com", "a*.example.com", "api.*", "https://api.example.com", "api.example.com/", ":443",
            "api.example.com:", "api.example.com:0", "api.example.com:65536", "api.example.com:+80",
            "api.example.com:x",
            "api.example.com:99999999999999999999", "[::1", "[::1]8080", "[::1]:", "[]", "[api.example.com]", "*.[::1]",
            "*.127.0.0.1", "api..example.com", ".example.com", "api example.com", " api.example.com",
            "api.example.com\u{0}",
            "api.example.com.", "1:2:3", "user@api.example.com", "a\u{0}.example.com",
        ])
    func noPattern(text: String) throws {
        #expect(HostPattern(text) == nil)
        for url in ["https://api.example.com/", "https://a.example.com/", "http://[::1]/", "http://127.0.0.1/"] {
            #expect(try !covers([text], url))
        }
    }

    @Test(
        "hosts with something else in them fail each request that is to be authenticated, and say so",
        arguments: [["https://api.example.com"], ["api.example.com", "*"], [""]])
    func faulty(hosts: Set<String>) async throws {
        let stub = StubTransport()
        stub.on("/x", .status(200))
        let authenticator = BearerTokenAuthenticator(hosts: hosts) { _ in "token" }
        let queue = NetworkQueue(
            session: NetworkSession(stub: stub), authentication: Authentication(authenticator, credential: "token"))
        let client = APIClient(baseURL: "https://api.example.com", queue: queue)
        let error = await failure { () async throws(NetworkError) in try await client.value(for: .get("/x")) }
        guard case .invalidRequest(let reason) = error else { throw try #require(error) }
        #expect(reason.hasPrefix("the authenticator's hosts have"))
        #expect(stub.requests.isEmpty)
        try await client.send(Endpoint.get("/x").with { $0.isAuthenticated = false })
        #expect(stub.requests.count == 1)
    }

    @Test("no hosts cover nothing")
    func noHosts() throws {
        #expect(try !covers([], "https://api.example.com/"))
    }

    @Test("by default 401 alone is unauthorized, and nothing is renewed ahead of time")
    func defaults() {
        let key = Key(hosts: [])
        #expect((100...599).filter { key.isUnauthorized(Made.response($0), Data()) } == [401])
        #expect(!key.needsRefresh("key", now: .now))
    }
}
