#if canImport(FoundationNetworking)
    import CarriagewayTesting
    import Foundation
    import FoundationNetworking
    import Testing

    @testable import Carriageway

    /// The idle timeouts that the exchanges keep for `URLSession` on Linux, on a clock that stands still until it is moved.
    @Suite(.timeLimit(.minutes(10)))
    struct IdleOverURLSessionTests {
        /// A disk that takes its time, until the barrier is opened.
        private final class SlowDestination: ResponseDestination {
            let isWaiting = Counter()
            private let barrier = DispatchSemaphore(value: 0)

            func letGo() { barrier.signal() }

            func open(
                _ request: URLRequest, flow: @escaping @Sendable (DestinationSignal) -> Void,
                ready: @escaping @Sendable (Result<URLRequest, NetworkError>) -> Void
            ) { ready(.success(request)) }

            var forbidsRetry: Bool { false }
            func response(_ response: HTTPURLResponse) -> Reception { .take(offset: 0, total: nil) }
            func receive(_ data: Data) -> Pressure { .full }
            func paused() {}
            func catchUp() {
                isWaiting.increment()
                barrier.wait()
                barrier.signal()
            }
            func close(_ error: NetworkError?, done: @escaping @Sendable (NetworkError?) -> Void) { done(error) }
            func abandon(done: @escaping @Sendable () -> Void) { done() }
            func settle(isGood: Bool, done: @escaping @Sendable (Result<URL?, NetworkError>) -> Void) {
                done(.success(nil))
            }
        }

        private let server: LoopbackServer
        private let time = VirtualTime()
        private let session: NetworkSession

        init() throws {
            server = try LoopbackServer()
            session = NetworkSession(time: time) { URLSessionTransport(configuration: .ephemeral, events: $0) }
        }

        private func begin(
            _ path: String, to destination: (any ResponseDestination)? = nil
        ) -> Ending {
            var request = URLRequest(url: server.url(path))
            request.timeoutInterval = 10
            let ending = Ending()
            Exchange(request: request, destination: destination, session: session) { _, _, _ in
            } onEnd: {
                ending.end($0)
            }.start()
            return ending
        }

        private final class Ending: Sendable {
            private let outcome = Locked<Exchange.Outcome?>(nil)
            private let counter = Counter()

            func end(_ outcome: Exchange.Outcome) {
                self.outcome.withLock { $0 = outcome }
                counter.increment()
            }

            var result: Result<Exchange.Reply, NetworkError>? { outcome.withLock { $0?.result } }

            func reply() async throws -> Exchange.Reply {
                await counter.wait(for: 1)
                return try #require(try result?.get())
            }
        }

        /// The delegate queue of the session's requests without body.
        private var delegateQueue: DelegateQueue? {
            let line = Mirror(reflecting: session.transport).descendant("line")
            let foundation = line.flatMap { Mirror(reflecting: $0).descendant("session") } as? URLSession
            return foundation?.delegateQueue as? DelegateQueue
        }

        @Test("a transfer is not idle while what has come of it is written")
        func slowDisk() async throws {
            server.on("/", .text("slow"))
            let destination = SlowDestination()
            let ending = begin("/", to: destination)
            await destination.isWaiting.wait(for: 1)
            time.advance(by: .seconds(60))
            destination.letGo()
            #expect(try await ending.reply().length == 4)
        }

        @Test("nor is one whose response waits behind what is written of another")
        func behindSlowDisk() async throws {
            server.on("/", .text("slow"))
            server.on("/other", .text("other"))
            let queue = try #require(delegateQueue)
            let destination = SlowDestination()
            let ending = begin("/", to: destination)
            await destination.isWaiting.wait(for: 1)
            // The block that waits, its task's end, and all three of the other.
            let other = begin("/other")
            while queue.backlog.count < 5 { try await Task.sleep(for: .milliseconds(1)) }
            time.advance(by: .seconds(60))
            destination.letGo()
            #expect(try await other.reply().data == Data("other".utf8))
            #expect(try await ending.reply().length == 4)
        }

        @Test(
            "one that is idle ends, whatever its timeout, and none ends at once",
            arguments: [
                0, -1, .nan, .infinity, -.infinity, 1e300, 60, 59.5, 61, 1e15, 1e16, .leastNonzeroMagnitude,
            ] as [TimeInterval], [60, 30, 90, .nan, .infinity, 1e300, -5, 0] as [TimeInterval])
        func odd(timeout: TimeInterval, usual: TimeInterval) async throws {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForRequest = usual
            let session = NetworkSession(time: time) { URLSessionTransport(configuration: configuration, events: $0) }
            server.on("/", .hang)
            var request = URLRequest(url: server.url())
            request.timeoutInterval = timeout
            let ending = Ending()
            Exchange(request: request, session: session) { _, _, _ in
            } onEnd: {
                ending.end($0)
            }.start()
            let own = timeout > 0 ? timeout : 60
            let kept = Duration.saturating(seconds: timeout == 60 ? (usual > 0 ? usual : 60) : own)
            if timeout != .leastNonzeroMagnitude {
                try await server.waitForRequests(1)
                time.advance(by: kept - .milliseconds(1))
                #expect(ending.result == nil)
            }
            time.advance(by: .milliseconds(2))
            await #expect(throws: NetworkError.self) { try await ending.reply() }
            guard case .failure(let error)? = ending.result else { return }
            #expect(error.urlErrorCode == .timedOut)
            #expect(time.nextDelay == nil)
        }

        @Test("session, queue and delegate go when nobody has the session any longer")
        func released() async throws {
            server.on("/", .text("x"))
            weak var queue: DelegateQueue?
            weak var transport: URLSessionTransport?
            do {
                let session = NetworkSession(configuration: .ephemeral)
                let line = Mirror(reflecting: session.transport).descendant("line")
                let foundation = line.flatMap { Mirror(reflecting: $0).descendant("session") } as? URLSession
                queue = foundation?.delegateQueue as? DelegateQueue
                transport = session.transport as? URLSessionTransport
                #expect(queue != nil && transport != nil)
                for _ in 0..<20 { _ = try await session.data(for: URLRequest(url: server.url())) }
                let last = Task { [url = server.url()] in try? await session.data(for: URLRequest(url: url)) }
                session.finishTasksAndInvalidate()
                _ = await last.value
            }
            await becomesTrue { queue == nil && transport == nil }
        }
    }
#endif
