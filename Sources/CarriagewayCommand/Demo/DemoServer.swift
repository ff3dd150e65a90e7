import CarriagewayTesting
import Foundation

/// The server of the demonstration, which says what arrives.
final class DemoServer: Sendable {
    /// What a login gives.
    struct Token: Codable, Sendable {
        let token: String
    }

    private static let token = Token(token: "a-token-of-the-demonstration")
    /// What needs the renewed token.
    static let renewedNames = ["mail", "tasks", "notes", "photos", "music"]
    private static let renewedToken = "a-renewed-token"

    private let server: LoopbackServer
    private let expiredGate = LoopbackServer.Gate()
    private let reportGate = LoopbackServer.Gate()

    var port: Int { server.port }
    var requestCount: Int { server.requestCount }

    init(timeline: Timeline) throws {
        server = try LoopbackServer()
        server.on("POST", "/login") { _ in
            timeline.add("login", "POST /login reaches the server, answered 200 with a token")
            return .json(Self.token)
        }
        for name in ["profile", "messages"] {
            server.on("/\(name)") { Self.answer(to: $0, timeline) }
        }
        let orders = Attempts(timeline: timeline)
        server.on("/orders") { orders.answer(to: $0) }
        for name in ["news", "weather"] {
            server.on("/\(name)") { _ in
                timeline.add(name, "GET /\(name) reaches the server, answered 200")
                return .text(name)
            }
        }
        server.on("/report") { [reportGate] _ in
            timeline.add("report", "GET /report reaches the server, which does not answer yet")
            return .text("report").held(by: reportGate)
        }
        server.on("/account") { _ in
            timeline.add("account", "GET /account reaches the server, answered 404")
            return .text("no such account", status: 404)
        }
        addRenewal(timeline)
    }

    private func addRenewal(_ timeline: Timeline) {
        for name in Self.renewedNames {
            server.on("/\(name)") { [expiredGate] request in
                let isGood = request.header("Authorization") == "Bearer \(Self.renewedToken)"
                let answer = isGood ? "the new token, answered 200" : "the expired token, answered 401"
                timeline.add(name, "GET /\(name) reaches the server with \(answer)")
                return isGood ? .text(name) : .status(401).held(by: expiredGate)
            }
        }
        server.on("POST", "/token") { _ in
            timeline.add("token", "POST /token reaches the server, answered 200 with a new token")
            return .json(["access_token": Self.renewedToken, "refresh_token": "the-next-refresh-token"])
        }
    }

    /// Lets the answers to expired tokens go once so many requests are there; false if they do not come.
    func answerExpired(_ count: Int) async -> Bool {
        let isThere = await Self.hasArrivals(count, at: expiredGate)
        expiredGate.open()
        return isThere
    }

    func url(_ path: String) -> URL { server.url(path) }

    func requestCount(of path: String) -> Int { server.requests(to: path).count }

    /// Whether the report has been asked for; waits for it a while.
    func waitForReport() async -> Bool {
        await Self.hasArrivals(1, at: reportGate)
    }

    /// Whether so many requests have come to a gate; waits for them a while.
    private static func hasArrivals(_ count: Int, at gate: LoopbackServer.Gate) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { (try? await gate.waitForArrivals(count)) != nil }
            group.addTask {
                try? await Task.sleep(for: .seconds(10))
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    private static func answer(
        to request: LoopbackServer.Request, _ timeline: Timeline
    ) -> LoopbackServer.Response {
        let name = String(request.path.dropFirst())
        let isKnown = hasToken(request)
        timeline.add(
            name,
            "GET \(request.path) reaches the server \(isKnown ? "with the token, answered 200" : "without a token, 401")"
        )
        return isKnown ? .text(name) : .status(401)
    }

    private static func hasToken(_ request: LoopbackServer.Request) -> Bool {
        request.header("Authorization") == "Bearer \(token.token)"
    }
}

extension DemoServer {
    /// A resource that is busy twice. Its state is touched on the server's thread only.
    private final class Attempts: @unchecked Sendable {
        private let timeline: Timeline
        private var count = 0
        private var lastAnswer: ContinuousClock.Instant?

        init(timeline: Timeline) {
            self.timeline = timeline
        }

        func answer(to request: LoopbackServer.Request) -> LoopbackServer.Response {
            count += 1
            let pause =
                lastAnswer.map { ", after \((request.arrived - $0).inWholeMilliseconds) ms of backoff" } ?? ""
            let status = !DemoServer.hasToken(request) ? 401 : count < 3 ? 503 : 200
            timeline.add("orders", "attempt \(count)\(pause): GET /orders, answered \(status)")
            lastAnswer = .now
            return .text("orders", status: status)
        }
    }
}

extension Duration {
    /// Rounded down.
    var inWholeMilliseconds: Int64 { Int64(inSeconds * 1_000) }
}
