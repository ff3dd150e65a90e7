#if os(Linux)
    import CarriagewayTesting
    import Foundation
    import FoundationNetworking
    import Testing

    @testable import Carriageway

    /// Cookies, times and pausing over libcurl.
    struct CurlSessionTests {
        private let server: LoopbackServer

        init() throws {
            server = try LoopbackServer()
            server.on("/", .text("x"))
        }

        // MARK: Cookies

        @Test("cookies are stored, in order of redirects too, and sent where they belong")
        func cookies() async throws {
            server.on(
                "/set",
                LoopbackServer.Response.text("x").header(
                    "Set-Cookie", "a=1; Path=/; Expires=Wed, 01 Jan 2098 00:00:00 GMT"
                ).header("Set-Cookie", "b=2; Path=/other"))
            server.on("/login", LoopbackServer.Response.redirect(to: "/").header("Set-Cookie", "c=3; Path=/"))
            let session = Wire.curl.session()
            _ = try await session.data(for: URLRequest(url: server.url("/set")))
            _ = try await session.data(for: URLRequest(url: server.url("/")))
            #expect(server.requests.last?.header("Cookie") == "a=1")
            _ = try await session.data(for: URLRequest(url: server.url("/login")))
            let values = server.requests.last?.header("Cookie")?.split(separator: ";").map { $0.filter { $0 != " " } }
            #expect(values.map(Set.init) == ["a=1", "c=3"])
        }

        @Test("a Cookie header of one's own stays, and a request may do without cookies, as may a session")
        func withoutCookies() async throws {
            server.on("/set", LoopbackServer.Response.text("x").header("Set-Cookie", "a=1; Path=/"))
            let session = Wire.curl.session()
            var refusing = URLRequest(url: server.url("/set"))
            refusing.httpShouldHandleCookies = false
            _ = try await session.data(for: refusing)
            _ = try await session.data(for: URLRequest(url: server.url("/")))
            #expect(server.requests.last?.header("Cookie") == nil)
            _ = try await session.data(for: URLRequest(url: server.url("/set")))
            var own = URLRequest(url: server.url("/"))
            own.setValue("mine=1", forHTTPHeaderField: "Cookie")
            _ = try await session.data(for: own)
            #expect(server.requests.last?.header("Cookie") == "mine=1")
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpCookieStorage = nil
            let plain = Wire.curl.session(configuration)
            for path in ["/set", "/"] { _ = try await plain.data(for: URLRequest(url: server.url(path))) }
            #expect(server.requests.last?.header("Cookie") == nil)
        }

        // MARK: Time

        @Test("the time of a whole exchange is limited by timeoutIntervalForResource")
        func resourceTimeout() async {
            server.on(
                "/drip",
                LoopbackServer.Response.text(String(repeating: "x", count: 1_000)).dripped(
                    size: 1, interval: .milliseconds(20)))
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForResource = 0.3
            let session = Wire.curl.session(configuration)
            let url = server.url("/drip")
            let error = await failure { () async throws(NetworkError) in
                try await session.data(for: URLRequest(url: url))
            }
            #expect(error?.urlErrorCode == .timedOut)
        }

        @Test("one that hangs times out by its own time, whatever the others do")
        func manyTimeouts() async throws {
            server.on("/hang", .hang)
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = 0
            let session = Wire.curl.session(configuration)
            let codes = await withTaskGroup(of: URLError.Code?.self) { group in
                for index in 0..<40 {
                    var request = URLRequest(url: server.url("/hang"))
                    request.timeoutInterval = 0.05 + Double(index) * 0.01
                    let sent = request
                    group.addTask {
                        await failure { () async throws(NetworkError) in try await session.data(for: sent) }?
                            .urlErrorCode
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.allSatisfy { $0 == .timedOut })
            #expect(try await session.data(for: URLRequest(url: server.url())) == Data("x".utf8))
        }

        // MARK: Pausing

        /// Keeps what comes of a task.
        private final class Receiver: TransportEvents {
            struct State {
                var count = 0
                var hasResponse = false
                /// The tasks that have ended, in order, and how the last did.
                var ended: [Int] = []
                var end: NetworkError??
            }

            let state = Locked(State())
            let ended = Counter()
            /// When the first data has come, and with each end before that.
            let began = Counter()
            let onData: @Sendable (Int) -> Void

            init(onData: @escaping @Sendable (Int) -> Void = { _ in }) {
                self.onData = onData
            }

            func task(_ identifier: Int, received head: ReceivedHead) {
                state.withLock { $0.hasResponse = true }
            }

            func task(_ identifier: Int, received data: Data) {
                let isFirst = state.withLock { state in
                    state.count += data.count
                    return state.count == data.count
                }
                onData(identifier)
                if isFirst { began.increment() }
            }

            func task(_ identifier: Int, sentBodyBytes count: Int64, of expected: Int64) {}

            func task(_ identifier: Int, completedWith error: NetworkError?) {
                let isBeforeData = state.withLock { state in
                    state.ended.append(identifier)
                    state.end = .some(error)
                    return state.count == 0
                }
                ended.increment()
                if isBeforeData { began.increment() }
            }
        }

        private func transport(_ events: any TransportEvents) throws -> CurlTransport {
            try CurlTransport(configuration: .ephemeral, events: events)
        }

        @Test("a paused task takes no more than a little, others go on; unpaused it gets all, exactly once")
        func pausing() async throws {
            let bytes = Data.pattern(20_000_000)
            server.on("/big", .data(bytes, contentType: "application/octet-stream"))
            let box = Locked<CurlTransport?>(nil)
            let receiver = Receiver { identifier in
                if identifier == 1 { box.withLock { $0 }?.pause(identifier) }
            }
            let transport = try transport(receiver)
            box.withLock { $0 = transport }
            defer { box.withLock { $0 = nil } }
            #expect(transport.canPause)
            _ = transport.start(URLRequest(url: server.url("/big")), body: .none) { $0 == 1 }
            await receiver.began.wait(for: 1)
            for round in 1...20 {
                _ = transport.start(URLRequest(url: server.url()), body: .none) { _ in true }
                await receiver.ended.wait(for: round)
            }
            #expect(receiver.state.withLock { $0.count } < 2_000_000)
            // From now on nothing pauses it, and a pause that is taken back twice is taken back.
            box.withLock { $0 = nil }
            transport.unpause(1)
            transport.unpause(1)
            await receiver.ended.wait(for: 21)
            #expect(receiver.state.withLock { $0.count } == bytes.count + 20)
            #expect(server.requests(to: "/big").count == 1)
            transport.pause(1)
            transport.unpause(99)
            transport.invalidate()
        }

        @Test("a paused task is not idle, and can be cancelled", .timeLimit(.minutes(10)))
        func pausedIsNotIdle() async throws {
            server.on("/big", .data(Data.pattern(20_000_000), contentType: "application/octet-stream"))
            server.on("/hang", .hang)
            let box = Locked<CurlTransport?>(nil)
            let receiver = Receiver { identifier in box.withLock { $0 }?.pause(identifier) }
            let transport = try transport(receiver)
            box.withLock { $0 = transport }
            defer { box.withLock { $0 = nil } }
            var request = URLRequest(url: server.url("/big"))
            request.timeoutInterval = 1
            // A slow machine may be idle for so long before the first byte, but not each time.
            var tries = 0
            repeat {
                tries += 1
                _ = transport.start(request, body: .none) { _ in true }
                await receiver.began.wait(for: tries)
            } while receiver.state.withLock({ $0.count }) == 0 && tries < 100
            #expect(receiver.state.withLock { $0.count } > 0)
            // One that is idle for longer than that one may be.
            request.url = server.url("/hang")
            request.timeoutInterval = 2
            _ = transport.start(request, body: .none) { _ in true }
            await receiver.ended.wait(for: tries)
            #expect(receiver.ended.value == tries)
            #expect(receiver.state.withLock { $0.ended.last } == tries + 1)
            transport.cancel(tries)
            await receiver.ended.wait(for: tries + 1)
            guard case .urlError(let error)?? = receiver.state.withLock({ $0.end }) else {
                Issue.record("not cancelled")
                return
            }
            #expect(error.code == .cancelled)
            transport.invalidate()
        }

        @Test("each task ends once, however many are started, cancelled and paused at random, and all before the end")
        func random() async throws {
            server.on("/slow", LoopbackServer.Response.text("abc").delayed(.milliseconds(3)))
            server.on("/large", .data(Data.pattern(300_000), contentType: "application/octet-stream"))
            let receiver = Receiver()
            let transport = try transport(receiver)
            let paths = ["/", "/slow", "/large"]
            for round in 1...1_500 {
                let path = paths[round % 3]
                #expect(transport.start(URLRequest(url: server.url(path)), body: .none) { _ in true })
                if round % 5 == 0 { transport.pause(round) }
                if round % 2 == 0 { transport.cancel(Int.random(in: max(1, round - 20)...round)) }
                if round % 50 == 0 { try await Task.sleep(for: .milliseconds(1)) }
                if round % 7 == 0 { for other in max(1, round - 60)...round { transport.unpause(other) } }
            }
            for round in 1...1_500 { transport.unpause(round) }
            transport.invalidate()
            #expect(!transport.start(URLRequest(url: server.url()), body: .none) { _ in true })
            await receiver.ended.wait(for: 1_500)
            #expect(receiver.ended.value == 1_500)
        }
    }
#endif
