import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Bodies given to operations, queues and sessions, over real sockets.
@Suite(.overEveryWire)
struct RequestBodyTests {
    private struct User: Codable, Equatable {
        var name = "Ada"
    }

    private let server: LoopbackServer
    private let queue: NetworkQueue
    private let folder: TemporaryFolder

    init() throws {
        server = try LoopbackServer()
        folder = try TemporaryFolder()
        server.on("/up") { .data($0.body, contentType: "application/json") }
        queue = NetworkQueue(session: Wire.session()) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 3)
        }
    }

    private func request(_ path: String = "/up", method: String = "PUT") -> URLRequest {
        var request = URLRequest(url: server.url(path))
        request.httpMethod = method
        return request
    }

    /// Every kind of body with the bytes and the type that it goes out with.
    private func kinds() throws -> [(body: RequestBody, bytes: Data, type: String)] {
        let bytes = Data.pattern(70_000)
        return [
            (.data(bytes), bytes, "application/octet-stream"),
            (.data(Data()), Data(), "application/octet-stream"),
            (.text("häy"), Data("häy".utf8), "text/plain; charset=utf-8"),
            (.json(User()), Data(#"{"name":"Ada"}"#.utf8), "application/json"),
            (.form(User()), Data("name=Ada".utf8), "application/x-www-form-urlencoded"),
            (
                .form([URLQueryItem(name: "b", value: "1 2"), URLQueryItem(name: "a", value: nil)]),
                Data("b=1+2&a=".utf8), "application/x-www-form-urlencoded"
            ),
            (.file(try folder.file("a.json", bytes)), bytes, "application/json"),
            (.file(try folder.file("none", bytes), contentType: "x/y"), bytes, "x/y"),
            (.stream(length: 70_000) { InputStream(data: bytes) }, bytes, "application/octet-stream"),
            (.stream(contentType: "a/b") { InputStream(data: bytes) }, bytes, "a/b"),
        ]
    }

    @Test("every kind arrives whole with its type, and with Content-Length where that is known")
    func kindsArrive() async throws {
        for (body, bytes, type) in try kinds() {
            let data = try await queue.data(for: request(), body: body)
            let sent = try #require(server.requests.last)
            #expect(data == bytes && sent.body == bytes && sent.header("Content-Type") == type)
            if case .stream(nil, _) = body.content {
                #expect(sent.header("Transfer-Encoding") == "chunked")
            } else {
                #expect(sent.header("Content-Length") == String(bytes.count))
            }
        }
    }

    @Test("C31: a retry, and a redirect with 307, send the whole body again, whatever its kind")
    func sentAgain() async throws {
        for (index, (body, bytes, _)) in try kinds().enumerated() {
            server.on("/flaky/\(index)", .reset, .status(503), .redirect(to: "/up", status: 307))
            let response = try await queue.response(for: request("/flaky/\(index)"), body: body)
            #expect(response.data == bytes)
            #expect(server.requests(to: "/flaky/\(index)").map(\.body) == [bytes, bytes, bytes])
            #expect(server.requests.last?.body == bytes)
        }
    }

    @Test("C31: a request's own stream is sent once, and the attempt says why")
    func ownStream() async throws {
        server.on("/down", .status(503))
        var request = request("/down")
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        let operation = queue.send(request)
        await operation.finished()
        #expect(server.requests.count == 1)
        #expect(operation.attempts.last?.notRetried == .bodyNotReplayable)
    }

    @Test("C31: a request's own stream is not sent a second time after a redirect either, which leaves it behind")
    func ownStreamRedirected() async throws {
        server.on("/see", .redirect(to: "/down", status: 303))
        server.on("/down", .status(503))
        var request = request("/see")
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        let operation = queue.send(request)
        await operation.finished()
        #expect(server.requests.map(\.path) == ["/see", "/down"] && server.requests[0].body == Data("x".utf8))
        #expect(operation.attempts.last?.notRetried == .bodyNotReplayable)
        // One that can be had anew is.
        let again = queue.send(self.request("/see"), body: .stream { InputStream(data: Data("y".utf8)) })
        await again.finished()
        let bodies = server.requests(to: "/see").dropFirst().map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies == ["y", "y", "y", "y"])
    }

    @Test("a type of the request's own stays; the body takes the place of the request's own")
    func precedence() async throws {
        var request = request()
        request.setValue("application/vnd.api+json", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data("old".utf8)
        _ = try await queue.data(for: request, body: .json(User()))
        #expect(server.requests[0].header("Content-Type") == "application/vnd.api+json")
        #expect(server.requests[0].body == Data(#"{"name":"Ada"}"#.utf8))
        _ = try await queue.data(for: request, body: .file(try folder.file("f", Data("new".utf8))))
        #expect(server.requests[1].body == Data("new".utf8))
    }

    @Test("every way of sending takes a body")
    func ways() async throws {
        let body = RequestBody.json(User())
        #expect(try await queue.value(for: request(), body: body, as: User.self) == User())
        #expect(try await queue.response(for: request(), body: body).statusCode == 200)
        #expect(try await queue.session.data(for: request(), body: body) == Data(#"{"name":"Ada"}"#.utf8))
        let decoded = await withCheckedContinuation { continuation in
            queue.send(request(), body: body, decoding: User.self) { continuation.resume(returning: $0) }
        }
        #expect(try decoded.get() == User())
        let operation = NetworkOperation(request())
        operation.body = body
        queue.addOperation(operation)
        #expect(try await operation.response.data == Data(#"{"name":"Ada"}"#.utf8))
    }

    @Test("prepare sees bytes from memory, and what it puts in goes first")
    func prepare() async throws {
        let queue = NetworkQueue(session: Wire.session()) {
            $0.prepare = { request in
                request.setValue("\(request.httpBody?.count ?? -1)", forHTTPHeaderField: "X-Signed")
                if request.value(forHTTPHeaderField: "X-Replace") != nil { request.httpBody = Data("other".utf8) }
            }
        }
        _ = try await queue.data(for: request(), body: .text("12345"))
        #expect(server.requests[0].header("X-Signed") == "5" && server.requests[0].body.count == 5)
        let file = RequestBody.file(try folder.file("f", Data("file".utf8)))
        _ = try await queue.data(for: request(), body: file)
        #expect(server.requests[1].header("X-Signed") == "-1" && server.requests[1].body == Data("file".utf8))
        var replaced = request()
        replaced.setValue("1", forHTTPHeaderField: "X-Replace")
        _ = try await queue.data(for: replaced, body: file)
        #expect(server.requests[2].body == Data("other".utf8))
    }

    @Test("what cannot be encoded, is not there or does not fit the method fails before anything leaves")
    func failures() async {
        let unencodable = await failure { () async throws(NetworkError) in
            try await queue.data(for: request(), body: .json(["x": Double.nan]))
        }
        #expect(unencodable?.name == "generalError")
        let list = await failure { () async throws(NetworkError) in
            try await queue.data(for: request(), body: .form([1, 2]))
        }
        #expect(list?.name == "generalError")
        let missing = await failure { () async throws(NetworkError) in
            try await queue.data(for: request(), body: .file(folder.url.appendingPathComponent("none")))
        }
        #expect(missing?.name == "fileError")
        for body in [RequestBody.text("x"), .file(folder.url)] {
            let get = await failure { () async throws(NetworkError) in
                try await queue.data(for: request(method: "GET"), body: body)
            }
            #expect(get?.name == (body.isInMemory ? "invalidRequest" : "fileError"))
        }
        let get = await failure { () async throws(NetworkError) in
            try await queue.data(for: request(method: "GET"), body: .stream { InputStream(data: Data()) })
        }
        #expect(get?.name == "invalidRequest")
        #expect(server.requestCount == 0)
    }

    @Test("a compressed body is read by zlib, as libcurl has it", arguments: [0, 1, 100_000, 3_000_000])
    func gzip(count: Int) async throws {
        let bytes = Data.pattern(count / 2) + Data(count: count - count / 2)
        let body = RequestBody.data(bytes).gzipped()
        _ = try await queue.data(for: request(), body: body)
        let sent = try #require(server.requests.last)
        #expect(sent.header("Content-Encoding") == "gzip")
        #expect(sent.header("Content-Length") == String(sent.body.count))
        if count > 1_000 { #expect(sent.body.count < count * 3 / 4) }
        server.on("/back", .data(sent.body).header("Content-Encoding", "gzip"))
        #expect(try await queue.data(for: request("/back", method: "GET")) == bytes)
    }

    @Test("only what is in memory can be compressed")
    func gzipStream() async throws {
        for body in [RequestBody.file(try folder.file("f", Data("x".utf8))), .stream { InputStream(data: Data()) }] {
            let error = await failure { () async throws(NetworkError) in
                try await queue.data(for: request(), body: body.gzipped())
            }
            #expect(error?.name == "invalidRequest")
        }
        #expect(server.requestCount == 0)
    }

    @Test("a file that changes between attempts is sent as it is then, with its length")
    func changedFile() async throws {
        let file = try folder.file("f", Data("first".utf8))
        server.on("/flaky") { _ in
            try? Data("second one".utf8).write(to: file)
            return .status(503)
        }
        let operation = queue.send(request("/flaky"), body: .file(file))
        await operation.finished()
        #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) }.prefix(2) == ["first", "second one"])
    }
}
