import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Redirect")
struct RedirectTests {
    private func redirect(
        _ status: Int = 302, to location: String?, from request: URLRequest = Made.request(), followed: Int = 0
    ) -> Redirect {
        let headers = location.map { ["Location": $0] } ?? [:]
        let origin = request.url?.absoluteString ?? ""
        return Redirect(of: Made.response(status, headers, url: origin), to: request, followed: followed)
    }

    private func onward(_ redirect: Redirect) -> URLRequest? {
        guard case .follow(let next) = redirect else { return nil }
        return next
    }

    private func target(_ location: String, from origin: String) -> String? {
        onward(redirect(to: location, from: Made.request("GET", origin)))?.url?.absoluteString
    }

    // MARK: Which responses lead on

    @Test("301, 302, 303, 307 and 308 lead on", arguments: [301, 302, 303, 307, 308])
    func statuses(status: Int) {
        #expect(onward(redirect(status, to: "/next"))?.url?.absoluteString == "http://test.example/next")
    }

    @Test(
        "other statuses are the answer, with a Location too",
        arguments: [200, 201, 300, 304, 305, 306, 309, 399, 400, 404, 503])
    func otherStatuses(status: Int) {
        #expect(redirect(status, to: "/next") == .stay)
    }

    @Test("without a Location that can be read the response is the answer", arguments: [301, 302, 303, 307, 308])
    func noLocation(status: Int) {
        for location in [nil, "", "   ", "http://[::1", "http://exa mple/"] as [String?] {
            #expect(redirect(status, to: location) == .stay)
        }
    }

    @Test("twenty are followed, the next is too many")
    func limit() {
        #expect(onward(redirect(to: "/a", followed: 19)) != nil)
        #expect(redirect(to: "/a", followed: 20) == .refuse(.httpTooManyRedirects))
        #expect(redirect(to: "/a", followed: .max) == .refuse(.httpTooManyRedirects))
        #expect(redirect(404, to: "/a", followed: 20) == .stay)
    }

    @Test(
        "a scheme that is not http is refused", arguments: ["ftp://h/", "file:///etc/passwd", "data:,x", "mailto:a@b"])
    func schemes(location: String) {
        #expect(redirect(to: location) == .refuse(.unsupportedURL))
    }

    @Test("https never falls to http", arguments: ["http://test.example/", "HTTP://test.example/", "http://other/"])
    func downgrade(location: String) {
        let origin = Made.request("GET", "https://test.example/")
        #expect(redirect(to: location, from: origin) == .refuse(.appTransportSecurityRequiresSecureConnection))
    }

    @Test("https falls to http if that is allowed, without its credentials")
    func allowedDowngrade() throws {
        let origin = Made.request("GET", "https://test.example/", headers: ["Authorization": "a", "X-Own": "1"])
        let response = Made.response(302, ["Location": "http://test.example/x"], url: "https://test.example/")
        let next = try #require(onward(Redirect(of: response, to: origin, followed: 0, allowsInsecure: true)))
        #expect(next.url?.absoluteString == "http://test.example/x")
        #expect(next.allHTTPHeaderFields == ["X-Own": "1"])
    }

    @Test("http rises to https, and https stays")
    func upgrade() {
        #expect(target("https://test.example/", from: "http://test.example/") == "https://test.example/")
        #expect(target("//test.example/x", from: "https://test.example/") == "https://test.example/x")
        #expect(target("/x", from: "https://test.example/") == "https://test.example/x")
    }

    // MARK: Where to

    @Test(
        "a relative Location is read against the request (RFC 3986, section 5.4)",
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"),
            ("../g", "http://a/b/g"), ("../../../g", "http://a/g"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
            ("g;x=1/../y", "http://a/b/c/y"), ("  /g  ", "http://a/g"), ("http://h:81/p?q", "http://h:81/p?q"),
        ])
    func relative(location: String, expected: String) {
        #expect(target(location, from: "http://a/b/c/d;p?q") == expected)
    }

    @Test("the fragment is kept unless the Location has one, and is not encoded twice")
    func fragments() {
        #expect(target("/y", from: "http://a/x#part") == "http://a/y#part")
        #expect(target("/y#other", from: "http://a/x#part") == "http://a/y#other")
        #expect(target("/y", from: "http://a/x#a%20b") == "http://a/y#a%20b")
        #expect(target("/y%20z?q=%2F", from: "http://a/x#a") == "http://a/y%20z?q=%2F#a")
        #expect(target("/y", from: "http://a/x") == "http://a/y")
    }

    // MARK: Method and body

    private func post(_ method: String = "POST") -> URLRequest {
        var request = Made.request(
            method, headers: ["Content-Type": "text/plain", "X-Own": "1", "Content-Language": "en"])
        request.httpBody = Data("body".utf8)
        return request
    }

    @Test("301, 302 and 303 make a POST a GET without body", arguments: [301, 302, 303])
    func postToGet(status: Int) throws {
        let next = try #require(onward(redirect(status, to: "/next", from: post())))
        #expect(next.httpMethod == "GET" && next.httpBody == nil && next.httpBodyStream == nil)
        #expect(next.value(forHTTPHeaderField: "Content-Type") == nil)
        #expect(next.value(forHTTPHeaderField: "Content-Language") == nil)
        #expect(next.value(forHTTPHeaderField: "X-Own") == "1")
    }

    @Test("307 and 308 keep method and body", arguments: [307, 308], ["POST", "PUT", "PATCH", "DELETE"])
    func keepBody(status: Int, method: String) throws {
        let next = try #require(onward(redirect(status, to: "/next", from: post(method))))
        #expect(next.httpMethod == method && next.httpBody == Data("body".utf8))
        #expect(next.value(forHTTPHeaderField: "Content-Type") == "text/plain")
    }

    @Test("301 and 302 keep other methods and their bodies", arguments: [301, 302], ["PUT", "PATCH", "DELETE"])
    func keepOtherMethods(status: Int, method: String) throws {
        let next = try #require(onward(redirect(status, to: "/next", from: post(method))))
        #expect(next.httpMethod == method && next.httpBody == Data("body".utf8))
    }

    @Test("303 makes every method but HEAD a GET", arguments: ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    func seeOther(method: String) {
        #expect(onward(redirect(303, to: "/next", from: Made.request(method)))?.httpMethod == "GET")
        #expect(onward(redirect(303, to: "/next", from: Made.request("HEAD")))?.httpMethod == "HEAD")
    }

    @Test("GET and HEAD stay what they are", arguments: [301, 302, 307, 308], ["GET", "HEAD"])
    func keepSafeMethods(status: Int, method: String) {
        #expect(onward(redirect(status, to: "/next", from: Made.request(method)))?.httpMethod == method)
    }

    @Test("C31 a body from a stream is not sent a second time: the redirect is the answer", arguments: [307, 308])
    func streamBody(status: Int) {
        var request = post()
        request.httpBodyStream = InputStream(data: Data("body".utf8))
        #expect(redirect(status, to: "/next", from: request) == .stay)
        let next = onward(redirect(303, to: "/next", from: request))
        #expect(next?.httpMethod == "GET" && next?.httpBodyStream == nil)
    }

    // MARK: Credentials

    private static let secrets = ["Authorization", "Cookie", "Proxy-Authorization"]

    private func keptSecrets(_ origin: String, to location: String, status: Int = 302) -> [String]? {
        let request = Made.request(
            "GET", origin,
            headers: ["Authorization": "a", "Cookie": "c", "Proxy-Authorization": "p", "Accept": "text/plain"])
        guard let next = onward(redirect(status, to: location, from: request)) else { return nil }
        guard next.value(forHTTPHeaderField: "Accept") == "text/plain" else { return nil }
        return Self.secrets.filter { next.value(forHTTPHeaderField: $0) != nil }
    }

    @Test(
        "C37 credentials go nowhere but to the same scheme, host and port",
        arguments: [
            ("http://a/", "http://b/"), ("http://a/", "http://a:81/"), ("http://a/", "https://a/"),
            ("http://a/", "//b/"), ("http://a:80/", "http://a:8080/"), ("https://a/", "https://a:444/"),
            ("http://a.example/", "http://a.example.evil/"), ("http://a.example/", "http://b.a.example/"),
            ("http://a/", "http://a@b/"), ("http://a/", "http://a:80@b/"), ("http://a:443/", "https://a:443/"),
        ])
    func otherOrigin(origin: String, location: String) {
        for status in [301, 302, 303, 307, 308] {
            #expect(keptSecrets(origin, to: location, status: status) == [])
        }
    }

    @Test(
        "C37 within an origin they stay, however it is written",
        arguments: [
            ("http://a/", "/x"), ("http://a/", "http://a/x"), ("http://a/", "http://a:80/x"),
            ("http://a/", "http://A/x"),
            ("http://a:80/", "http://a/x"), ("https://a/", "https://a:443/x"), ("https://a/", "HTTPS://a/x"),
            ("http://a:81/", "x"), ("http://a/", "http://user@a/"), ("http://a/", "HTTP://a:80/"),
        ])
    func sameOrigin(origin: String, location: String) {
        #expect(keptSecrets(origin, to: location) == Self.secrets)
    }

    @Test(
        "C37 headers made for keys and tokens stay with their origin too",
        arguments: [
            "authorization", "X-API-Key", "x-api-key", "Api-Key", "apikey", "X-Auth-Token", "X-Access-Token",
            "X-Amz-Security-Token", "X-Goog-Api-Key", "Private-Token", "X-Vault-Token", "X-CSRF-Token", "X-XSRF-TOKEN",
            "Ocp-Apim-Subscription-Key", "X-Functions-Key", "X-Shopify-Access-Token", "Client-Secret", "DPoP",
            "Cookie2",
            "X-RapidAPI-Key", "X_API_KEY", "X-Authorization", "X-Session-Id",
        ])
    func keyHeaders(name: String) {
        #expect(ConfidentialHeaders.contains(name))
    }

    @Test(
        "other headers go along",
        arguments: [
            "Accept", "Accept-Language", "User-Agent", "Idempotency-Key", "Content-Type", "Range", "If-None-Match",
            "X-Key",
            "Key", "X-Request-ID", "X-Author", "X-Tokenizer", "Cache-Key", "Sec-WebSocket-Key", "Origin", "traceparent",
        ])
    func plainHeaders(name: String) {
        #expect(!ConfidentialHeaders.contains(name))
    }

    @Test("C37 the caller names further ones, in any case")
    func furtherHeaders() throws {
        let request = Made.request("GET", "http://a/", headers: ["X-Tenant": "t", "X-Own": "1", "X-Api-Key": "k"])
        let response = Made.response(307, ["Location": "http://b/"], url: "http://a/")
        let next = try #require(
            onward(Redirect(of: response, to: request, followed: 0, confidentialHeaders: ["x-TENANT"])))
        #expect(next.allHTTPHeaderFields == ["X-Own": "1"])
    }

    @Test("no random Location makes it trap")
    func randomLocations() {
        var random = SeededRandom(seed: .random(in: 0...UInt64.max))
        let pieces = ["http", ":", "/", "//", "..", "@", "[", "]", "é", "%", "%41", " ", "?", "#", "80", "a", "\u{1}"]
        for _ in 0..<3_000 {
            let location = (0..<random.below(8)).map { _ in pieces[random.below(pieces.count)] }.joined()
            if let next = onward(redirect(to: location, from: Made.request("GET", "http://a/b#c%20d"))) {
                #expect(next.url?.scheme == "http" || next.url?.scheme == "https")
            }
        }
    }
}
