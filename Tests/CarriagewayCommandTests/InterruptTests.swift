import CarriagewayTesting
import Foundation
import Testing

@testable import CarriagewayCommand

@Suite("Ctrl-C, SIGTERM and a reader that leaves", .timeLimit(.minutes(10)))
struct InterruptTests {
    private let server: LoopbackServer
    private let gate = LoopbackServer.Gate()

    init() throws {
        server = try LoopbackServer()
        server.on("/quick", .text("quick"))
        server.on("/held*", LoopbackServer.Response.text("held").held(by: gate))
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    @Test("Ctrl-C ends what runs and what waits, and says what was not fetched", arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) async throws {
        // On a host of its own: in line for the same one it may come behind those that are held.
        let other = try LoopbackServer()
        other.on("/quick", .text("quick"))
        let quick = other.url("/quick").absoluteString
        let child = try CommandProcess(["--per-host", "2", quick, url("/held1"), url("/held2"), url("/held3")])
        #expect(await child.firstLine().hasSuffix("/quick"))
        try await gate.waitForArrivals(2)
        child.send(signal)
        let outcome = await child.outcome()
        #expect(outcome.status == 128 + signal)
        #expect(outcome.output.isEmpty)
        #expect(
            outcome.errors == """
                carriageway: interrupted; not fetched (3 of 4):
                  \(url("/held1"))
                  \(url("/held2"))
                  \(url("/held3"))

                """)
        try await server.waitForOpenConnections(atMost: 0)
        #expect(server.requestCount == 2)
    }

    @Test("Ctrl-C during a backoff does not wait for it")
    func duringBackoff() async throws {
        server.on("/busy", .status(503, headers: ["Retry-After": "50"]))
        let child = try CommandProcess(["--json", url("/busy")])
        try await server.waitForRequests(1, to: "/busy")
        try await server.waitUntilIdle()
        child.send(SIGINT)
        let outcome = await child.outcome()
        #expect(outcome.status == 130)
        #expect(outcome.output.contains(#""notFetched":1"#))
        #expect(outcome.errors.contains("not fetched (1 of 1)"))
    }

    @Test("a second Ctrl-C ends the process while the first is still being told")
    func twice() async throws {
        // More lines than a pipe holds: the first signal's report cannot end, as nobody reads it.
        let urls = (0..<1_000).map { url("/held" + String(repeating: "x", count: 100) + "\($0)") }
        let child = try CommandProcess(["--json"] + urls)
        try await gate.waitForArrivals(1)
        child.send(SIGINT)
        _ = await child.firstLine()
        child.send(SIGINT)
        #expect(await child.status() == 130)
        let outcome = await child.outcome()
        #expect(!outcome.output.contains("summary"))
        #expect(outcome.errors.isEmpty)
    }

    @Test("a reader that leaves ends the work without a word or a trap")
    func closedOutput() async throws {
        let child = try CommandProcess([url("/quick"), url("/held")], hasReader: false)
        let outcome = await child.outcome(readsOutput: false)
        #expect(outcome.status == 1)
        #expect(outcome.errors.isEmpty)
    }

    @Test("the story goes on to its end without a reader")
    func closedStory() async throws {
        let outcome = try await CommandProcess([], hasReader: false).outcome(readsOutput: false)
        #expect(outcome.status == 0)
        #expect(outcome.errors.isEmpty)
    }
}
