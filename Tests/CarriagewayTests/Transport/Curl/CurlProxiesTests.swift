#if os(Linux)
    import CarriagewayTesting
    import Foundation
    import FoundationNetworking
    import Testing

    @testable import Carriageway

    @Suite("CurlProxies")
    struct CurlProxiesTests {
        @Test("the dictionary is read by the names of its keys on Apple's systems")
        func reading() {
            let full = CurlProxies([
                "HTTPEnable": 1, "HTTPProxy": "proxy.test", "HTTPPort": 3128, "HTTPSEnable": true,
                "HTTPSProxy": "::1", "HTTPSPort": "8080", "ExceptionsList": ["*.local", "10.0.0.1", "bad host"],
            ])
            #expect(full.plain == "http://proxy.test:3128" && full.secure == "http://[::1]:8080")
            #expect(full.exceptions == ".local,10.0.0.1")
            let socks = CurlProxies(["SOCKSEnable": 1, "SOCKSProxy": "s.test", "SOCKSPort": 1080])
            #expect(socks.plain == "socks5h://s.test:1080" && socks.secure == socks.plain)
        }

        @Test("what is not enabled, or makes no sense, is no proxy")
        func none() {
            for dictionary in [
                [:], ["HTTPProxy": "p"], ["HTTPEnable": 0, "HTTPProxy": "p"], ["HTTPEnable": 1, "HTTPProxy": ""],
                ["HTTPEnable": 1, "HTTPProxy": "a\r\nb"], ["HTTPEnable": 1, "HTTPProxy": 5],
            ] as [[AnyHashable: Any]] {
                #expect(CurlProxies(dictionary).plain == nil)
            }
        }

        @Test("requests go to the configuration's proxy, but for those to its exceptions")
        func proxied() async throws {
            let proxy = try LoopbackServer()
            let direct = try LoopbackServer()
            direct.on("/", .text("direct"))
            let configuration = URLSessionConfiguration.ephemeral
            configuration.connectionProxyDictionary = [
                "HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": proxy.port, "ExceptionsList": ["127.0.0.1"],
            ]
            let session = Wire.curl.session(configuration)
            _ = try? await session.data(for: URLRequest(url: try #require(URL(string: "http://nobody.invalid/x"))))
            #expect(proxy.requests.first?.header("Host") == "nobody.invalid")
            #expect(proxy.requestCount == 1)
            #expect(try await session.data(for: URLRequest(url: direct.url())) == Data("direct".utf8))
            #expect(proxy.requestCount == 1)
        }

        private func dictionary(_ kind: String, _ port: Int) -> URLSessionConfiguration {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.connectionProxyDictionary = [
                "\(kind)Enable": 1, "\(kind)Proxy": "127.0.0.1", "\(kind)Port": port,
            ]
            return configuration
        }

        private func code(_ session: NetworkSession, _ url: String) async -> URLError.Code? {
            let request = URLRequest(url: Made.url(url))
            return await failure { () async throws(NetworkError) in try await session.data(for: request) }?.urlErrorCode
        }

        @Test("a SOCKS proxy is told the name, and the requests go through it, for http and https")
        func socks() async throws {
            let server = try LoopbackServer()
            server.on("/") { .data($0.body + Data($0.header("Host")?.utf8 ?? "".utf8)) }
            let proxy = try TunnelProxy(.socks, to: server.port)
            let session = Wire.curl.session(dictionary("SOCKS", proxy.port))
            var put = URLRequest(url: Made.url("http://nobody.invalid/"))
            put.httpMethod = "PUT"
            put.httpBody = Data("to ".utf8)
            for _ in 0..<3 { #expect(try await session.data(for: put) == Data("to nobody.invalid".utf8)) }
            // One connection for all.
            #expect(proxy.targets == ["nobody.invalid:80"] && server.connectionCount == 1)
            guard let secure = try await TLSServer() else { return }
            let tunnel = try TunnelProxy(.socks, to: secure.port)
            let trusting = NetworkSession(
                configuration: dictionary("SOCKS", tunnel.port), serverTrust: .anchors([secure.certificate]),
                transport: Wire.curl.kind)
            let answer = try await trusting.data(for: URLRequest(url: Made.url("https://localhost:1234/")))
            #expect(!answer.isEmpty && tunnel.targets == ["localhost:1234"])
        }

        @Test("https goes through a tunnel of an HTTP proxy; the certificate is judged behind it")
        func tunnel() async throws {
            guard let server = try await TLSServer() else { return }
            let proxy = try TunnelProxy(.connect, to: server.port)
            let configuration = dictionary("HTTPS", proxy.port)
            let trusting = NetworkSession(
                configuration: configuration, serverTrust: .anchors([server.certificate]), transport: Wire.curl.kind)
            let response = try await trusting.response(for: URLRequest(url: Made.url("https://localhost:1234/")))
            #expect(response.statusCode == 200 && proxy.targets == ["localhost:1234"])
            // The proxy's own answer is none of the response.
            #expect(response.http.value(forHTTPHeaderField: "Server")?.contains("nginx") == true)
            #expect(
                await code(Wire.curl.session(configuration), "https://localhost:1234/") == .serverCertificateUntrusted)
            #expect(await code(trusting, "https://nobody.invalid:1234/") == .serverCertificateUntrusted)
        }

        @Test(
            "a proxy that refuses, or is not there, is no connection: nothing was sent", arguments: ["HTTPS", "SOCKS"])
        func refusing(kind: String) async throws {
            let proxy = try TunnelProxy(kind == "SOCKS" ? .socks : .connect, to: nil)
            let session = Wire.curl.session(dictionary(kind, proxy.port))
            #expect(await code(session, "https://localhost:1234/") == .cannotConnectToHost)
            #expect(proxy.targets == ["localhost:1234"])
            let nobody = Wire.curl.session(dictionary(kind, 1))
            #expect(await code(nobody, "https://localhost:1234/") == .cannotConnectToHost)
        }

        @Test("an empty dictionary means no proxy at all")
        func refused() async throws {
            let server = try LoopbackServer()
            server.on("/", .text("x"))
            let configuration = URLSessionConfiguration.ephemeral
            configuration.connectionProxyDictionary = [:]
            #expect(
                try await Wire.curl.session(configuration).data(for: URLRequest(url: server.url())) == Data("x".utf8))
        }
    }

    @Suite("CurlFault")
    struct CurlFaultTests {
        @Test(
            "libcurl's results get the codes that Apple's systems give",
            arguments: [
                (1, .cannotParseResponse), (3, .badURL), (5, .cannotFindHost), (6, .cannotFindHost),
                (7, .cannotConnectToHost), (8, .cannotParseResponse), (18, .networkConnectionLost),
                (27, .cannotParseResponse), (28, .timedOut), (35, .secureConnectionFailed),
                (52, .networkConnectionLost),
                (55, .networkConnectionLost), (56, .networkConnectionLost), (58, .clientCertificateRejected),
                (60, .serverCertificateUntrusted), (61, .cannotDecodeRawData), (65, .networkConnectionLost),
                (90, .serverCertificateUntrusted), (92, .networkConnectionLost), (100, .cannotParseResponse),
                (9_999, .unknown),
            ] as [(Int, URLError.Code)])
        func codes(code: Int, expected: URLError.Code) {
            #expect(CurlFault(code: code, text: "").urlErrorCode == expected)
        }

        @Test("what libcurl says besides tells some of them apart")
        func details() {
            #expect(CurlFault(code: 60, text: "", verification: 10).urlErrorCode == .serverCertificateHasBadDate)
            #expect(CurlFault(code: 60, text: "", verification: 9).urlErrorCode == .serverCertificateNotYetValid)
            #expect(CurlFault(code: 7, text: "", systemError: 101).urlErrorCode == .notConnectedToInternet)
            #expect(CurlFault(code: 56, text: "Malformed chunk").urlErrorCode == .cannotParseResponse)
            for text in ["CONNECT tunnel failed, response 403", "Received HTTP code 403 from proxy after CONNECT"] {
                #expect(CurlFault(code: 56, text: text).urlErrorCode == .cannotConnectToHost)
            }
            let key = CurlFault(code: 43, text: "unable to set private key file: 'x' type PEM")
            #expect(key.urlErrorCode == .clientCertificateRejected && key.reason == key.text)
            #expect(CurlFault(code: 56, text: "Too large response headers: 1 > 0").urlErrorCode == .cannotParseResponse)
        }

        @Test(
            "the server's alert over the client's certificate is told from a connection lost", arguments: [35, 55, 56])
        func alerts(code: Int) {
            let required = "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0"
            #expect(CurlFault(code: code, text: required).urlErrorCode == .clientCertificateRequired)
            for words in ["tlsv1 alert unknown ca", "sslv3 alert certificate expired", "ssl/tls alert bad certificate"]
            {
                let fault = CurlFault(
                    code: code, text: "OpenSSL SSL_read: error:0A000418:SSL routines::\(words), errno 0")
                #expect(fault.urlErrorCode == .clientCertificateRejected)
            }
            let other = CurlFault(code: code, text: "SSL routines::sslv3 alert handshake failure")
            #expect(other.urlErrorCode == (code == 35 ? .secureConnectionFailed : .networkConnectionLost))
        }
    }
#endif
