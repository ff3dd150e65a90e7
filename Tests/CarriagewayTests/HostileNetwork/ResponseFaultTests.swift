import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a broken response becomes: the table of "What a broken response becomes" in the README, line by line.
@Suite(.overEveryWire)
struct ResponseFaultTests {
    /// A response in bytes, and what it becomes.
    struct Fault: Sendable, CustomTestStringConvertible {
        let name: String
        let response: LoopbackServer.Response
        let code: URLError.Code
        let isTransient: Bool

        var testDescription: String { name }
    }

    private static func bytes(_ text: String) -> LoopbackServer.Response { .raw(Data(text.utf8)) }

    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let long = String(repeating: "x", count: 200_000)

    private static let lost: [Fault] = [
        ("reset before the first byte", .reset), ("closed before the first byte", .close),
        ("reset after the head", LoopbackServer.Response.text("some text").truncated(after: 0, then: .reset)),
        ("reset in the body", LoopbackServer.Response.text("some text").truncated(after: 4, then: .reset)),
        (
            "shorter than its Content-Length",
            LoopbackServer.Response.text("some text").truncated(after: 4, then: .close)
        ),
        ("chunks that break off", bytes(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")),
        ("a chunk that breaks off", bytes(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhe")),
    ].map { Fault(name: $0, response: $1, code: .networkConnectionLost, isTransient: true) }

    private static let nonsense: [Fault] = [
        ("bytes that are no HTTP", bytes("this is not HTTP\r\n\r\n")),
        ("a status line without numbers", bytes("HTTP/1.1 abc OK\r\n\r\n")),
        ("a header line of 200 KB", bytes(ok + "X-Long: \(long)\r\n\r\n")),
        ("a header line without a colon", bytes(ok + "Content-Length\r\nX-A: b\r\n\r\n")),
        ("a header line with a NUL", bytes(ok + "X\0A: b\r\nX-A: b\r\n\r\n")),
        ("a version that there is not", bytes("HTTP/7.1 200 OK\r\nX-A: b\r\n\r\nx")),
        ("a Content-Length that is no number", bytes(ok + "Content-Length: many\r\n\r\nbody")),
        ("a chunk size that is no number", bytes(ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n")),
    ].map { Fault(name: $0, response: $1, code: .cannotParseResponse, isTransient: false) }

    private static let coded: [Fault] = [
        ("gzip that is none", LoopbackServer.Response.text("plain").header("Content-Encoding", "gzip")),
        ("deflate that is none", LoopbackServer.Response.text("plain").header("Content-Encoding", "deflate")),
    ].map { Fault(name: $0, response: $1, code: .cannotDecodeRawData, isTransient: false) }

    private static let unknown: [Fault] = [
        ("an unknown Content-Encoding", LoopbackServer.Response.text("plain").header("Content-Encoding", "secret"))
    ].map { Fault(name: $0, response: $1, code: .cannotDecodeContentData, isTransient: false) }

    @Test("it fails with the code that Apple's systems give", arguments: lost + nonsense + coded + unknown)
    func faults(fault: Fault) async throws {
        let server = try LoopbackServer()
        server.on("/", fault.response)
        let operation = NetworkOperation(URLRequest(url: server.url()), session: Wire.session())
        operation.retryPolicy = .never
        operation.timeout = .seconds(300)
        operation.start()
        let error = await failure { () async throws(NetworkError) in try await operation.response }
        #expect(error?.urlErrorCode == fault.code, "\(String(describing: error))")
        #expect(error?.shouldRetry == fault.isTransient)
    }

    #if os(Linux)
        @Test(
            "heads that browsers read: URLSession on Linux cannot, libcurl can",
            arguments: [
                ok + "Content-Length:4\r\n\r\nbody", "HTTP/1.1 200 OK\nContent-Length: 4\n\nbody",
                "HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nbody", ok + "X-Blanks:   \r\nContent-Length: 4\r\n\r\nbody",
            ])
        func looseHeads(text: String) async throws {
            let server = try LoopbackServer()
            server.on("/", Self.bytes(text))
            let session = Wire.session()
            let request = URLRequest(url: server.url())
            switch Wire.current {
            case .urlSession:
                let error = await failure { () async throws(NetworkError) in try await session.data(for: request) }
                #expect(error?.urlErrorCode == .cannotParseResponse && error?.shouldRetry == false)
            case .curl: #expect(try await session.data(for: request) == Data("body".utf8))
            }
        }
    #endif

    /// A response in bytes, and the status, the body and the header `X-Seen` that arrive.
    struct Oddity: Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: String
        var status = 200
        var body = ""
        var seen: String?

        var testDescription: String { name }
    }

    private static let oddities: [Oddity] = [
        Oddity(name: "more bytes than its Content-Length", bytes: ok + "Content-Length: 3\r\n\r\nabcdef", body: "abc"),
        Oddity(name: "an empty body", bytes: ok + "Content-Length: 0\r\n\r\n"),
        Oddity(name: "the close is the end", bytes: "HTTP/1.0 200 OK\r\n\r\nabc", body: "abc"),
        Oddity(
            name: "an unknown status", bytes: "HTTP/1.1 299 Odd\r\nContent-Length: 1\r\n\r\na", status: 299, body: "a"),
        Oddity(
            name: "equal headers are joined", bytes: ok + "X-Seen: 1\r\nX-Seen: 2\r\nContent-Length: 0\r\n\r\n",
            seen: "1, 2"),
        Oddity(
            name: "chunks", bytes: ok + "Transfer-Encoding: chunked\r\n\r\n1;x=y\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
            body: "abc"),
        Oddity(
            name: "fifty informational responses first",
            bytes: String(repeating: "HTTP/1.1 103 Early Hints\r\nX-Seen: no\r\n\r\n", count: 50) + ok
                + "Content-Length: 1\r\n\r\na", body: "a"),
        Oddity(
            name: "204 with a length", bytes: "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc", status: 204),
        Oddity(
            name: "205 with a body", bytes: "HTTP/1.1 205 Reset Content\r\nContent-Length: 3\r\n\r\nabc", status: 205),
        Oddity(name: "304 with a length", bytes: "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", status: 304),
    ]

    @Test("odd responses arrive as they are meant", arguments: oddities)
    func odd(oddity: Oddity) async throws {
        let server = try LoopbackServer()
        server.on("/", Self.bytes(oddity.bytes))
        let operation = NetworkOperation(URLRequest(url: server.url()), session: Wire.session())
        operation.retryPolicy = .never
        operation.validation = .none
        operation.timeout = .seconds(300)
        operation.start()
        let response = try await operation.response
        #expect(response.statusCode == oddity.status)
        #expect(String(decoding: response.data, as: UTF8.self) == oddity.body)
        if let seen = oddity.seen { #expect(response.http.value(forHTTPHeaderField: "X-Seen") == seen) }
    }

    @Test("HEAD has no body, whatever length it gives")
    func head() async throws {
        let server = try LoopbackServer()
        server.on("/", Self.bytes(Self.ok + "Content-Length: 500\r\n\r\n"))
        var request = URLRequest(url: server.url())
        request.httpMethod = "HEAD"
        let response = try await Wire.session().response(for: request)
        #expect(response.data.isEmpty && response.http.value(forHTTPHeaderField: "Content-Length") == "500")
    }

    @Test("bytes after one response are never the next one's", arguments: ["GET", "PUT"])
    func leftOver(method: String) async throws {
        let server = try LoopbackServer()
        let answer = "Content-Length: 2\r\n\r\nok"
        server.on("/", .raw(Data("\(Self.ok)\(answer)HTTP/1.1 500 Smuggled\r\n\(answer)".utf8), thenClose: false))
        server.on("/next", .text("next"))
        let session = Wire.session()
        var request = URLRequest(url: server.url())
        request.httpMethod = method
        #expect(try await session.data(for: request) == Data("ok".utf8))
        #expect(try await session.data(for: URLRequest(url: server.url("/next"))) == Data("next".utf8))
    }
}
