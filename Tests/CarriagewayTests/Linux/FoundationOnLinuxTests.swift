#if canImport(FoundationNetworking)
    import CarriagewayTesting
    import Foundation
    import FoundationNetworking
    import Testing

    @testable import Carriageway

    /// What Foundation on Linux does wrong, on `URLSession` itself, without this package. Each is an expectation that fails
    /// on the day that Foundation mends it: then what works around it can go.
    struct FoundationOnLinuxTests {
        /// The outcome of a plain data task.
        private func send(
            _ request: URLRequest, _ configuration: URLSessionConfiguration = .ephemeral
        ) async -> (data: Data?, error: URLError?) {
            let session = URLSession(configuration: configuration)
            defer { session.finishTasksAndInvalidate() }
            return await withCheckedContinuation { continuation in
                session.dataTask(with: request) { data, _, error in
                    // Not on Foundation's own queue, where nothing may wait.
                    DispatchQueue.global().async { continuation.resume(returning: (data, error as? URLError)) }
                }.resume()
            }
        }

        @Test("redirects: Authorization goes to another origin, a body is lost, a relative Location is misread")
        func redirects() async throws {
            let first = try LoopbackServer()
            let second = try LoopbackServer()
            second.on("/*", .text("x"))
            first.on("/*", .text("x"))
            let away = second.url("/away").absoluteString
            first.on("/a/away", .redirect(to: away, status: 307))
            first.on("/a/relative", .redirect(to: "sub"))
            var request = URLRequest(url: first.url("/a/away"))
            request.httpMethod = "POST"
            request.httpBody = Data("body".utf8)
            request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
            _ = await send(request)
            #expect(second.requests.first?.header("Authorization") == "Bearer secret")
            #expect(second.requests.first?.body.isEmpty == true)
            _ = await send(URLRequest(url: first.url("/a/relative")))
            #expect(first.requests.last?.path == "/sub")
        }

        @Test("the time for the whole resource is not kept")
        func resourceTimeout() async throws {
            let server = try LoopbackServer()
            server.on("/", LoopbackServer.Response.text("0123456789").dripped(size: 1, interval: .milliseconds(200)))
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForResource = 1
            #expect(await send(URLRequest(url: server.url()), configuration).data?.count == 10)
        }

        @Test("codes: a body cut short, a broken gzip and an IPv6 address have other ones than on Apple's systems")
        func codes() async throws {
            let server = try LoopbackServer()
            let text = LoopbackServer.Response.text("some text")
            server.on("/cut", text.truncated(after: 4, then: .close))
            server.on("/gzip", text.header("Content-Encoding", "gzip"))
            server.on("/close", .close)
            server.on("/garbage", .raw(Data("garbage\r\n\r\n".utf8)))
            for (path, code) in [
                ("/cut", URLError.Code.unknown), ("/gzip", .unknown), ("/close", .badServerResponse),
                ("/garbage", .unsupportedURL),
            ] {
                #expect(await send(URLRequest(url: server.url(path))).error?.code == code)
            }
            let address = URLRequest(url: try #require(URL(string: "http://[::1]:\(server.port)/")))
            #expect(await send(address).error?.code == .badURL)
        }

        /// Hears what comes of tasks, and wants none of it.
        private final class Listener: NSObject, URLSessionDataDelegate {
            let metrics = Counter()
            let ends = Counter()
            let bytes = Locked(0)
            let errors = Counter()

            func urlSession(
                _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
                completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
            ) {
                completionHandler(.cancel)
            }

            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
                bytes.withLock { $0 += data.count }
            }

            func urlSession(
                _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
            ) {
                self.metrics.increment()
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                if error != nil { errors.increment() }
                ends.increment()
            }
        }

        @Test(
            "C34: a response that is to be cancelled is not, a delegate of the task hears nothing, there are no metrics"
        )
        func delegates() async throws {
            let server = try LoopbackServer()
            server.on("/", .data(Data(count: 10_000)))
            let (listener, own) = (Listener(), Listener())
            let session = URLSession(configuration: .ephemeral, delegate: listener, delegateQueue: nil)
            let task = session.dataTask(with: server.url())
            task.delegate = own
            task.resume()
            await listener.ends.wait(for: 1)
            session.finishTasksAndInvalidate()
            #expect(listener.bytes.withLock { $0 } == 10_000 && listener.errors.value == 0)
            #expect(own.ends.value == 0 && listener.metrics.value == 0 && own.metrics.value == 0)
        }

        @Test("two equal protection spaces are different")
        func protectionSpaces() {
            let spaces = (0..<2).map { _ in
                URLProtectionSpace(host: "a", port: 80, protocol: "http", realm: "r", authenticationMethod: nil)
            }
            #expect(spaces[0] != spaces[1])
        }

        @Test(
            "K1 and its like kill the process: trailers, a head that breaks off; K11, K15: a protocol's redirect, a late delegate",
            arguments: ["trailers", "cut-head", "protocol-redirect", "late-delegate"])
        func deaths(name: String) async throws {
            let trial = try #require(TrialProcess.executable())
            let outcome = try await TrialProcess.run(trial.path, [name])
            #expect(outcome.status != 0 && outcome.status != 1 && outcome.status != 64, "it lives: \(outcome.text)")
        }
    }
#endif
