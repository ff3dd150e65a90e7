import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("RequestCheck")
struct RequestCheckTests {
    /// Why the request is not let pass; nil if it is.
    private func reason(_ request: URLRequest, takesIPv6: Bool = true) -> String? {
        do throws(NetworkError) {
            _ = try RequestCheck.checked(request, takesIPv6: takesIPv6)
            return nil
        } catch {
            guard case .invalidRequest(let reason) = error else { return "\(error)" }
            return reason
        }
    }

    private func request(header name: String, _ value: String) -> URLRequest {
        var request = Made.request()
        request.allHTTPHeaderFields = [name: value]
        return request
    }

    @Test("a plain request passes unchanged")
    func plain() throws {
        let request = Made.request("GET", "http://test.example/a?b#c", headers: ["Accept": "text/plain"])
        #expect(try RequestCheck.checked(request) == request)
    }

    // MARK: URL

    @Test("a request without a URL does not pass")
    func noURL() {
        var request = Made.request()
        request.url = nil
        #expect(reason(request) == "the URL is empty")
    }

    @Test(
        "a URL without scheme does not pass",
        arguments: ["/path", "//test.example/path", "path", "?query", "#fragment"])
    func noScheme(text: String) throws {
        #expect(reason(URLRequest(url: try #require(URL(string: text)))) == "the URL has no scheme")
    }

    @Test(
        "a scheme other than http and https does not pass",
        arguments: ["ftp://h/", "file:///etc/passwd", "data:,x", "ws://h/", "mailto:a@b", "httpx://h/", "h:80"])
    func otherScheme(text: String) throws {
        let reason = reason(URLRequest(url: try #require(URL(string: text))))
        #expect(reason?.hasSuffix("is not http or https") == true)
    }

    @Test(
        "a URL without host does not pass",
        arguments: [
            "http://", "http:", "http:///path", "https://?q", "http://#f", "http://:80/", "http://user@/", "http:p",
        ])
    func noHost(text: String) throws {
        #expect(reason(URLRequest(url: try #require(URL(string: text)))) == "the URL has no host")
    }

    @Test(
        "a host with an escaped blank or control character does not pass", arguments: ["%0d%0a", "%00", "%20", "%7f"])
    func injectedHost(escaped: String) {
        guard let url = URL(string: "http://a\(escaped)b/") else { return }
        #expect(reason(URLRequest(url: url)) == "the host has blanks or control characters")
    }

    @Test("a scheme in capitals is made small, and all else stays", arguments: ["HTTP", "Http", "hTTp"])
    func capitals(scheme: String) throws {
        let checked = try RequestCheck.checked(Made.request("GET", "\(scheme)://u:p@Test.Example:8080/A%20b?C=%2F#D"))
        #expect(checked.url?.absoluteString == "http://u:p@Test.Example:8080/A%20b?C=%2F#D")
        let secure = try RequestCheck.checked(Made.request("GET", "HTTPS://test.example"))
        #expect(secure.url?.absoluteString == "https://test.example")
    }

    @Test("a port that does not exist does not pass", arguments: ["0", "65536", "99999", "99999999999999999999"])
    func noPort(port: String) throws {
        for user in ["", "user:password@"] {
            let url = try #require(URL(string: "http://\(user)test.example:\(port)/"))
            #expect(reason(URLRequest(url: url))?.hasPrefix("the port ") == true)
        }
    }

    @Test(
        "other ports pass, and colons elsewhere are no port",
        arguments: [
            "http://h:1/", "http://h:65535/", "http://h:/", "http://h:", "http://u:p@h/",
            "http://h/a:99999999999999999999",
            "http://h?a:b@c", "http://h#a:b", "http://h/a@b:c//d:e",
        ])
    func ports(text: String) throws {
        #expect(reason(URLRequest(url: try #require(URL(string: text)))) == nil)
    }

    @Test(
        "an IPv6 address is refused with a reason where the transport cannot reach it",
        arguments: ["http://[::1]/", "http://[::1]:80/"])
    func addresses(text: String) throws {
        let request = URLRequest(url: try #require(URL(string: text)))
        #expect(reason(request, takesIPv6: false)?.contains("IPv6") == true)
        #expect(reason(request) == nil)
    }

    // MARK: Method and body

    @Test(
        "a method that is no token does not pass",
        arguments: ["", " ", "GE T", "GET\r\nX: y", "GET\n", "GET\r", "GÉT", "GET\u{0}", "GET/", "(GET)", "\u{7F}"])
    func methods(method: String) {
        var request = Made.request()
        request.httpMethod = method
        #expect(reason(request) == "the method is not a token of RFC 9110")
    }

    @Test("methods of one's own pass", arguments: ["PURGE", "M-SEARCH", "X_y.z~1", "QUERY", "!#$%&'*+-.^_`|~"])
    func ownMethods(method: String) {
        #expect(reason(Made.request(method)) == nil)
    }

    @Test("a GET or HEAD with a body does not pass; with an empty one it does", arguments: ["GET", "HEAD"])
    func bodies(method: String) {
        var request = Made.request(method)
        request.httpBody = Data("x".utf8)
        #expect(reason(request) == "a \(method) request has no body")
        request.httpBody = Data()
        #expect(reason(request) == nil)
        request.httpBody = nil
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        #expect(reason(request) == "a \(method) request has no body")
    }

    @Test("a body gets a content type unless it has one", arguments: ["POST", "PUT", "PATCH", "DELETE", "QUERY"])
    func contentType(method: String) throws {
        var request = Made.request(method)
        #expect(try RequestCheck.checked(request).value(forHTTPHeaderField: "Content-Type") == nil)
        request.httpBody = Data("{}".utf8)
        let plain = try RequestCheck.checked(request)
        #expect(plain.value(forHTTPHeaderField: "Content-Type") == "application/octet-stream")
        request.setValue("application/json", forHTTPHeaderField: "content-type")
        let own = try RequestCheck.checked(request)
        #expect(own.value(forHTTPHeaderField: "Content-Type") == "application/json")
        #expect(own.httpBody == Data("{}".utf8))
    }

    // MARK: Headers

    @Test(
        "a header name that is no token does not pass",
        arguments: ["", " ", "A B", "A:", "A\r\nB", "A\n", "\u{0}", "É", "A\tB", "A(B)", "\u{7F}"])
    func headerNames(name: String) {
        #expect(reason(request(header: name, "x")) == "a header name is not a token of RFC 9110")
    }

    @Test(
        "a header value with a control character does not pass, and the reason does not tell the value",
        arguments: ["\r\nX-Injected: 1", "\n", "\r", "\u{0}", "\u{1}", "\u{1F}", "\u{7F}"])
    func headerValues(control: String) {
        let reason = reason(request(header: "X-Token", "s3cret\(control)s3cret"))
        #expect(reason == "the value of the header X-Token has control characters")
    }

    @Test(
        "other values pass",
        arguments: ["", " ", "a\tb", "é", "日本", "\"quoted\"", String(repeating: "x", count: 99_999)])
    func otherValues(value: String) {
        #expect(reason(request(header: "X-Value", value)) == nil)
    }

    @Test(
        "headers that are the transport's do not pass, in any case",
        arguments: [
            "Content-Length", "content-length", "Transfer-Encoding", "TRANSFER-ENCODING", "Host", "hOST", "Connection",
            "Expect",
        ])
    func forbidden(name: String) {
        #expect(reason(request(header: name, "1")) == "the header \(name) is set by the transport")
    }

    @Test("no random request makes it trap")
    func randomRequests() {
        var random = SeededRandom(seed: .random(in: 0...UInt64.max))
        let pieces = [
            "http", "HTTPS", ":", "/", "//", "@", "[", "]", "é", "%", "%0a", "\r\n", "\u{0}", "?", "#", "80", "a",
        ]
        func text() -> String { (0..<random.below(8)).map { _ in pieces[random.below(pieces.count)] }.joined() }
        for _ in 0..<3_000 {
            guard let url = URL(string: text()) else { continue }
            var request = URLRequest(url: url)
            request.httpMethod = text()
            request.allHTTPHeaderFields = [text(): text()]
            guard let checked = try? RequestCheck.checked(request) else { continue }
            #expect(checked.url?.host?.isEmpty == false)
            #expect(checked.url?.scheme == "http" || checked.url?.scheme == "https")
        }
    }

    // MARK: Hosts

    @Test(
        "a host is known by its name in small letters and its port, given or not",
        arguments: [
            ("http://Test.Example/", "test.example:80"), ("https://test.example", "test.example:443"),
            ("http://test.example:443/", "test.example:443"), ("http://u:p@test.example:8080/", "test.example:8080"),
        ])
    func hostKey(text: String, key: String) {
        #expect(Made.request("GET", text).hostKey == key)
    }
}
