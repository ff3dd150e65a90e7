import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Who is trusted: the rules, and that nothing is sent where they cannot be kept.
struct ServerTrustTests {
    private static let certificates = [(rsaCertificate, rsaKey), (ecCertificate, ecKey)]

    @Test("the public key is found in a certificate as OpenSSL finds it", arguments: certificates)
    func publicKey(certificate: String, key: String) throws {
        let data = try #require(Data(base64Encoded: certificate))
        #expect(CertificateKey.subjectPublicKeyInfo(of: data) == Data(base64Encoded: key))
        // A part of other data, whose indices begin elsewhere.
        let part = (Data([1, 2, 3]) + data).dropFirst(3)
        #expect(CertificateKey.subjectPublicKeyInfo(of: part) == Data(base64Encoded: key))
    }

    @Test("what is no certificate has no key, and does not trap")
    func noCertificate() throws {
        let data = try #require(Data(base64Encoded: Self.rsaCertificate))
        var random = SeededRandom(seed: .random(in: 0...UInt64.max))
        for length in 0..<400 { #expect(CertificateKey.subjectPublicKeyInfo(of: data.prefix(length)) == nil) }
        for _ in 0..<3_000 {
            var broken = data
            for _ in 0..<3 { broken[random.below(broken.count)] = UInt8(random.below(256)) }
            _ = CertificateKey.subjectPublicKeyInfo(of: broken)
            _ = CertificateKey.subjectPublicKeyInfo(of: Data((0..<40).map { _ in UInt8(random.below(256)) }))
        }
    }

    @Test("one for each host, the most exact first")
    func byHost() throws {
        let pin = ServerTrust.pinnedPublicKeys([Data(count: 32)])
        let own = ServerTrust.anchors([Data(count: 1)])
        let trust = ServerTrust.byHost(["api.example.com": pin, "*.example.com": own])
        #expect(trust.trust(for: Made.url("https://api.example.com/x")) == pin)
        #expect(trust.trust(for: Made.url("https://other.example.com/")) == own)
        #expect(trust.trust(for: Made.url("https://example.org/")) == .system)
        let nested = ServerTrust.byHost(["*.example.org": trust], otherwise: pin)
        #expect(nested.trust(for: Made.url("https://a.example.org/")) == .system)
        #expect(nested.trust(for: Made.url("https://a.test/")) == pin)
    }

    #if canImport(FoundationNetworking)
        @Test(
            "URLSession on Linux refuses https rather than judge by other rules than asked, also behind a redirect",
            arguments: [
                ServerTrust.pinnedPublicKeys([Data(count: 32)]), .pinnedCertificates([]), .anchors([]),
                .byHost(["127.0.0.1": .anchors([])]),
            ])
        func refusal(trust: ServerTrust) async throws {
            let server = try LoopbackServer()
            let secure = "https://127.0.0.1:\(server.port)/"
            server.on("/away", .redirect(to: secure))
            server.on("/plain", .text("plain"))
            let session = NetworkSession(serverTrust: trust)
            for url in [URL(string: secure), server.url("/away")] {
                let request = URLRequest(url: try #require(url))
                let error = await failure { () async throws(NetworkError) in try await session.data(for: request) }
                #expect(error?.name == "invalidRequest" && error?.description.contains("ServerTrust") == true)
            }
            #expect(server.connectionCount == 1)
            #expect(try await session.data(for: URLRequest(url: server.url("/plain"))) == Data("plain".utf8))
        }

        @Test("a host without a rule of its own is judged by the system, and reached")
        func otherHost() async throws {
            let server = try LoopbackServer()
            let session = NetworkSession(serverTrust: .byHost(["other.test": .anchors([])]))
            let request = URLRequest(url: try #require(URL(string: "https://127.0.0.1:\(server.port)/")))
            let error = await failure { () async throws(NetworkError) in try await session.data(for: request) }
            // Not HTTPS at all, but it was tried.
            #expect(error?.name == "urlError")
            #expect(server.connectionCount > 0)
        }
    #endif

    private static let rsaCertificate =
        "MIIDNTCCAh2gAwIBAgIUHJu9G/d1rjoOWkeqnp8aNJxfJSEwDQYJKoZIhvcNAQELBQAwKTERMA8GA1UEAwwIcGluLnRlc3Qx"
        + "FDASBgNVBAoMC0NhcnJpYWdld2F5MCAXDTI2MTEzMDExMzcyNVoYDzIxMjYxMTA2MTEzNzI1WjApMREwDwYDVQQDDAhwaW4u"
        + "dGVzdDEUMBIGA1UECgwLQ2FycmlhZ2V3YXkwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDjKZk9eiOtPTpeYdV1"
        + "AswlW6k6RyasKEltOB1QVYHl8gz9bl++dYMhfZVV45kPuNrhgO5uAzPR9hxViw2i9aLOeLx2o2iUi9ENmadwXDJYcY+Cf7mf"
        + "WQkn/DrGj2V3LdeMBKnqnaus/e7bI0D4fNZzxdNPNwpRif0frnbtG65gduuFrTJbx9pFKYOn28dUomHXrprNNRaTi+La2A79"
        + "+p81pe0cSTzzzd2zACHBPgy1XTd4iio4/NoLnCj9olKlE/DwHRhoTZama6prtzwiVOHa5ZiXzW9Jm8XwKBNOoy2pZd6lb/za"
        + "c4P/P3JdFX3sOrO26uL9u2D5IHNOwuPgPH1zAgMBAAGjUzBRMB0GA1UdDgQWBBTD0smjuRR5kJbxcmhLY+/CYOVELDAfBgNV"
        + "HSMEGDAWgBTD0smjuRR5kJbxcmhLY+/CYOVELDAPBgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQBoAUQs0RGD"
        + "J4nHaQUdyGXW8aRUv6iwXJEKx+I8ImzMnMEBbIMEQlyMgMiq/S0z0Kas7PTwUHgYgxMdOQY8Fic/G3M4c4yn+F/9dVM4HNJB"
        + "6lV04/yffcyfs+FqnIq19csrTyLdXA5XXPoe6sH3B05kwzzlFkZRlxj6c4A1ps/sIugmcE2l2Nlmy6hh58GfIX9BzDm/yyX/"
        + "Qqag6nahqEZbFN222Nnk2WxqF5AwiGWLQnbjYnNu27a0RoRA+JSpZ6/eKP+5T/kDV6PcgOVZ8E4QpctIUOWsxoBsGexPf8yE"
        + "oPA/rO6duop9xu3bPAgiIXyJtJf3VX/8vCdKLsATN+MI"
    private static let rsaKey =
        "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA4ymZPXojrT06XmHVdQLMJVupOkcmrChJbTgdUFWB5fIM/W5fvnWD"
        + "IX2VVeOZD7ja4YDubgMz0fYcVYsNovWizni8dqNolIvRDZmncFwyWHGPgn+5n1kJJ/w6xo9ldy3XjASp6p2rrP3u2yNA+HzW"
        + "c8XTTzcKUYn9H6527RuuYHbrha0yW8faRSmDp9vHVKJh166azTUWk4vi2tgO/fqfNaXtHEk8883dswAhwT4MtV03eIoqOPza"
        + "C5wo/aJSpRPw8B0YaE2Wpmuqa7c8IlTh2uWYl81vSZvF8CgTTqMtqWXepW/82nOD/z9yXRV97Dqzturi/btg+SBzTsLj4Dx9"
        + "cwIDAQAB"
    private static let ecCertificate =
        "MIIBfjCCASOgAwIBAgIUZ4DwbXh5ajC7I2GlYGirVrKSm+cwCgYIKoZIzj0EAwIwEzERMA8GA1UEAwwIcGluLnRlc3QwIBcN"
        + "MjYxMTMwMTEzNzI1WhgPMjEyNjExMDYxMTM3MjVaMBMxETAPBgNVBAMMCHBpbi50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0D"
        + "AQcDQgAEzV6bzaqBFa73ObJSs0w6xF7li6/bZwTTRBXkhWoQ794uHU7vhbf0zLTdnPVrwfaf6viWyvI6HpmqMspgH4jd6qNT"
        + "MFEwHQYDVR0OBBYEFGujbHuaEhRDQBwnmIvzMo2Mj8gsMB8GA1UdIwQYMBaAFGujbHuaEhRDQBwnmIvzMo2Mj8gsMA8GA1Ud"
        + "EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAPltQ9UDvvXT7iz4kEpjvGyfCLvs2l3v36w1nu5gHPqAAiEA3reyaNyL"
        + "6qZPpzGNkP0s74AqBnC12YfAaGQIDHj3IEc="
    private static let ecKey =
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEzV6bzaqBFa73ObJSs0w6xF7li6/bZwTTRBXkhWoQ794uHU7vhbf0zLTdnPVr"
        + "wfaf6viWyvI6HpmqMspgH4jd6g=="
}
