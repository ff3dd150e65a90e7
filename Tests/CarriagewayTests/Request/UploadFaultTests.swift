import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Uploads that are cut, reset or stalled at every tenth of their body, over every transport. One after the other, so that
/// the other tests have something of the machine.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct UploadFaultTests {
    enum Kind: String, CaseIterable {
        case data, file, stream, unmeasuredStream, multipart
    }

    private let server: LoopbackServer
    private let folder: TemporaryFolder
    private let bytes = Data.pattern(1_000_000)

    init() throws {
        server = try LoopbackServer()
        folder = try TemporaryFolder()
        server.on("/up", .text("taken"))
    }

    private func body(_ kind: Kind) throws -> RequestBody {
        let bytes = bytes
        switch kind {
        case .data: return .data(bytes)
        case .file: return .file(try folder.file("body", bytes))
        case .stream: return .stream(length: Int64(bytes.count)) { InputStream(data: bytes) }
        case .unmeasuredStream: return .stream { InputStream(data: bytes) }
        case .multipart:
            var form = MultipartForm()
            form.append(name: "title", value: "a form")
            form.append(name: "file", file: try folder.file("part", bytes))
            form.append(name: "stream", length: 3) { InputStream(data: Data("end".utf8)) }
            return .multipart(form)
        }
    }

    /// Whether a request has brought all of the body.
    private func isWhole(_ sent: LoopbackServer.Request, _ kind: Kind) -> Bool {
        guard kind == .multipart else { return sent.body == bytes }
        let start = sent.body.range(of: bytes)
        return start != nil && sent.body.starts(with: Data("--".utf8)) && sent.body.suffix(4) == Data("--\r\n".utf8)
            && sent.header("Content-Length") == String(sent.body.count)
    }

    private var request: URLRequest {
        var request = URLRequest(url: server.url("/up"))
        request.httpMethod = "PUT"
        request.timeoutInterval = 60
        return request
    }

    @Test(
        "C31: broken off at every tenth of its body, it is sent again whole each time",
        arguments: Wire.all, [LoopbackServer.Response.Cut.close, .reset, .stall])
    func sentAgain(wire: Wire, cut: LoopbackServer.Response.Cut) async throws {
        let queue = NetworkQueue(session: wire.session()) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1_000)
            $0.retryBudget = nil
        }
        for kind in Kind.allCases {
            var request = request
            if case .stall = cut {
                // Each takes ten times half a second. A slow machine may stall more often than it is told to.
                guard [.file, .stream, .multipart].contains(kind) else { continue }
                request.timeoutInterval = 0.5
            }
            server.resetRecords()
            server.interrupt("/up", after: (0..<10).map { bytes.count / 10 * $0 }, then: cut)
            let response = try await queue.response(for: request, body: try body(kind))
            #expect(response.data == Data("taken".utf8))
            // On a connection that it uses again libcurl itself sends a PUT once more, if that is reset before a byte came.
            #expect(response.attempts.count >= 10, "\(kind)")
            // What was broken off is not recorded.
            let last = try #require(server.requests.last)
            #expect(isWhole(last, kind), "\(kind)")
        }
    }

    @Test(
        "C31: a stream that can be had once is not sent again, and the attempt says why",
        arguments: Wire.all, [LoopbackServer.Response.Cut.close, .reset, .stall])
    func once(wire: Wire, cut: LoopbackServer.Response.Cut) async throws {
        let queue = NetworkQueue(session: wire.session()) { $0.retryPolicy = .fixed(interval: .zero, maxRetries: 3) }
        server.interrupt("/up", after: [bytes.count / 2], then: cut)
        var request = request
        if case .stall = cut { request.timeoutInterval = 0.5 }
        request.httpBodyStream = InputStream(data: bytes)
        let operation = queue.send(request)
        await operation.finished()
        #expect(operation.result?.error != nil && operation.attempts.count == 1)
        #expect(operation.attempts.last?.notRetried == .bodyNotReplayable)
        #expect(server.requestCount == 0)
    }

    @Test("C31: a POST that is broken off is not sent again unless it says that it may be", arguments: Wire.all)
    func post(wire: Wire) async throws {
        let queue = NetworkQueue(session: wire.session()) { $0.retryPolicy = .fixed(interval: .zero, maxRetries: 3) }
        var request = request
        request.httpMethod = "POST"
        server.interrupt("/up", after: [bytes.count / 2, bytes.count / 3], then: .reset)
        let operation = queue.send(request, body: try body(.file))
        await operation.finished()
        #expect(operation.attempts.count == 1 && operation.attempts.last?.notRetried == .nonIdempotent)
        request.setValue("abc", forHTTPHeaderField: "Idempotency-Key")
        let response = try await queue.response(for: request, body: try body(.file))
        #expect(response.attempts.count == 2 && server.requests.map(\.body) == [bytes])
    }
}
