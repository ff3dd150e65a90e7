import CarriagewayTesting
import Foundation
import Testing

@testable import CarriagewayCommand

@Suite("The command as a process", .timeLimit(.minutes(10)))
struct CommandTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    private func fields(of line: some StringProtocol) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    // MARK: Without URLs

    @Test("without arguments it tells its story, in order and in narrow lines")
    func story() async throws {
        let outcome = try await CommandProcess.run()
        #expect(outcome.status == 0, "\(outcome.output)")
        #expect(outcome.errors.isEmpty)
        #expect(outcome.output.contains("All 14 requests ended as the story says."))
        #expect(outcome.output.contains("0 of 2 requests have reached the server"))
        #expect(outcome.output.contains("attempt 3, after "))
        #expect(outcome.output.components(separatedBy: "with the expired token, answered 401").count == 6)
        #expect(outcome.output.components(separatedBy: "POST /token reaches the server").count == 2)
        #expect(outcome.output.components(separatedBy: "with the new token, answered 200").count == 6)
        #expect(outcome.lines.allSatisfy { $0.count <= 100 })
        #expect(!outcome.output.contains("\u{1B}"))
        let times = outcome.lines.compactMap { line in
            line.wholeMatch(of: /\s*(\d+) ms  .*/).flatMap { Int($0.output.1) }
        }
        #expect(times.count > 20)
        #expect(times == times.sorted())
    }

    @Test("help and version are printed and are no failure")
    func help() async throws {
        let help = try await CommandProcess.run("--help")
        #expect(help.status == 0)
        #expect(help.output.contains("--concurrency N"))
        let version = try await CommandProcess.run("--version")
        #expect(version.status == 0)
        #expect(version.output == "carriageway \(Help.version)\n")
    }

    @Test(
        "wrong arguments are told in one line, with status 64",
        arguments: [
            ["--bogus"], ["--timeout"], ["--timeout", "soon", "http://a/"], ["--concurrency", "-1", "http://a/"],
            ["--json"], ["--header", "secret", "http://a/"], ["example.com"], ["http://"], [""],
        ])
    func usage(arguments: [String]) async throws {
        let outcome = try await CommandProcess(arguments).outcome()
        #expect(outcome.status == 64)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("carriageway: "))
        #expect(outcome.errors.filter { $0 == "\n" }.count == 1 && outcome.errors.hasSuffix("\n"))
        #expect(!outcome.errors.contains("secret"))
    }

    // MARK: Fetching

    @Test("each URL has a line: status, bytes, attempts, time, URL")
    func success() async throws {
        server.on("/a", .text("hello"))
        server.on("/flaky", .status(503), .text("ok"))
        let outcome = try await CommandProcess.run(url("/a"), url("/flaky"))
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.errors.isEmpty)
        #expect(outcome.lines.count == 2)
        let line = try #require(outcome.lines.first { $0.hasSuffix("/a") })
        #expect(try /200 +5 bytes +1 attempt +0\.\d{3} s +http:.*/.wholeMatch(in: line) != nil, "\(line)")
        let retried = try #require(outcome.lines.first { $0.hasSuffix("/flaky") })
        #expect(try /200 +2 bytes +2 attempts +\d\.\d{3} s +http:.*/.wholeMatch(in: retried) != nil, "\(retried)")
    }

    @Test("one failure among successes makes the status 1")
    func failure() async throws {
        server.on("/a", .text("hello"))
        server.on("/close", .close)
        let outcome = try await CommandProcess.run("--retries", "0", url("/a"), url("/missing"), url("/close"))
        #expect(outcome.status == 1)
        #expect(outcome.errors == "carriageway: 2 of 3 failed\n")
        #expect(outcome.lines.contains { $0.hasPrefix("404 ") && $0.contains(" 1 attempt ") })
        #expect(outcome.lines.contains { $0.hasPrefix("--- ") && $0.contains("The transfer failed") })
    }

    @Test("a failing URL is tried as often as --retries says")
    func retries() async throws {
        server.on("/busy", .status(500))
        #expect(try await CommandProcess.run("--retries=2", url("/busy")).status == 1)
        #expect(server.requests(to: "/busy").count == 3)
        #expect(try await CommandProcess.run("--retries=0", url("/busy")).status == 1)
        #expect(server.requests(to: "/busy").count == 4)
    }

    @Test("headers are sent and never printed")
    func headers() async throws {
        server.on("/a", .status(403))
        let outcome = try await CommandProcess.run(
            "--header", "Authorization: Bearer secret", "--header=User-Agent: me", "--json", url("/a"))
        let request = try #require(server.requests.first)
        #expect(request.header("Authorization") == "Bearer secret")
        #expect(request.header("User-Agent") == "me")
        #expect(!(outcome.output + outcome.errors).contains("secret"))
    }

    @Test("--concurrency and --per-host bound what is on the wire")
    func width() async throws {
        let gate = LoopbackServer.Gate()
        server.on("/*", LoopbackServer.Response.text("a").held(by: gate))
        let urls = (0..<12).map { url("/\($0)") }
        let child = try CommandProcess(["--concurrency", "10", "--per-host", "9"] + urls)
        try await gate.waitForArrivals(9)
        gate.open()
        #expect(await child.outcome().status == 0)
        #expect(server.peakConcurrency == 9)
        server.resetRecords()
        let narrow = try CommandProcess(["--concurrency", "2", "--timeout", "30"] + urls)
        #expect(await narrow.outcome().status == 0)
        #expect(server.requestCount == 12)
        #expect(server.peakConcurrency <= 2)
    }

    @Test("a URL that outlasts --timeout fails, with fractions of a second")
    func timeout() async throws {
        server.on("/hang", .hang)
        let outcome = try await CommandProcess.run("--timeout=0.25", "--json", url("/hang"))
        #expect(outcome.status == 1)
        let fields = try fields(of: try #require(outcome.lines.first))
        #expect((fields["error"] as? String)?.contains("timeout") == true)
        // Of the whole: the URL's own time begins with its first attempt.
        let summary = try self.fields(of: try #require(outcome.lines.last))["summary"] as? [String: Any]
        let seconds = try #require(summary?["seconds"] as? Double)
        #expect((0.25..<200).contains(seconds))
    }

    @Test("the timeout of a URL does not run while others hold the slots")
    func timeoutInLine() async throws {
        server.on("/*", LoopbackServer.Response.text("a").delayed(.milliseconds(300)))
        let urls = (0..<12).map { url("/\($0)") }
        let outcome = try await CommandProcess(["--timeout", "3.3", "--concurrency", "1"] + urls).outcome()
        #expect(outcome.status == 0, "\(outcome)")
    }

    @Test("--json prints an object for each URL, and a summary")
    func json() async throws {
        server.on("/a", .text("hello"))
        let outcome = try await CommandProcess.run("--json", "--retries=0", url("/a"), url("/missing"), url("/a"))
        #expect(outcome.status == 1)
        #expect(outcome.errors.isEmpty)
        let objects = try outcome.lines.map { try fields(of: $0) }
        #expect(objects.count == 4)
        for object in objects.dropLast() {
            #expect(
                Set(object.keys) == ["url", "status", "bytes", "attempts", "seconds", "error", "file"])
            #expect(object["file"] is NSNull)
        }
        let good = try #require(objects.first { $0["url"] as? String == url("/a") })
        #expect(good["status"] as? Int == 200)
        #expect(good["bytes"] as? Int == 5)
        #expect(good["attempts"] as? Int == 1)
        #expect(good["error"] is NSNull)
        let bad = try #require(objects.first { $0["url"] as? String == url("/missing") })
        #expect(bad["status"] as? Int == 404)
        #expect((bad["error"] as? String)?.contains("404") == true)
        let summary = try #require(objects.last?["summary"] as? [String: Any])
        #expect(summary["urls"] as? Int == 3)
        #expect(summary["succeeded"] as? Int == 2)
        #expect(summary["failed"] as? Int == 1)
        #expect(summary["notFetched"] as? Int == 0)
        #expect(summary["bytes"] as? Int == 10)
        #expect(summary["seconds"] is Double)
    }
}
