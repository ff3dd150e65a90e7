#if os(Linux)
    import CarriagewayTesting
    import Foundation
    import FoundationNetworking
    import Testing

    @testable import Carriageway

    /// What the transport over libcurl does that `URLSession` on Linux does not, or does in its own way.
    struct CurlTransportTests {
        private let server: LoopbackServer
        private let session = Wire.curl.session()

        init() throws {
            server = try LoopbackServer()
            server.on("/", .text("x"))
        }

        private func request(_ path: String = "/", _ change: (inout URLRequest) -> Void = { _ in }) -> URLRequest {
            var request = URLRequest(url: server.url(path))
            request.timeoutInterval = 300
            change(&request)
            return request
        }

        private func error(_ request: URLRequest, over session: NetworkSession? = nil) async -> NetworkError? {
            let session = session ?? self.session
            return await failure { () async throws(NetworkError) in try await session.data(for: request) }
        }

        // MARK: What servers send

        @Test("K1: trailers do no harm and are no headers")
        func trailers() async throws {
            server.on("/trailers", LoopbackServer.Response.text("body").trailers([("X-After", "1")]))
            let response = try await session.response(for: request("/trailers"))
            #expect(response.data == Data("body".utf8) && response.http.value(forHTTPHeaderField: "X-After") == nil)
        }

        @Test(
            "heads that every browser reads are read",
            arguments: [
                "HTTP/1.1 200\r\nX-A: b\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 200 OK\r\nX-A:b\r\n\r\nx",
                "HTTP/1.1 200 OK\r\nX-A:    b   \r\nX-Blank:    \r\n\r\nx", "HTTP/1.1 200 OK\nX-A: b\n\nx",
                "HTTP/1.0 200 OK\r\nX-A: b\r\n\r\nx", "HTTP/1.1 200 OK\r\nx-a: b\r\n\r\nx",
            ])
        func oddHeads(text: String) async throws {
            server.on("/odd", .raw(Data(text.utf8)))
            let response = try await session.response(for: request("/odd"))
            #expect(response.statusCode == 200 && response.data == Data("x".utf8))
            #expect(response.http.value(forHTTPHeaderField: "X-A") == "b")
        }

        @Test("header bytes that are no UTF-8 are read as ISO 8859-1; fields of one name are joined")
        func headerBytes() async throws {
            let head = Data("HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nX-B: ".utf8) + [0xFC] + Data("\r\n\r\n".utf8)
            server.on("/bytes", .raw(head))
            let http = try await session.response(for: request("/bytes")).http
            #expect(http.value(forHTTPHeaderField: "X-A") == "1, 2" && http.value(forHTTPHeaderField: "X-B") == "ü")
        }

        @Test("a header line of 120 KB, and headers without end, are clear errors; 3,000 headers are none")
        func largeHeads() async throws {
            let long = "HTTP/1.1 200 OK\r\nX-Long: \(String(repeating: "x", count: 120_000))\r\n\r\n"
            server.on("/long", .raw(Data(long.utf8)))
            let lines = (0..<60_000).map { "X-\($0): \(String(repeating: "y", count: 20))\r\n" }.joined()
            server.on("/endless", .raw(Data("HTTP/1.1 200 OK\r\n\(lines)\r\n".utf8)))
            for path in ["/long", "/endless"] {
                guard case .urlError(let error) = await error(request(path)) else {
                    Issue.record("no error from \(path)")
                    continue
                }
                #expect(error.code == .cannotParseResponse)
                #expect(error.localizedDescription.contains("larger than"))
            }
            let many = (0..<3_000).map { "X-\($0): y\r\n" }.joined()
            server.on("/many", .raw(Data("HTTP/1.1 200 OK\r\n\(many)\r\nx".utf8)))
            #expect(try await session.response(for: request("/many")).http.allHeaderFields.count == 3_000)
        }

        @Test("a connection that is closed within the head is lost, also after a whole line")
        func cutHead() async {
            for head in [
                "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "HTTP/1.1 200 OK\r\nX-A: b\r\n",
            ] {
                server.on("/cut", .raw(Data(head.utf8)))
                #expect(await error(request("/cut"))?.urlErrorCode == .networkConnectionLost)
            }
        }

        @Test("chunks that make no sense cannot be parsed")
        func brokenChunks() async {
            server.on("/chunks", .raw(Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n".utf8)))
            #expect(await error(request("/chunks"))?.urlErrorCode == .cannotParseResponse)
        }

        @Test(
            "what was compressed arrives decompressed, in every coding that Accept-Encoding says is understood",
            arguments: [
                // `printf hello | gzip -n`, zlib and bare deflate, `brotli`, and one raw block of zstd.
                ("gzip", "1f8b0800000000000003cb48cdc9c9070086a6103605000000"),
                ("deflate", "789ccb48cdc9c90700062c0215"), ("deflate", "cb48cdc9c90700"),
                ("br", "0b028068656c6c6f03"), ("zstd", "28b52ffd200529000068656c6c6f"),
            ])
        func compression(coding: String, bytes: String) async throws {
            let packed = Data(
                stride(from: 0, to: bytes.count, by: 2).compactMap { offset in
                    let start = bytes.index(bytes.startIndex, offsetBy: offset)
                    return UInt8(bytes[start..<bytes.index(start, offsetBy: 2)], radix: 16)
                })
            server.on("/", .data(packed, contentType: "text/plain").header("Content-Encoding", coding))
            let operation = NetworkOperation(request(), session: session)
            operation.retryPolicy = .never
            operation.start()
            await operation.finished()
            let accepted = server.requests.first?.header("Accept-Encoding")?.components(separatedBy: ", ") ?? []
            #expect(accepted.contains("gzip") && accepted.contains("deflate"))
            if accepted.contains(coding) {
                #expect(try operation.result?.get().data == Data("hello".utf8))
            } else {
                #expect(operation.result?.error?.urlErrorCode == .cannotDecodeContentData)
            }
        }

        // MARK: Where requests go

        @Test("an IPv6 address in a URL is reached")
        func ipv6() async throws {
            let listener: LocalListener
            do {
                listener = try LocalListener(.ipv6, answer: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nsix")
            } catch {
                print("skipped: no IPv6 on this machine (\(error))")
                return
            }
            let url = try #require(URL(string: "http://[::1]:\(listener.port)/"))
            #expect(try await session.data(for: URLRequest(url: url)) == Data("six".utf8))
        }

        @Test("a Unix-domain socket is reached, whatever the host")
        func unixSocket() async throws {
            let folder = try TemporaryFolder()
            let path = folder.url.appendingPathComponent("socket").path
            let listener = try LocalListener(
                .unix(path: path), answer: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nunix")
            let session = NetworkSession(transport: .curl(unixSocket: path))
            let url = try #require(URL(string: "http://nobody.invalid/v1/info"))
            #expect(try await session.data(for: URLRequest(url: url)) == Data("unix".utf8))
            withExtendedLifetime(listener) {}
        }

        @Test("a transport that cannot be had fails every request with the reason")
        func unavailable() async {
            #expect(NetworkSession.TransportKind.curl.unavailability == nil)
            let reason = TransportUnavailable(reason: "there is no libcurl.so.4")
            let session = NetworkSession { UnavailableTransport(reason: reason, events: $0) }
            for _ in 0..<3 {
                guard case .generalError(let error) = await error(request(), over: session) else {
                    Issue.record("no error")
                    return
                }
                #expect(error as? TransportUnavailable == reason)
            }
            session.invalidateAndCancel()
            #expect(await error(request(), over: session)?.name == "sessionInvalidated")
            #expect(server.requestCount == 0)
        }

        // MARK: What is sent

        @Test("what has a NUL or a line end in it does not reach C, though everything above has been passed by")
        func hostileRequests() async throws {
            let ends = TaskEnds()
            let transport = try CurlTransport(configuration: .ephemeral, events: ends)
            let hostile = ["a\0b", "a\r\nX-Injected: 1", "a\nb", "a\rb"]
            for text in hostile {
                var sent = URLRequest(url: server.url())
                sent.allHTTPHeaderFields = ["X-A": text]
                #expect(transport.start(sent, body: .none) { _ in true })
                sent.allHTTPHeaderFields = [text: "x"]
                #expect(transport.start(sent, body: .none) { _ in true })
            }
            await ends.count.wait(for: 2 * hostile.count)
            transport.invalidate()
            // Foundation drops some by itself; what it lets through is turned down.
            for error in ends.errors.withLock({ $0 }) { #expect(error == nil || error?.name == "invalidRequest") }
            for request in server.requests {
                #expect(request.header("X-Injected") == nil && request.headers.allSatisfy { !$0.value.contains("\0") })
            }
        }

        @Test("a host of which only one address answers is reached")
        func twoAddresses() async throws {
            // ::1 and 127.0.0.1, of which the server has the second alone. That one address is silent: see `BadNetwork`.
            #expect(
                try await session.data(for: URLRequest(url: Made.url("http://localhost:\(server.port)/")))
                    == Data("x".utf8))
        }

        @Test("header values arrive as they are, also empty ones; the request's own come before the configuration's")
        func headers() async throws {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpAdditionalHeaders = ["X-Both": "configuration", "X-Usual": "usual", "User-Agent": "mine"]
            let session = Wire.curl.session(configuration)
            let sent = request {
                $0.allHTTPHeaderFields = ["x-both": "request", "X-Empty": "", "X-Text": "a; b: c", "Accept": "a/b"]
            }
            _ = try await session.data(for: sent)
            let got = try #require(server.requests.first)
            #expect(got.header("X-Both") == "request" && got.header("X-Usual") == "usual")
            #expect(got.header("X-Empty") == "" && got.header("X-Text") == "a; b: c")
            #expect(got.header("Accept") == "a/b" && got.header("User-Agent") == "mine")
            #expect(got.header("Expect") == nil && got.header("Content-Length") == nil)
        }

        @Test(
            "a method without a body sends a length where servers expect one, and no type",
            arguments: [("GET", nil), ("DELETE", nil), ("OPTIONS", nil), ("POST", "0"), ("PUT", "0"), ("PATCH", "0")]
                as [(String, String?)])
        func methods(method: String, length: String?) async throws {
            _ = try await session.data(for: request { $0.httpMethod = method })
            let got = try #require(server.requests.first)
            #expect(got.method == method && got.header("Content-Length") == length)
            #expect(got.header("Content-Type") == nil && got.body.isEmpty)
        }

        @Test("HEAD has no body, and what comes after it on the connection is right")
        func head() async throws {
            #expect(try await session.response(for: request { $0.httpMethod = "HEAD" }).data.isEmpty)
            #expect(try await session.data(for: request()) == Data("x".utf8))
            #expect(server.connectionCount == 1)
        }

        @Test("paths and queries go out as they are written")
        func paths() async throws {
            server.on("/*", .text("x"))
            for path in ["/a/../b", "/a%2Fb?c=%20d&e", "/%C3%BC"] {
                let url = try #require(URL(string: "http://127.0.0.1:\(server.port)\(path)"))
                _ = try await session.data(for: URLRequest(url: url))
                #expect(server.requests.last?.target == path)
            }
        }

        @Test("a connection that was idle for longer than the session wants is not used again")
        func idleConnections() async throws {
            var options = NetworkSession.CurlOptions()
            options.idleConnectionTimeout = .milliseconds(1)
            let session = NetworkSession(configuration: .patient, transport: .curl(options))
            _ = try await session.data(for: request())
            try await Task.sleep(for: .milliseconds(2_200))
            _ = try await session.data(for: request())
            #expect(server.connectionCount == 2)
        }

        @Test("connections are kept, for requests with a body too", arguments: ["GET", "POST", "PUT"])
        func keptConnections(method: String) async throws {
            let start = ContinuousClock.now
            for count in [0, 10, 100_000] {
                let body = method == "GET" ? nil : Data.pattern(count)
                let sent = request {
                    $0.httpMethod = method
                    $0.httpBody = body
                }
                _ = try await session.data(for: sent)
                #expect(server.requests.last?.body == body ?? Data())
            }
            // A POST does not go over one that was idle for long.
            if method != "POST" || ContinuousClock.now - start < .seconds(4) { #expect(server.connectionCount == 1) }
        }

        @Test("C24: over a kept connection that dies a GET goes again, a POST does not", arguments: [0, 10, 200_000])
        func deadConnections(count: Int) async throws {
            server.on("GET", "/once", .close, .text("x"))
            server.on("POST", "/once", .close)
            _ = try await session.data(for: request())
            #expect(try await session.data(for: request("/once")) == Data("x".utf8))
            #expect(server.requests(to: "/once").count == 2)
            _ = try await session.data(for: request())
            let post = request("/once") {
                $0.httpMethod = "POST"
                $0.httpBody = Data.pattern(count)
            }
            #expect(await error(post)?.urlErrorCode == .networkConnectionLost)
            #expect(server.requests(to: "/once").count == 3)
        }
    }
#endif
