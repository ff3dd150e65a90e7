import Foundation

/// An HTTP/1.1 server on 127.0.0.1 for tests, inside the test's own process.
///
/// It answers as its routes say, the broken ways of real servers included, records what it is sent, and lets a test wait
/// for events in place of sleeping.
///
/// ```swift
/// let server = try LoopbackServer()
/// server.on("/users") { request in
///     .text("hello \(request.query["name"] ?? "")")
/// }
/// server.on("/flaky", .status(503), .reset, .text("ok"))
///
/// let url = server.url("/users?name=Ada")
/// let (data, _) = try await URLSession.shared.data(from: url)
/// try await server.waitForRequests(1, to: "/users")
/// ```
///
/// Connections stay open between requests as HTTP/1.1 has it, pipelined requests are answered in order, and a
/// connection that the client closes while its answer waits (for time, for a gate, or for ever) is closed here too. All
/// connections share one thread, on which handlers run: a handler must not block.
public final class LoopbackServer: Sendable {
    /// The port, chosen by the system.
    public let port: Int

    private let parts: Parts
    /// Tells the server's own thread from others while it runs.
    private let thread: ObjectIdentifier

    /// What the server and its loop share. None of it leads back to the server.
    struct Parts {
        let mailbox: Mailbox
        let routes = Routes()
        let records = Records()
        let settings = Settings()
    }

    /// Listens at once. Also raises the process's limit of open files to 8,192, as far as the system allows it.
    ///
    /// - Throws: ``Failure/system(call:code:)`` when no port can be had.
    public convenience init() throws {
        try self.init(address: 0x7F00_0001)
    }

    /// Listens on another address, 0 for all: for trials in a network of their own.
    package init(address: UInt32) throws {
        Sockets.raiseFileLimit(to: 8192)
        let listener = try Sockets.listener(address: address)
        do {
            let parts = Parts(mailbox: try Mailbox())
            self.parts = parts
            port = listener.port
            let thread = Thread { EventLoop(listener: listener.descriptor, parts: parts).run() }
            thread.name = "LoopbackServer \(port)"
            thread.stackSize = 2 << 20
            self.thread = ObjectIdentifier(thread)
            thread.start()
        } catch {
            Sockets.dispose(of: listener.descriptor)
            throw error
        }
    }

    deinit {
        stop()
    }

    /// Closes the listener and all connections, ends the thread and lets go all handlers. Returns when that is done,
    /// except on the server's own thread. Can be called any number of times; the records can still be read afterwards.
    public func stop() {
        parts.mailbox.post(.stop)
        // A handler may stop the server, or let go the last reference to it.
        if ObjectIdentifier(Thread.current) != thread { parts.mailbox.waitUntilFinished() }
    }

    /// The URL of a path, with or without a query. What a URL cannot hold is percent-encoded.
    public func url(_ path: String = "/") -> URL {
        let base = "http://127.0.0.1:\(port)"
        let text = path.hasPrefix("/") ? base + path : "\(base)/\(path)"
        let encoded = text.addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed.union(["%", "#"])) ?? base
        // "127.0.0.1:PORT" followed by allowed characters is always a URL.
        return URL(string: encoded)!
    }

    /// Whether `Expect: 100-continue` is answered with 100 before the body has come. True unless changed; a server that
    /// leaves it unanswered is allowed too (RFC 9110, section 10.1.1).
    public var answersExpectContinue: Bool {
        get { parts.settings.current.answersExpectContinue }
        set { parts.settings.update { $0.answersExpectContinue = newValue } }
    }

    /// The most bytes a request body may have, 1 GB unless changed. A larger one is answered 413.
    public var bodyLimit: Int {
        get { parts.settings.current.bodyLimit }
        set { parts.settings.update { $0.bodyLimit = max(0, newValue) } }
    }
}

// MARK: - Routes

extension LoopbackServer {
    /// Answers a request. It runs on the server's thread and must not block.
    public typealias Handler = @Sendable (Request) -> Response

    /// Answers every method at this path. The path is compared percent-decoded and without query; a trailing "*" stands
    /// for any rest. The most specific route wins: an exact path before a pattern, a longer pattern before a shorter
    /// one, one for a method before one for all. A later route takes the place of an equal one.
    ///
    /// The server keeps the handler until it stops; one that captures the server itself keeps it alive.
    public func on(_ path: String, _ handler: @escaping Handler) {
        parts.routes.add(.handler(handler), method: nil, pattern: path)
    }

    /// Answers one method at this path. A route for GET answers HEAD too, unless HEAD has its own.
    public func on(_ method: String, _ path: String, _ handler: @escaping Handler) {
        parts.routes.add(.handler(handler), method: method, pattern: path)
    }

    /// Answers the first request with the first of these, the second with the second, and so on; the last repeats.
    public func on(_ path: String, _ first: Response, _ rest: Response...) {
        on(path, script: [first] + rest)
    }

    /// The same for one method.
    public func on(_ method: String, _ path: String, _ first: Response, _ rest: Response...) {
        on(method, path, script: [first] + rest)
    }

    /// The same from an array. An empty script is as no route.
    public func on(_ path: String, script: [Response]) {
        parts.routes.add(.script(script), method: nil, pattern: path)
    }

    /// The same from an array, for one method.
    public func on(_ method: String, _ path: String, script: [Response]) {
        parts.routes.add(.script(script), method: method, pattern: path)
    }
}

// MARK: - Faults

extension LoopbackServer {
    /// Breaks requests off while their bodies come: the first to this path once `lengths[0]` bytes of its body have been
    /// read, or at most 64 KB more, the next one at `lengths[1]`, and so on; those after them are answered as the routes
    /// say. A request with a shorter body is answered too. What is broken off is not recorded.
    ///
    /// After `.stall` nothing more of the connection is read, and it stays open until the server stops.
    public func interrupt(_ path: String, after lengths: [Int], then cut: Response.Cut) {
        let path = RequestTarget.decoded(path)
        parts.settings.update { $0.interruptions[path] = Settings.Interruptions(lengths: lengths[...], cut: cut) }
    }
}

// MARK: - Records

extension LoopbackServer {
    /// All requests in the order of arrival: when the last byte had been read. A request is recorded before its route
    /// is asked.
    public var requests: [Request] { parts.records.read { $0.requests } }

    /// The requests to one path, whatever their query.
    public func requests(to path: String) -> [Request] { parts.records.read { $0.requests(to: path) } }

    /// Whether requests are kept, true unless changed. Without, only the counts go on: for benchmarks and large bodies.
    public var recordsRequests: Bool {
        get { parts.records.read { $0.keepsRequests } }
        set { parts.records.update { $0.keepsRequests = newValue } }
    }

    /// How many requests have arrived since the start or the last ``resetRecords()``.
    public var requestCount: Int { parts.records.read { $0.requestCount } }

    /// How many connections have been accepted in all.
    public var connectionCount: Int { parts.records.read { $0.connectionCount } }

    /// How many connections are open now.
    public var openConnections: Int { parts.records.read { $0.openConnections } }

    /// The highest number of requests that had been read and not yet been answered to the end, at one time.
    public var peakConcurrency: Int { parts.records.read { $0.peak } }

    /// The same for the requests to one path.
    public func peakConcurrency(of path: String) -> Int {
        let path = RequestTarget.decoded(path)
        return parts.records.read { $0.peakByPath[path] ?? 0 }
    }

    /// Forgets the requests, their count and the peaks. Connections and numbers go on counting, and what is in flight
    /// stays so: a client can have its answer a moment before the server counts it as ended, so await
    /// ``waitUntilIdle()`` first where the new peak matters.
    public func resetRecords() {
        parts.records.update { $0.reset() }
    }

    /// Returns once that many requests have arrived in all, or to one path.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server stops.
    public func waitForRequests(_ count: Int, to path: String? = nil) async throws {
        try await parts.records.wait(for: .requests(count, path: path))
    }

    /// The same, blocking the thread; false when the time is up or the server has stopped.
    public func waitForRequestsBlocking(_ count: Int, to path: String? = nil, timeout: Duration) -> Bool {
        parts.records.waitBlocking(for: .requests(count, path: path), timeout: timeout)
    }

    /// Returns once no request is without its whole answer, be it that the client has left. Throws as
    /// ``waitForRequests(_:to:)`` does.
    public func waitUntilIdle() async throws {
        try await parts.records.wait(for: .idle)
    }

    /// Returns once at most that many connections are open. Throws as ``waitForRequests(_:to:)`` does.
    public func waitForOpenConnections(atMost count: Int) async throws {
        try await parts.records.wait(for: .openConnections(count))
    }
}

extension LoopbackServer {
    /// Why the server cannot do what was asked.
    public enum Failure: Error, Equatable, LocalizedError, CustomStringConvertible {
        /// A system call failed, with its `errno`.
        case system(call: String, code: Int32)
        /// The server has stopped; what was waited for cannot come any more.
        case stopped

        /// One sentence.
        public var description: String {
            switch self {
            case .system(let call, let code):
                "LoopbackServer cannot listen: \(call) failed, \(String(cString: strerror(code))) (errno \(code))"
            case .stopped: "LoopbackServer has stopped"
            }
        }

        /// The same as ``description``.
        public var errorDescription: String? { description }
    }
}
