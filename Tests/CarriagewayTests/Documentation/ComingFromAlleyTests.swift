import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The right sides of "Coming from Alley".
struct ComingFromAlleyTests {
    private struct KeyAuthenticator: Authenticator {
        let hosts: Set<String> = ["stub.test:80"]

        func apply(_ credential: String, to request: inout URLRequest) {
            request.setValue(credential, forHTTPHeaderField: "X-Key")
        }

        func refresh(_ credential: String, over session: NetworkSession) async throws -> String { credential }
    }

    private let server: LoopbackServer
    private let folder: TemporaryFolder

    init() throws {
        server = try LoopbackServer()
        folder = try TemporaryFolder()
        server.on("/x", .text("data"))
        server.on("PUT", "/x") { .data($0.body) }
        server.on("/empty", .empty(200))
    }

    @Test("parity: perform(request, maxRetries:, allowEmptyData:) with a handler; alleyData with typed throws")
    func sending() async throws {
        let queue = NetworkQueue(session: NetworkSession(configuration: .ephemeral))
        let request = URLRequest(url: server.url("/x"))
        let data = try await queue.data(for: request)
        let called = Counter()
        queue.send(request) { result in
            #expect((try? result.get().data) == data)
            called.increment()
        }
        await called.wait(for: 1)
        let operation = NetworkOperation(URLRequest(url: server.url("/empty")))
        operation.allowsEmptyData = false
        queue.addOperation(operation)
        do {
            _ = try await operation.response
        } catch {
            // The type is known without a cast.
            let error: NetworkError = error
            guard case .noResponseData = error else { throw error }
        }
        #expect(operation.result?.error?.name == "noResponseData")
    }

    @Test("parity: 10 retries, 0.5 s apart")
    func retries() async {
        let stage = Stage { _, _ in .status(503) }
        let queue = NetworkQueue(session: stage.session) {
            $0.retryPolicy = .fixed(interval: .milliseconds(500), maxRetries: 10)
        }
        let operation = queue.send(request())
        for retry in 1...10 {
            await stage.time.waitForTimers(retry)
            #expect(stage.time.nextDelay == .milliseconds(500))
            stage.time.advance(by: .milliseconds(500))
        }
        await operation.finished()
        guard case .inaccessible(after: 11, _) = operation.result?.error else {
            Issue.record("\(String(describing: operation.result))")
            return
        }
        #expect(stage.transport.sent.count == 11)
    }

    @Test("parity: retried are timedOut and its like, 408, 429, 444, 503, 504, 599")
    func transient() {
        let codes: [URLError.Code] = [
            .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
            .notConnectedToInternet,
        ]
        for code in codes {
            let error = Made.urlError(code)
            #expect(error.shouldRetry)
        }
        for status in [408, 429, 444, 503, 504, 599] { #expect(Made.status(status).shouldRetry) }
        for status in [400, 401, 403, 404, 501] { #expect(!Made.status(status).shouldRetry) }
    }

    @Test(
        "parity: errors urlError, generalError, invalidResponseType, endpointError, noResponseData, inaccessible, cancelled"
    )
    func errors() throws {
        let url = try #require(URL(string: "https://user:hunter2@a.test/x?token=hunter2"))
        let http = Made.response(404, ["Set-Cookie": "hunter2"], url: url.absoluteString)
        let other = URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
        struct Hunter2: Error {}
        let errors: [NetworkError] = [
            .urlError(URLError(.timedOut)), .generalError(URLError(.badURL)), .invalidResponseType(other),
            .endpointError(http, Data("hunter2".utf8)), .noResponseData(http),
            .inaccessible(after: 2, last: .endpointError(http, Data("hunter2".utf8))), .cancelled,
        ]
        for error in errors {
            #expect(error.localizedDescription.count > 10)
            #expect(!"\(error) \(error.localizedDescription) \(String(reflecting: error))".contains("hunter2"))
        }
    }

    @Test("parity: alleyDownload, alleyUpload, alleyBytes")
    func transfers() async throws {
        let queue = NetworkQueue(session: NetworkSession(configuration: .ephemeral))
        let request = URLRequest(url: server.url("/x"))
        let target = folder.url.appendingPathComponent("x")
        let source = try folder.file("source", Data("upload".utf8))
        let download = try await queue.download(request, to: target)
        #expect(try Data(contentsOf: target) == Data("data".utf8) && download.statusCode == 200)
        var upload = URLRequest(url: server.url("/x"))
        upload.httpMethod = "PUT"
        let echo = try await queue.data(for: upload, body: .file(source))
        #expect(echo == Data("upload".utf8))
        var bytes = Data()
        for try await chunk in queue.bytes(for: request) {
            bytes += chunk
        }
        #expect(bytes == Data("data".utf8))
    }

    @Test("parity: a place for authentication in the chain")
    func authentication() async throws {
        let stage = Stage { _, _ in .status(200) }
        let session = stage.session
        let authentication = Authentication(KeyAuthenticator(), credential: "key")
        let queue = NetworkQueue(session: session, authentication: authentication)
        _ = try await queue.response(for: request())
        #expect(stage.transport.sent.first?.request.value(forHTTPHeaderField: "X-Key") == "key")
    }
}
