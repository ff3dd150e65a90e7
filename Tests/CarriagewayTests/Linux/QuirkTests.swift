import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Deaths and hangs of Foundation on Linux that are not met by way of this package, whatever its user does. The others are
/// in `ProcessDeathTests`, in processes of their own, with the list of all.
@Suite(.overEveryWire)
struct QuirkTests {
    private let server: LoopbackServer
    private let queue = NetworkQueue(session: Wire.session()) { $0.retryPolicy = .never }

    init() throws {
        server = try LoopbackServer()
        server.on("/", .text("x"))
    }

    @Test("K9: a redirect that is refused on a download is its end, and no file", arguments: [301, 302, 303, 307, 308])
    func refusedRedirectOfDownload(status: Int) async throws {
        server.on("/old", .status(status, headers: ["Location": "/"], body: Data("moved".utf8)))
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("file")
        let operation = NetworkOperation(download: URLRequest(url: server.url("/old")), to: file)
        operation.redirects = .refuse
        queue.addOperation(operation)
        let error = await failure { () async throws(NetworkError) in try await operation.response }
        #expect(error?.response?.statusCode == status && folder.names.isEmpty)
        #expect(server.requestCount == 1)
    }

    /// Answers by itself.
    private final class OwnProtocol: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "stub.invalid" }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func stopLoading() {}
        override func startLoading() {
            guard let url = request.url,
                let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:])
            else { return }
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: Data("stubbed".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
    }

    @Test("K10: a download that a URLProtocol answers is a file; libcurl knows nothing of those")
    func downloadFromProtocol() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [OwnProtocol.self]
        let queue = NetworkQueue(session: Wire.session(configuration)) { $0.retryPolicy = .never }
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("file")
        let request = URLRequest(url: Made.url("http://stub.invalid/"))
        let error = await failure { () async throws(NetworkError) in try await queue.download(request, to: file) }
        switch Wire.current {
        case .urlSession:
            #expect(error == nil)
            #expect(try Data(contentsOf: file) == Data("stubbed".utf8))
        #if os(Linux)
            case .curl: #expect(error?.urlErrorCode == .cannotFindHost)
        #endif
        }
    }

    @Test("K13: a body that is opened may send requests over the same queue meanwhile")
    func requestsFromBody() async throws {
        server.on("/up") { .data($0.body) }
        var put = URLRequest(url: server.url("/up"))
        put.httpMethod = "PUT"
        let inner = Locked<[NetworkOperation]>([])
        let (queue, url) = (queue, server.url())
        let body = RequestBody.stream {
            for _ in 0..<3 {
                let operation = queue.send(URLRequest(url: url))
                inner.withLock { $0.append(operation) }
            }
            _ = queue.progress
            queue.send(URLRequest(url: url)).cancel()
            return InputStream(data: Data("body".utf8))
        }
        #expect(try await queue.data(for: put, body: body) == Data("body".utf8))
        for operation in inner.withLock({ $0 }) { #expect(try await operation.response.data == Data("x".utf8)) }
    }

    @Test("K14: a body from a file URL that is none is a clear error, and nothing is sent")
    func foreignFile() async {
        var put = URLRequest(url: server.url())
        put.httpMethod = "PUT"
        let request = put
        for url in ["http://127.0.0.1/file", "data:,x", "relative"] {
            let body = RequestBody.file(URL(string: url) ?? server.url())
            let error = await failure { () async throws(NetworkError) in try await queue.data(for: request, body: body)
            }
            #expect(error?.name == "invalidRequest", "\(url): \(String(describing: error))")
        }
        #expect(server.requestCount == 0)
    }

    @Test("H2: one with a scheme that nobody knows ends, also when it is cancelled at once")
    func unknownScheme() async {
        for scheme in ["ftp", "ws", "gopher", "x-none", "file"] {
            let request = URLRequest(url: Made.url("\(scheme)://127.0.0.1:\(server.port)/"))
            let cancelled = queue.send(request)
            cancelled.cancel()
            let refused = queue.send(request)
            for operation in [cancelled, refused] { await operation.finished() }
            #expect(cancelled.result?.isCancelled == true || cancelled.result?.error?.name == "invalidRequest")
            #expect(refused.result?.error?.name == "invalidRequest")
        }
        #expect(server.requestCount == 0)
    }

    @Test("H6: a request that is added just as what it waits for ends is sent all the same")
    func lostWakeUp() async throws {
        let (queue, url) = (queue, server.url())
        let others = [NetworkQueue(session: Wire.session()), OperationQueue()]
        for index in 0..<200 {
            let dependent = NetworkOperation(URLRequest(url: url))
            if index.isMultiple(of: 2) {
                // Its handlers are called when it is about to be finished.
                let dependency = NetworkOperation(URLRequest(url: url))
                dependent.addDependency(dependency)
                dependency.onCompletion { _ in queue.addOperation(dependent) }
                others[0].addOperation(dependency)
            } else {
                let dependency = BlockOperation {}
                dependent.addDependency(dependency)
                others[1].addOperation(dependency)
                queue.addOperation(dependent)
            }
            #expect(try await dependent.response.data == Data("x".utf8))
        }
        #expect(server.requestCount == 300)
    }

    @Test("H7: a dependency that is on the wire and is taken back is not waited for, before and after adding")
    func removedDependency() async throws {
        server.on("/never", .hang)
        let never = queue.send(URLRequest(url: server.url("/never")))
        try await server.waitForRequests(1, to: "/never")
        let before = NetworkOperation(URLRequest(url: server.url()))
        before.addDependency(never)
        before.removeDependency(never)
        queue.addOperation(before)
        #expect(try await before.response.data == Data("x".utf8))
        let after = NetworkOperation(URLRequest(url: server.url()))
        after.addDependency(never)
        queue.addOperation(after)
        after.removeDependency(never)
        #expect(try await after.response.data == Data("x".utf8))
        let cancelled = NetworkOperation(URLRequest(url: server.url()))
        cancelled.addDependency(never)
        queue.addOperation(cancelled)
        cancelled.cancel()
        cancelled.removeDependency(never)
        await cancelled.finished()
        #expect(cancelled.result?.isCancelled == true && !never.isFinished)
        never.cancel()
        await never.finished()
    }

    @Test("H11: a handler may wait for another request, on the queue on which all handlers run")
    func waitingHandler() async throws {
        let callbacks = OperationQueue()
        callbacks.maxConcurrentOperationCount = 1
        let waited = Counter()
        let (queue, url) = (queue, server.url())
        queue.send(URLRequest(url: url)) { _ in
            let other = queue.send(URLRequest(url: url)) { _ in waited.increment() }
            queue.waitUntilAllOperationsAreFinished()
            #expect((try? other.result?.get().data) == Data("x".utf8))
            waited.increment()
        }
        callbacks.addOperation {
            let operation = queue.send(URLRequest(url: url))
            operation.waitUntilFinished()
            #expect(operation.isFinished && operation.result?.error == nil)
            waited.increment()
        }
        await waited.wait(for: 3)
    }
}
