import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What the library is for, in one run against a server inside the process, told as it happens.
///
/// Everything that the lines say was seen, by the server or by a handler; what differs from the story is named in the
/// end and makes the run fail.
final class Demo {
    private let timeline = Timeline()
    private var requests: [DemoRequest] = []
    private var differences: [String] = []

    /// Tells the story.
    ///
    /// - Returns: the exit status.
    func run() async -> Int32 {
        let server: DemoServer
        do {
            server = try DemoServer(timeline: timeline)
        } catch {
            Console.complain("\(error)")
            return 1
        }
        let queue = makeQueue()
        timeline.title("carriageway: fourteen requests to a server inside this process, on port \(server.port)")
        await showDependencies(queue, server)
        await showSuspension(queue, server)
        await showCancelling(queue, server)
        await showFailure(queue, server)
        await showRenewal(over: queue.session, server)
        return conclude()
    }

    private func makeQueue() -> NetworkQueue {
        let timeline = timeline
        return NetworkQueue(session: NetworkSession()) {
            $0.timeout = .seconds(10)
            // No jitter, for a story that is the same each time. After a 503 the base counts twice.
            let backoff = Backoff.exponential(base: .milliseconds(100), jitter: .none)
            $0.retryPolicy = .custom(maxRetries: 3, backoff: backoff) { context in
                if context.error.shouldRetry {
                    let name = context.request.url?.lastPathComponent ?? ""
                    timeline.add(name, "attempt \(context.attempts.count) failed: back in line after a backoff")
                }
                return .automatic
            }
        }
    }

    // MARK: The chapters

    private func showDependencies(_ queue: NetworkQueue, _ server: DemoServer) async {
        timeline.title("A login, and three requests that are built from its answer")
        var request = URLRequest(url: server.url("/login"))
        request.httpMethod = "POST"
        request.httpBody = Data(#"{"user": "ada"}"#.utf8)
        let login = add("login", "POST /login", NetworkOperation(request), expected: "200", attempts: 1)
        for (name, attempts) in [("profile", 1), ("orders", 3), ("messages", 1)] {
            let url = server.url("/\(name)")
            let operation = NetworkOperation(after: login) { response in
                let token = try response.decoded(as: DemoServer.Token.self).token
                var request = URLRequest(url: url)
                request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
                return request
            }
            add(name, "GET /\(name)", operation, expected: "200", attempts: attempts)
        }
        timeline.add("queue", "takes the three first and login last: the order does not matter")
        queue.addOperations(requests.reversed().map(\.operation), waitUntilFinished: false)
        for request in requests { await request.end() }
    }

    private func showSuspension(_ queue: NetworkQueue, _ server: DemoServer) async {
        timeline.title("The queue is suspended and resumed")
        queue.isSuspended = true
        timeline.add("queue", "suspended; takes news and weather")
        let before = server.requestCount
        let waiting = ["news", "weather"].map { name in
            let operation = NetworkOperation(URLRequest(url: server.url("/\(name)")))
            add(name, "GET /\(name)", operation, expected: "200", attempts: 1)
            queue.addOperation(operation)
            return operation
        }
        // Time must pass, for there to be something that did not happen.
        try? await Task.sleep(for: .milliseconds(200))
        let sent = server.requestCount - before
        timeline.add("queue", "200 ms later: \(sent) of \(waiting.count) requests have reached the server; resumed")
        check(sent == 0, "nothing goes out while the queue is suspended")
        queue.isSuspended = false
        for request in requests.suffix(waiting.count) { await request.end() }
    }

    private func showCancelling(_ queue: NetworkQueue, _ server: DemoServer) async {
        timeline.title("A request is cancelled while the server lets it wait")
        let operation = NetworkOperation(URLRequest(url: server.url("/report")))
        let report = add("report", "GET /report", operation, expected: "cancelled", attempts: 1)
        queue.addOperation(report)
        check(await server.waitForReport(), "the report is asked for")
        timeline.add("report", "cancelled by its caller")
        report.cancel()
        await requests.last?.end()
    }

    private func showFailure(_ queue: NetworkQueue, _ server: DemoServer) async {
        timeline.title("A request fails, and the one that depends on it with it")
        let accountRequest = URLRequest(url: server.url("/account"))
        let account = add("account", "GET /account", NetworkOperation(accountRequest), expected: "404", attempts: 1)
        let invoiceURL = server.url("/invoice")
        let invoice = NetworkOperation(after: account) { _ in URLRequest(url: invoiceURL) }
        add("invoice", "GET /invoice", invoice, expected: "account failed", attempts: 0)
        queue.addOperations([invoice, account], waitUntilFinished: false)
        for request in requests.suffix(2) { await request.end() }
        check(server.requestCount(of: "/invoice") == 0, "the invoice is never sent")
    }

    private func showRenewal(over session: NetworkSession, _ server: DemoServer) async {
        timeline.title("A token has expired: five requests, one renewal")
        let timeline = timeline
        let authenticator = OAuth2Authenticator(
            tokenURL: server.url("/token"), clientID: "demonstration", hosts: ["127.0.0.1:\(server.port)"])
        let expired = OAuth2Credential(accessToken: "an-expired-token", refreshToken: "a-refresh-token")
        let authentication = Authentication(authenticator, credential: expired)
        authentication.onCredentialChange = { _ in
            timeline.add("token", "the new token is stored, before any request has it")
        }
        let queue = NetworkQueue(session: session, authentication: authentication) { $0.timeout = .seconds(10) }
        for name in DemoServer.renewedNames {
            let operation = NetworkOperation(URLRequest(url: server.url("/\(name)")))
            queue.addOperation(add(name, "GET /\(name)", operation, expected: "200", attempts: 2))
        }
        let names = DemoServer.renewedNames
        check(await server.answerExpired(names.count), "all of them are on the wire with the expired token")
        for request in requests.suffix(names.count) { await request.end() }
        check(server.requestCount(of: "/token") == 1, "one renewal serves them all")
    }

    @discardableResult
    private func add(
        _ name: String, _ line: String, _ operation: NetworkOperation, expected: String, attempts: Int
    ) -> NetworkOperation {
        requests.append(
            DemoRequest(
                name: name, line: line, operation: operation, expected: expected, expectedAttempts: attempts,
                timeline: timeline))
        return operation
    }

    // MARK: The end

    private func check(_ isSo: Bool, _ claim: String) {
        if !isSo { differences.append(claim) }
    }

    private func conclude() -> Int32 {
        timeline.title("Summary")
        for row in DemoTable(requests: requests).rows { timeline.line(row) }
        for request in requests where !request.isAsExpected {
            differences.append(
                "\(request.name) ends with \(request.expected) after \(request.expectedAttempts) attempts")
        }
        timeline.line("")
        for difference in differences { timeline.line("Not as told: \(difference).") }
        if differences.isEmpty { timeline.line("All \(requests.count) requests ended as the story says.") }
        return differences.isEmpty ? 0 : 1
    }
}
