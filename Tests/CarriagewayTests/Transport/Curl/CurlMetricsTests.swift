#if os(Linux)
    import CarriagewayTesting
    import Foundation
    import FoundationNetworking
    import Testing

    @testable import Carriageway

    /// What libcurl measures of a request, as it arrives in the record of the attempt.
    @Suite("TransferMetrics over libcurl")
    struct CurlMetricsTests {
        private func metrics(_ operation: NetworkOperation) async throws -> [TransferMetrics] {
            await operation.finished()
            return try operation.attempts.map { try #require($0.timing?.transfer) }
        }

        private func expectInOrder(_ metrics: TransferMetrics) {
            let times = [metrics.nameLookedUp, metrics.connected, metrics.secured, metrics.firstByte, metrics.total]
            let taken = times.compactMap { $0 }
            #expect(taken == taken.sorted() && taken.allSatisfy { $0 > .zero }, "\(metrics)")
        }

        @Test("C34: a new connection and a kept one are told apart, the times are in order, and every byte counts")
        func connections() async throws {
            let server = try LoopbackServer()
            let answer = "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhello"
            server.on("/", .raw(Data(answer.utf8), thenClose: false))
            let queue = NetworkQueue(session: Wire.curl.session())
            var put = URLRequest(url: server.url())
            put.httpMethod = "PUT"
            // As large as what goes out with the head, and larger.
            for (index, count) in [1_000, 200_000].enumerated() {
                put.httpBody = Data.pattern(count)
                let measured = try #require(try await metrics(queue.send(put)).first)
                expectInOrder(measured)
                #expect(measured.isReusedConnection == (index > 0))
                #expect((measured.connected == nil) == (index > 0) && measured.secured == nil)
                #expect(measured.firstByte != nil && measured.networkProtocolName == "http/1.1")
                #expect(measured.headerBytesReceived == Int64(answer.utf8.count - 5))
                #expect(measured.bodyBytesReceived == 5 && measured.bodyBytesSent == Int64(count))
            }
        }

        @Test("they are those of the last request, after a redirect, and each attempt has its own")
        func attempts() async throws {
            let server = try LoopbackServer()
            server.on("/old", .status(503, body: Data(count: 50_000)), .redirect(to: "/new"))
            server.on("/new", .data(Data(count: 10)))
            let queue = NetworkQueue(session: Wire.curl.session()) {
                $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1)
            }
            let measured = try await metrics(queue.send(URLRequest(url: server.url("/old"))))
            #expect(measured.count == 2)
            #expect(measured.map(\.bodyBytesReceived) == [50_000, 10])
            #expect(!measured[0].isReusedConnection && measured[1].isReusedConnection)
        }

        @Test("bytes that came compressed count as they came")
        func compressed() async throws {
            let server = try LoopbackServer()
            let queue = NetworkQueue(session: Wire.curl.session())
            server.on("/echo") { .data($0.body).header("Content-Encoding", "gzip") }
            var put = URLRequest(url: server.url("/echo"))
            put.httpMethod = "PUT"
            let operation = NetworkOperation(put, body: .data(Data(count: 1_000_000)).gzipped())
            queue.addOperation(operation)
            let measured = try #require(try await metrics(operation).first)
            #expect(operation.attempts.first?.timing?.bytesReceived == 1_000_000)
            #expect(measured.bodyBytesReceived == Int64(server.requests.last?.body.count ?? 0))
        }

        @Test(
            "over TLS, with HTTP/2: the name, the connection and the handshake one after the other, then many over it")
        func secure() async throws {
            guard let server = try await TLSServer() else { return }
            let session = NetworkSession(serverTrust: .anchors([server.certificate]), transport: Wire.curl.kind)
            let queue = NetworkQueue(session: session)
            let url = try #require(URL(string: "https://localhost:\(server.port)/"))
            let first = try #require(try await metrics(queue.send(URLRequest(url: url))).first)
            expectInOrder(first)
            #expect(first.nameLookedUp != nil && first.connected != nil && first.secured != nil)
            #expect(first.networkProtocolName == (CurlLibrary.has(CurlLibrary.http2) ? "h2" : "http/1.1"))
            var post = URLRequest(url: url)
            post.httpMethod = "POST"
            post.httpBody = Data(count: 5_000)
            #expect(try await metrics(queue.send(post)).first?.bodyBytesSent == 5_000)
            for operation in (0..<10).map({ _ in queue.send(URLRequest(url: url)) }) {
                let later = try #require(try await metrics(operation).first)
                #expect(later.isReusedConnection && later.secured == nil)
                #expect(later.networkProtocolName == first.networkProtocolName)
            }
        }

        @Test(
            "a request that libcurl does not take has none, and not those of the one before; the next is none the worse"
        )
        func refused() async throws {
            let server = try LoopbackServer()
            server.on("/", .text("x"))
            let queue = NetworkQueue(session: Wire.curl.session())
            let first = queue.send(URLRequest(url: server.url()))
            #expect(try await metrics(first).first?.bodyBytesReceived == 1)
            // Its limit for any text.
            let long = queue.send(URLRequest(url: server.url("/" + String(repeating: "x", count: 8_000_001))))
            await long.finished()
            #expect(long.attempts.count == 1 && long.attempts.first?.timing?.transfer == nil)
            #expect(long.result?.error?.name == "invalidRequest" && long.result?.error?.shouldRetry == false)
            let later = try #require(try await metrics(queue.send(URLRequest(url: server.url()))).first)
            #expect(later.bodyBytesReceived == 1 && server.requestCount == 2)
        }

        @Test("of a request that nobody answered there is what there was")
        func failed() async throws {
            let server = try LoopbackServer()
            server.on("/", .reset)
            let queue = NetworkQueue(session: Wire.curl.session()) { $0.retryPolicy = .never }
            let reset = try #require(try await metrics(queue.send(URLRequest(url: server.url()))).first)
            expectInOrder(reset)
            #expect(reset.connected != nil && reset.firstByte == nil && reset.networkProtocolName == nil)
            #expect(reset.headerBytesReceived == 0 && !reset.isReusedConnection)
            let closed = try ClosedPort()
            defer { closed.letGo() }
            let refused = queue.send(URLRequest(url: closed.url()))
            await refused.finished()
            let measured = refused.attempts.first?.timing?.transfer
            #expect(measured?.connected == nil && measured?.isReusedConnection != true)
        }
    }
#endif
