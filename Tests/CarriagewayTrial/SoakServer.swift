import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The faults of a soak, and requests that meet them.
enum SoakServer {
    static func install(on server: LoopbackServer, other: LoopbackServer) {
        for one in [server, other] { one.recordsRequests = false }
        let text = LoopbackServer.Response.text(String(repeating: "text ", count: 200))
        let away = other.url("/fine").absoluteString
        for (path, response) in [
            ("/fine", text), ("/chunked", text.chunked(size: 100)), ("/status503", .status(503)),
            ("/status404", .text("missing", status: 404)),
            ("/password", .status(401, headers: ["WWW-Authenticate": "Basic"])),
            ("/reset", .reset), ("/close", .close), ("/cut", text.truncated(after: 100, then: .close)),
            ("/cut-reset", text.truncated(after: 100, then: .reset)), ("/garbage", .raw(Data("garbage\r\n\r\n".utf8))),
            ("/gzip", text.header("Content-Encoding", "gzip")), ("/near", .redirect(to: "/fine")),
            ("/away", .redirect(to: away, status: 307)), ("/loop", .redirect(to: "/loop")), ("/hang", .hang),
            ("/large", .data(Data(count: 200_000)).chunked(size: 10_000)), ("/closing", text.closing),
        ] { server.on(path, response) }
        other.on("/fine", text)
    }

    /// Nine in twenty are fine; a hanging one costs a second, so there are few.
    private static let paths =
        Array(repeating: "/fine", count: 45) + Array(repeating: "/chunked", count: 10)
        + Array(repeating: "/near", count: 4) + Array(repeating: "/closing", count: 4)
        + [
            "/status503", "/status503", "/status404", "/status404", "/password", "/password", "/reset", "/reset",
            "/close",
            "/close", "/cut", "/cut", "/cut-reset", "/garbage", "/gzip", "/gzip", "/away", "/away", "/loop", "/hang",
            "/large",
        ]

    static func ask(
        _ only: String?, _ server: LoopbackServer, _ queue: NetworkQueue, _ random: inout SplitMix,
        _ tally: Locked<SoakTally>
    ) async {
        var request = URLRequest(url: server.url(only ?? paths[random.below(paths.count)]))
        if random.below(5) == 0 {
            request.httpMethod = "POST"
            request.httpBody = Data(count: random.below(5_000))
        }
        request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        tally.withLock { $0.sent += 1 }
        let operation = NetworkOperation(request)
        operation.onCompletion { result in
            tally.withLock { tally in
                tally.ended += 1
                switch result {
                case .success: tally.succeeded += 1
                case .failure(.cancelled): tally.cancelled += 1
                case .failure: break
                }
            }
        }
        queue.addOperation(operation)
        if random.below(20) == 0 {
            let delay = DispatchTimeInterval.microseconds(random.below(3_000))
            DispatchQueue.global().asyncAfter(deadline: .now() + delay) { operation.cancel() }
        }
        _ = try? await operation.response
    }
}
