import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The ways to send a request and to get its response, and the settings of queue and operation.
struct SendingTests {
    private struct User: Codable, Equatable { let name: String }

    @Test("completion handlers get the response, or the value, on the callback queue", arguments: Wire.all)
    func completionHandlers(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/user", .json(User(name: "Ada")))
        let key = DispatchSpecificKey<Bool>()
        let callbacks = DispatchQueue(label: "test.callbacks")
        callbacks.setSpecific(key: key, value: true)
        let queue = NetworkQueue(session: wire.session()) { $0.callbackQueue = callbacks }
        let request = URLRequest(url: server.url("/user"))
        let done = Counter()
        queue.send(request) { result in
            #expect((try? result.get().statusCode) == 200)
            #expect(DispatchQueue.getSpecific(key: key) == true)
            done.increment()
        }
        queue.send(request, decoding: User.self) { result in
            #expect((try? result.get()) == User(name: "Ada"))
            #expect(DispatchQueue.getSpecific(key: key) == true)
            done.increment()
        }
        queue.send(request, decoding: [Int].self) { result in
            guard case .failure(.decodingFailed(_, let response)) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(response.statusCode == 200)
            done.increment()
        }
        await done.wait(for: 3)
    }

    @Test("async calls give response, data and value; past the queue over the session too", arguments: Wire.all)
    func asynchronous(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/user", .json(User(name: "Ada")))
        let queue = NetworkQueue(session: wire.session())
        let request = URLRequest(url: server.url("/user"))
        #expect(try await queue.response(for: request).decoded(as: User.self) == User(name: "Ada"))
        #expect(try await queue.value(for: request, as: User.self) == User(name: "Ada"))
        let inferred: User = try await queue.value(for: request)
        #expect(inferred.name == "Ada")
        queue.isSuspended = true
        #expect(try await queue.session.data(for: request) == JSONEncoder().encode(inferred))
        #expect(try await queue.session.response(for: request).attempts.count == 1)
        queue.cancelAllOperations()
    }

    @Test(
        "a status of 400 and above is an error with response and body, unless validation says otherwise",
        arguments: Wire.all)
    func validation(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/missing", .text("gone", status: 404))
        server.on("/html", .data(Data("<p>".utf8), contentType: "text/html; charset=utf-8"))
        let session = wire.session()
        let queue = NetworkQueue(session: session)
        let missing = URLRequest(url: server.url("/missing"))
        let error = await failure { () async throws(NetworkError) in try await queue.data(for: missing) }
        guard case .endpointError(let response, let body) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(response.statusCode == 404 && body == Data("gone".utf8))
        let lenient = NetworkOperation(missing)
        lenient.validation = .none
        let typed = NetworkOperation(URLRequest(url: server.url("/html")))
        typed.validation = .default.contentTypes("application/json")
        queue.addOperations([lenient, typed], waitUntilFinished: false)
        #expect(try await lenient.response.statusCode == 404)
        let type = await failure { () async throws(NetworkError) in try await typed.response }
        guard case .unacceptableResponse(_, _, reason: "content type text/html") = type else {
            Issue.record("\(String(describing: type))")
            return
        }
        let strict = NetworkQueue(session: session) {
            $0.validation = .statuses(200..<201).checked { _, data in data.isEmpty ? nil : "a body" }
        }
        let checked = await failure { () async throws(NetworkError) in
            try await strict.data(for: URLRequest(url: server.url("/html")))
        }
        guard case .unacceptableResponse(_, _, reason: "a body") = checked else {
            Issue.record("\(String(describing: checked))")
            return
        }
    }

    @Test("no body is a success, unless the operation needs one", arguments: Wire.all)
    func emptyData(wire: Wire) async throws {
        let server = try LoopbackServer()
        server.on("/", .empty(204))
        let queue = NetworkQueue(session: wire.session())
        let request = URLRequest(url: server.url())
        #expect(try await queue.data(for: request).isEmpty)
        let operation = NetworkOperation(request)
        operation.allowsEmptyData = false
        queue.addOperation(operation)
        let error = await failure { () async throws(NetworkError) in try await operation.response }
        #expect(error?.name == "noResponseData")
        let value = await failure { () async throws(NetworkError) in try await queue.value(for: request, as: User.self)
        }
        #expect(value?.name == "noResponseData")
    }

    @Test("progress counts the bytes of the body, is complete at the end, and cancels", arguments: Wire.all)
    func progress(wire: Wire) async throws {
        let server = try LoopbackServer()
        let gate = LoopbackServer.Gate()
        server.on("/big", .data(Data(count: 500_000), contentType: "application/octet-stream"))
        server.on("/held", LoopbackServer.Response.text("x").held(by: gate))
        let queue = NetworkQueue(session: wire.session())
        let big = NetworkOperation(URLRequest(url: server.url("/big")))
        let progress = big.progress
        queue.addOperation(big)
        await big.finished()
        #expect(progress.completedUnitCount == 500_000 && progress.totalUnitCount == 500_000)
        #expect(progress.isFinished)
        let held = NetworkOperation(URLRequest(url: server.url("/held")))
        queue.addOperation(held)
        try await server.waitForRequests(1, to: "/held")
        held.progress.cancel()
        await held.finished()
        #expect(held.result?.isCancelled == true)
    }

    @Test("numbers without sense count as the nearest that has one")
    func clamps() async throws {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session) {
            $0.maxConcurrentRequests = -3
            $0.maxConcurrentRequestsPerHost = 0
            $0.timeout = .seconds(Int64.max)
            $0.retryPolicy = .fixed(interval: .seconds(-5), maxRetries: -1)
        }
        #expect(queue.configuration.maxConcurrentRequests == 1)
        #expect(queue.configuration.maxConcurrentRequestsPerHost == 1)
        #expect(queue.configuration.retryPolicy.maxRetries == 0)
        queue.maxConcurrentOperationCount = -9
        #expect(queue.maxConcurrentOperationCount == OperationQueue.defaultMaxConcurrentOperationCount)
        #expect(try await queue.response(for: request()).statusCode == 200)
        let silent = Stage()
        let late = NetworkOperation(request(), session: silent.session)
        late.timeout = .seconds(-1)
        late.start()
        silent.time.advance(by: .zero)
        await late.finished()
        #expect(late.result?.error?.name == "deadlineExceeded")
    }

    @Test("a handler that is added after the end is called too")
    func lateHandler() async {
        let stage = Stage { _, _ in .status(200) }
        let queue = NetworkQueue(session: stage.session)
        let operation = queue.send(request())
        await operation.finished()
        let called = Counter()
        operation.onCompletion { _ in called.increment() }
        await called.wait(for: 1)
    }

    @Test(
        "requests that cannot be sent fail with a reason and reach no server",
        arguments: ["", "/path", "ftp://a/b", "http://"])
    func invalidRequests(url: String) async {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        var request = request()
        request.url = URL(string: url)
        let error = await failure { () async throws(NetworkError) in try await queue.data(for: request) }
        #expect(error?.name == "invalidRequest")
        let direct = await failure { () async throws(NetworkError) in try await stage.session.data(for: request) }
        #expect(direct?.name == "invalidRequest")
        #expect(stage.transport.sent.isEmpty)
    }
}
