import Carriageway
import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Where requests go: base, path and query.
struct EndpointURLTests {
    private func url(
        _ base: String, _ path: String, _ query: [URLQueryItem] = []
    ) throws(NetworkError) -> String? {
        try APIClient(baseURL: base).request(for: .get(path, query: query)).url?.absoluteString
    }

    private func fault(_ make: () throws(NetworkError) -> String?) -> String? {
        do throws(NetworkError) {
            Issue.record("made \(try make() ?? "nothing")")
            return nil
        } catch {
            guard case .invalidRequest(let reason) = error else { return nil }
            return reason
        }
    }

    @Test(
        "parity: path and base are joined with one slash, whichever has it",
        arguments: [
            ("https://a.test", "/users", "https://a.test/users"), ("https://a.test/", "/users", "https://a.test/users"),
            ("https://a.test", "users", "https://a.test/users"), ("https://a.test/", "users", "https://a.test/users"),
            ("https://a.test/v1", "/users", "https://a.test/v1/users"),
            ("https://a.test/v1/", "users/", "https://a.test/v1/users/"),
            ("https://a.test/v1", "", "https://a.test/v1"), ("https://a.test/v1/", "", "https://a.test/v1/"),
            ("https://a.test/v1", "/", "https://a.test/v1/"), ("https://a.test", "/", "https://a.test/"),
            ("https://a.test:8443/v%201/x", "//y//z", "https://a.test:8443/v%201/x//y//z"),
            ("HTTPS://A.test", "/users", "HTTPS://A.test/users"),
        ])
    func joining(base: String, path: String, joined: String) throws {
        #expect(try url(base, path) == joined)
    }

    @Test("the base's query comes first, the endpoint's behind it")
    func queries() throws {
        let page = [URLQueryItem(name: "q", value: "a b&c"), URLQueryItem(name: "q", value: "+")]
        #expect(try url("https://a.test/v1?key=1%2B2", "/x", page) == "https://a.test/v1/x?key=1%2B2&q=a%20b%26c&q=%2B")
        #expect(try url("https://a.test/v1?key=1", "/x") == "https://a.test/v1/x?key=1")
        #expect(try url("https://a.test/v1/?key=1", "x", page) == "https://a.test/v1/x?key=1&q=a%20b%26c&q=%2B")
        #expect(try url("https://a.test?", "x", page) == "https://a.test/x?q=a%20b%26c&q=%2B")
    }

    @Test("what cannot stand in a path is put in percent; what is in percent stays")
    func paths() throws {
        #expect(try url("https://a.test", "/a b/ä\"<") == "https://a.test/a%20b/%C3%A4%22%3C")
        #expect(try url("https://a.test", "/a%2Fb%20c") == "https://a.test/a%2Fb%20c")
        #expect(try url("https://a.test", "/a+b;c=d,e:f@g!$&'()*~") == "https://a.test/a+b;c=d,e:f@g!$&'()*~")
        let name = PercentEncoding.segment("50% of a/b?c#d")
        #expect(try url("https://a.test", "/files/\(name)") == "https://a.test/files/50%25%20of%20a%2Fb%3Fc%23d")
    }

    @Test("a base or a path that cannot be used says what is wrong")
    func faults() {
        let bases = [
            ("api.example.com/v1", "scheme"), ("/v1", "scheme"), ("", "malformed"), ("ftp://a.test", "http or https"),
            ("https:///v1", "host"), ("https://a.test/#x", "fragment"), ("https://a.test:0", "port"),
            ("file:///tmp", "http or https"),
        ]
        for (base, word) in bases {
            let reason = fault { () throws(NetworkError) in try url(base, "/x") }
            #expect(reason?.contains(word) == true && reason?.contains("base URL") == true, "\(base): \(reason ?? "")")
        }
        let paths = [
            ("/x?y=1", "question mark"), ("/x#y", "#"), ("/100%", "%"), ("/%zz", "%"), ("/%4", "%"),
            ("/a/../b", "\"..\""),
            ("/a/./b", "\".\""), ("/a/%2E%2e", "\"..\""), ("https://evil.test/x", "URL of its own"),
        ]
        for (path, word) in paths {
            let reason = fault { () throws(NetworkError) in try url("https://a.test/v1", path) }
            #expect(reason?.contains(word) == true && reason?.contains("path") == true, "\(path): \(reason ?? "")")
        }
        #expect((try? url("https://a.test", "//evil.test/x")) == "https://a.test//evil.test/x")
        #expect((try? url("https://a.test", "@evil.test/x")) == "https://a.test/@evil.test/x")
    }

    @Test("parity: a host alone is https; one with a scheme, a slash or more is refused")
    func hosts() throws {
        func url(_ client: APIClient) throws(NetworkError) -> String? {
            try client.request(for: .get("/x")).url?.absoluteString
        }
        #expect(try url(APIClient(host: "api.example.com")) == "https://api.example.com/x")
        #expect(try url(APIClient(host: "localhost:8080", scheme: "http")) == "http://localhost:8080/x")
        #expect(try url(APIClient(host: "[::1]:8080", scheme: "http")) == "http://[::1]:8080/x")
        for (host, word) in [
            ("https://api.example.com", "scheme"), ("api.example.com/", "\"/\""), ("api.example.com/v1", "\"/\""),
            ("", "empty"), ("a b", "blank"), ("user@a.test", "\"@\""), ("a.test?x", "\"?\""), ("a.test#x", "\"#\""),
            ("a.test\\x", "\"\\\""), ("a.test\r\nX: y", "control"), ("a.test:99999", "port"),
        ] {
            let reason = fault { () throws(NetworkError) in try url(APIClient(host: host)) }
            #expect(reason?.contains(word) == true, "\(host): \(reason ?? "")")
        }
        #expect(fault { () throws(NetworkError) in try url(APIClient(host: "a.test", scheme: "ftp")) } != nil)
    }
}
