import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Bodies over real sockets, below the operation.
struct TransportBodyTests {
    private let server: LoopbackServer
    private let sessions = Dictionary(uniqueKeysWithValues: Wire.all.map { ($0, $0.session()) })
    private let folder: TemporaryFolder

    init() throws {
        server = try LoopbackServer()
        folder = try TemporaryFolder()
        server.on("/up", .text("taken"))
    }

    private func send(
        _ body: TransportBody?, over wire: Wire, to path: String = "/up",
        change: (inout URLRequest) -> Void = { _ in }
    ) async -> Result<Exchange.Reply, NetworkError> {
        guard let session = sessions[wire] else { return .failure(.sessionInvalidated) }
        var request = URLRequest(url: server.url(path))
        request.httpMethod = "PUT"
        request.timeoutInterval = 300
        request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
        change(&request)
        let sent = request
        return await withCheckedContinuation { continuation in
            Exchange(request: sent, body: body, session: session) { _, _, _ in
            } onEnd: {
                continuation.resume(returning: $0.result)
            }.start()
        }
    }

    @Test("a body of known length goes out with Content-Length, whole", arguments: Wire.all, [0, 1, 65_536, 300_001])
    func knownLength(wire: Wire, count: Int) async throws {
        let bytes = Data.pattern(count)
        let file = try folder.file("body", bytes)
        let bodies: [TransportBody] = [
            .data(bytes), .file(file), .stream(length: Int64(count)) { InputStream(data: bytes) },
        ]
        for body in bodies { _ = try await send(body, over: wire).get() }
        #expect(server.requests.count == bodies.count)
        for request in server.requests {
            #expect(request.body == bytes)
            #expect(request.header("Content-Length") == String(count))
            #expect(request.header("Transfer-Encoding") == nil)
            #expect(request.header("Expect") == nil)
        }
    }

    @Test("a stream of unknown length goes out in chunks, whole", arguments: Wire.all)
    func unknownLength(wire: Wire) async throws {
        let bytes = Data.pattern(200_000)
        _ = try await send(.stream(length: nil) { InputStream(data: bytes) }, over: wire).get()
        let request = try #require(server.requests.first)
        #expect(request.body == bytes)
        #expect(request.header("Transfer-Encoding") == "chunked" && request.header("Content-Length") == nil)
    }

    @Test("no body has no bytes", arguments: Wire.all)
    func none(wire: Wire) async throws {
        _ = try await send(TransportBody.none, over: wire).get()
        #expect(server.requests.first?.body.isEmpty == true)
    }

    @Test(
        "a stream with fewer or more bytes than it says fails with that reason, and never looks complete",
        arguments: Wire.all)
    func wrongLength(wire: Wire) async {
        for length in [9, 11] as [Int64] {
            let result = await send(.stream(length: length) { InputStream(data: Data("ten bytes.".utf8)) }, over: wire)
            guard case .failure(.invalidRequest(let reason)) = result else {
                Issue.record("\(length): \(result)")
                continue
            }
            #expect(reason.contains(length == 9 ? "more bytes" : "fewer bytes"))
        }
        let negative = await send(.stream(length: -1) { InputStream(data: Data("x".utf8)) }, over: wire)
        #expect(throws: NetworkError.self) { try negative.get() }
        #expect(server.requests.isEmpty)
    }

    @Test("a file that is not there, or is a folder, fails with a file error; nothing is sent", arguments: Wire.all)
    func noFile(wire: Wire) async {
        for url in [folder.url.appendingPathComponent("missing"), folder.url] {
            let result = await send(.file(url), over: wire)
            guard case .failure(.fileError) = result else {
                Issue.record("\(result)")
                continue
            }
        }
        let remote = await send(.file(server.url("/up")), over: wire)
        guard case .failure(.invalidRequest) = remote else {
            Issue.record("\(remote)")
            return
        }
        #expect(server.requestCount == 0)
    }

    @Test("what the opening of a stream throws is the result", arguments: Wire.all)
    func openingFails(wire: Wire) async {
        struct Broken: Error {}
        let result = await send(.stream(length: 3) { throw Broken() }, over: wire)
        guard case .failure(.generalError(let error)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(error is Broken)
        #expect(server.requestCount == 0)
    }

    @Test("after 307 and 308 the body is opened anew and sent whole; after 303 it is left behind", arguments: Wire.all)
    func redirects(wire: Wire) async throws {
        server.on("/307", .redirect(to: "/up", status: 307))
        server.on("/308", .redirect(to: "/up", status: 308))
        server.on("/303", .redirect(to: "/up", status: 303))
        let bytes = Data.pattern(100_000)
        let opened = Counter()
        let body = TransportBody.stream(length: 100_000) {
            opened.increment()
            return InputStream(data: bytes)
        }
        for path in ["/307", "/308"] { _ = try await send(body, over: wire, to: path).get() }
        #expect(opened.value == 4)
        #expect(server.requests(to: "/up").map(\.body) == [bytes, bytes])
        _ = try await send(body, over: wire, to: "/303").get()
        #expect(opened.value == 5)
        #expect(server.requests(to: "/up").last?.method == "GET")
        #expect(server.requests(to: "/up").last?.body.isEmpty == true)
    }

    @Test("a request's own data and its own stream are sent as before", arguments: Wire.all)
    func ownBody(wire: Wire) async throws {
        _ = try await send(nil, over: wire) { $0.httpBody = Data("own".utf8) }.get()
        _ = try await send(nil, over: wire) { $0.httpBodyStream = InputStream(data: Data("streamed".utf8)) }.get()
        #expect(server.requests.map(\.body) == [Data("own".utf8), Data("streamed".utf8)])
    }

    #if canImport(FoundationNetworking)
        @Test(
            "a body, and a POST without one, goes over a connection of its own, whether or not the server ends it and says so",
            arguments: ["close, then", "keep-alive"], [true, false])
        func ownConnection(said: String, ends: Bool) async throws {
            let answer = "HTTP/1.1 200 OK\r\nConnection: \(said)\r\nContent-Length: 2\r\n\r\nok"
            server.on("/up", .raw(Data(answer.utf8), thenClose: ends))
            for round: UInt64 in 0..<4 {
                let body: TransportBody? = round.isMultiple(of: 2) ? .data(Data.pattern(10, seed: round)) : nil
                _ = try await send(body, over: .urlSession) { $0.httpMethod = "POST" }.get()
            }
            #expect(Set(server.requests.map(\.connection)).count == 4)
            #expect(server.requests.map(\.body.count) == [10, 0, 10, 0])
        }

        /// libcurl took such a connection for the next request, found it dead, and sent that again without its body: both sides
        /// waited for the other then, in one of sixty.
        @Test("a server that ends each connection without saying so gets each body once, however many come at once")
        func silentEnds() async throws {
            server.on("/up", .raw(Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)))
            for _ in 0..<40 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for round: UInt64 in 0..<6 {
                        group.addTask {
                            _ = try await send(.data(Data.pattern(10_000, seed: round)), over: .urlSession).get()
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(server.requests.count == 240)
            #expect(server.requests.allSatisfy { $0.body.count == 10_000 })
        }
    #endif

    #if canImport(FoundationNetworking)
        @Test("tasks cannot be paused on Linux, and asking for it does no harm")
        func pausing() async throws {
            let session = try #require(sessions[.urlSession])
            #expect(!session.transport.canPause)
            session.transport.pause(1)
            session.transport.unpause(1)
            _ = try await send(.data(Data("x".utf8)), over: .urlSession).get()
        }
    #endif
}
