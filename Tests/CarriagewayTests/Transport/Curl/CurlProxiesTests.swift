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
            let alert = "OpenSSL SSL_read: tlsv13 alert certificate required"
            #expect(CurlFault(code: 56, text: alert).urlErrorCode == .clientCertificateRequired)
            #expect(CurlFault(code: 56, text: "Too large response headers: 1 > 0").urlErrorCode == .cannotParseResponse)
        }
    }
#endif
