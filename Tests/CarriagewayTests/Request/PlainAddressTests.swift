import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The short way to a URL's host and port against that of Foundation.
struct PlainAddressTests {
    private static let schemes = ["http", "https", "HTTP", "ftp", "httpsx", "h"]
    private static let hosts = [
        "a", "127.0.0.1", "www.example.com", "x-y.test", "EXAMPLE.com", "[::1]", "a b", "ü.test", "xn--a.b", "a_b",
        "a%20b", "",
        "user@host", "user:pass@host", "host@8080",
    ]
    private static let ports = [
        "", ":", ":0", ":1", ":80", ":080", ":443", ":8080", ":65535", ":65536", ":99999999999999999999", ":8a", ":-1",
    ]
    private static let rests = ["", "/", "/a/b?c=d", "?q", "#f", "/@:9", "?a:b@c:1", "\\x"]

    @Test("what it says of a URL is what Foundation says, and it says it of usual ones")
    func agrees() {
        let usualHosts = ["a", "127.0.0.1", "www.example.com", "x-y.test"]
        let usualPorts = ["", ":1", ":80", ":443", ":8080", ":65535"]
        for scheme in Self.schemes {
            for (host, port, rest) in Self.parts {
                guard let url = URL(string: "\(scheme)://\(host)\(port)\(rest)") else { continue }
                guard let address = PlainAddress(url) else {
                    let isUsual = scheme.hasPrefix("http") && scheme != "httpsx" && rest != "\\x"
                    #expect(!isUsual || !usualHosts.contains(host) || !usualPorts.contains(port), "\(url)")
                    continue
                }
                let usualPort = url.scheme == "https" ? 443 : 80
                #expect(address.key == "\(url.host ?? "?"):\(url.port ?? usualPort)", "\(url)")
                #expect(url.scheme == "http" || url.scheme == "https", "\(url)")
                #expect(url.user == nil && url.host == url.host?.lowercased(), "\(url)")
                // Which a request can be sent to.
                #expect((try? RequestCheck.checked(URLRequest(url: url)).url) == url, "\(url)")
            }
        }
    }

    private static let parts = hosts.flatMap { host in
        ports.flatMap { port in rests.map { rest in (host, port, rest) } }
    }

    @Test(
        "URLs of other shapes take the long way",
        arguments: ["http:a", "http:", "http:/a", "https:/", "http://", "https://:1", "//a"])
    func others(text: String) {
        guard let url = URL(string: text) else { return }
        #expect(PlainAddress(url) == nil)
    }

    @Test("the key is the same by both ways")
    func keys() {
        for (text, key) in [
            ("http://example.com", "example.com:80"), ("https://EXAMPLE.com/", "example.com:443"),
            ("https://u@example.com:8443?", "example.com:8443"), ("http://[::1]:90/", "::1:90"),
        ] {
            #expect(URL(string: text).map { URLRequest(url: $0).hostKey } == key)
        }
    }

    @Test("it agrees with Foundation on random changes of usual URLs, alone and relative to another")
    func random() {
        var random = SystemRandomNumberGenerator()
        let bytes = Array(
            "aZ09-._~:/?#[]@!$&'()*+,;=%\\\" <>^`{|}\u{9}\u{7F}ü\u{130}\u{ff0e}\u{3002}xn--0x1".unicodeScalars)
        let starts = [
            "http://example.com:8080/a?b#c", "https://127.0.0.1/", "http://a", "https://xn--tda.test:1", "//h:2/x",
            "/p",
            "?q", "http:", "HTTPS://u:p@h:443", "https://0x7f.1:65535/:9@", "http://1.2.3.4.:80", "HTTP://-/",
        ]
        let bases = [nil] + starts.compactMap { URL(string: $0) }
        var found = 0
        for _ in 0..<60_000 {
            var text = Array(starts.randomElement(using: &random)?.unicodeScalars ?? "".unicodeScalars)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0...text.count, using: &random)
                if Bool.random(using: &random), place < text.count { text.remove(at: place) }
                if let byte = bytes.randomElement(using: &random) { text.insert(byte, at: min(place, text.count)) }
            }
            let base = bases.randomElement(using: &random) ?? nil
            var scalars = String.UnicodeScalarView()
            scalars.append(contentsOf: text)
            guard let url = URL(string: String(scalars), relativeTo: base), let address = PlainAddress(url) else {
                continue
            }
            found += 1
            let whole = url.absoluteURL
            for seen in [url, whole] {
                let usual = seen.scheme == "https" ? 443 : 80
                let (text, base) = (String(scalars), base?.absoluteString ?? "-")
                #expect(address.key == "\(seen.host ?? "?"):\(seen.port ?? usual)", "\(text) at \(base)")
                #expect(["http", "https"].contains(seen.scheme) && seen.user == nil, "\(text) at \(base)")
                #expect(seen.isSecure == (seen.scheme == "https"), "\(text) at \(base)")
            }
        }
        #expect(found > 1_000)
    }
}
