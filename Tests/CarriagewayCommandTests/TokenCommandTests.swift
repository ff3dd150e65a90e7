import CarriagewayTesting
import Foundation
import Testing

@testable import CarriagewayCommand

@Suite("Fetching with a token", .timeLimit(.minutes(10)))
final class TokenCommandTests {
    private let server: LoopbackServer
    private let directory: URL
    private static let secrets = ["cl1ent-s3cret", "r3fresh-0", "r3fresh-1", "acc3ss-1", "s3cret-page"]

    init() throws {
        server = try LoopbackServer()
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("tokens-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        server.on("/api*") { request in
            request.header("Authorization") == "Bearer acc3ss-1" ? .text("in") : .text("s3cret-page", status: 401)
        }
        server.on(
            "/token",
            .data(Data(#"{"access_token":"acc3ss-1","refresh_token":"r3fresh-1","expires_in":60}"#.utf8)))
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    private func run(
        _ options: String..., urls: [String] = ["/api"], environment: [String: String] = [:]
    ) async throws -> CommandProcess.Outcome {
        let words = ["--token-url", server.url("/token").absoluteString, "--client-id", "app", "--retries=0"] + options
        let outcome = try await CommandProcess(
            words + urls.map { server.url($0).absoluteString }, environment: environment
        ).outcome()
        for secret in Self.secrets { #expect(!(outcome.output + outcome.errors).contains(secret)) }
        return outcome
    }

    private func file(_ name: String, _ text: String) throws -> String {
        let url = directory.appendingPathComponent(name)
        try Data(text.utf8).write(to: url)
        return url.path
    }

    private func form(_ index: Int = 0) throws -> String {
        let requests = server.requests(to: "/token")
        try #require(requests.indices.contains(index))
        return String(decoding: requests[index].body, as: UTF8.self)
    }

    private let basic = "Basic \(Data("app:cl1ent-s3cret".utf8).base64EncodedString())"

    @Test("five URLs need one token, fetched by the client's own secret before anything else")
    func clientCredentials() async throws {
        let outcome = try await run(
            "--client-secret", "cl1ent-s3cret", "--scope", "read", "--json",
            urls: ["/api/1", "/api/2", "/api/3", "/api/4", "/api/5"])
        #expect(outcome.status == 0, "\(outcome)")
        #expect(server.requests(to: "/token").count == 1)
        #expect(server.requestCount == 6)
        #expect(try form() == "grant_type=client_credentials&scope=read")
        #expect(server.requests.first?.header("Authorization") == basic)
        #expect(outcome.output.contains(#""succeeded":5"#))
    }

    @Test("secrets come from files, and a new refresh token goes back, for its owner alone")
    func files() async throws {
        let secret = try file("secret", "\n cl1ent-s3cret\r\n")
        let refresh = try file("refresh", "r3fresh-0")
        #expect(chmod(refresh, 0o644) == 0)
        let outcome = try await run("--client-secret-file", secret, "--refresh-token-file", refresh)
        #expect(outcome.status == 0, "\(outcome)")
        #expect(try form() == "grant_type=refresh_token&refresh_token=r3fresh-0")
        #expect(server.requests.first?.header("Authorization") == basic)
        #expect(try String(contentsOfFile: refresh, encoding: .utf8) == "r3fresh-1\n")
        var status = stat()
        #expect(stat(refresh, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: directory.path)) == ["secret", "refresh"])
        // And the next run goes on from there.
        #expect(try await run("--client-secret-file", secret, "--refresh-token-file", refresh).status == 0)
        #expect(try form(1) == "grant_type=refresh_token&refresh_token=r3fresh-1")
    }

    @Test("a link to the file stays a link")
    func link() async throws {
        let refresh = try file("refresh", "r3fresh-0")
        let link = directory.appendingPathComponent("link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: refresh)
        #expect(try await run("--refresh-token-file", link).status == 0)
        #expect(try String(contentsOfFile: refresh, encoding: .utf8) == "r3fresh-1\n")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == refresh)
    }

    @Test("secrets come from the environment; a public client says its name only")
    func environment() async throws {
        let both = ["CARRIAGEWAY_CLIENT_SECRET": "cl1ent-s3cret", "CARRIAGEWAY_REFRESH_TOKEN": "r3fresh-0"]
        #expect(try await run(environment: both).status == 0)
        #expect(try form() == "grant_type=refresh_token&refresh_token=r3fresh-0")
        #expect(server.requests.first?.header("Authorization") == basic)
        let token = ["CARRIAGEWAY_CLIENT_SECRET": "", "CARRIAGEWAY_REFRESH_TOKEN": "r3fresh-0"]
        #expect(try await run(environment: token).status == 0)
        #expect(try form(1) == "client_id=app&grant_type=refresh_token&refresh_token=r3fresh-0")
        // The command line goes first.
        #expect(try await run("--refresh-token=r3fresh-1", environment: both).status == 0)
        #expect(try form(2).contains("refresh_token=r3fresh-1"))
    }

    @Test("what a token cannot be fetched with is told, and nothing is sent")
    func faults() async throws {
        let empty = try file("empty", " \n")
        let long = try file("long", String(repeating: "s3cret-page", count: 10_000))
        let missing = directory.appendingPathComponent("missing").path
        let cases: [([String], String)] = [
            ([], "needs a client secret or a refresh token"), (["--client-secret-file", missing], "No such file"),
            (["--client-secret-file", empty], "does not hold a secret"),
            (["--client-secret-file", directory.path], "cannot read"),
            (["--client-secret-file", long], "does not hold a secret"),
            (["--refresh-token-file", "/dev/null"], "does not hold a secret"),
            (["--refresh-token-file", missing], "No such file"),
        ]
        for (options, text) in cases {
            let words = ["--token-url", server.url("/token").absoluteString, "--client-id", "app"] + options
            let outcome = try await CommandProcess(words + [server.url("/api").absoluteString]).outcome()
            #expect(outcome.status == 1)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.contains(text), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
            #expect(!outcome.errors.contains("s3cret-page"))
        }
        #expect(server.requestCount == 0)
    }

    @Test("a refusal fails the URLs with the server's words")
    func refused() async throws {
        let words = #"{"error":"invalid_grant","error_description":"r3fresh-0 was used"}"#
        server.on("/token", .data(Data(words.utf8), status: 400))
        let outcome = try await run("--refresh-token", "r3fresh-0", urls: ["/api/1", "/api/2"])
        #expect(outcome.status == 1)
        #expect(outcome.lines.count == 2)
        #expect(outcome.lines.allSatisfy { $0.contains("invalid_grant: *** was used") })
        #expect(server.requestCount == 1)
    }

    @Test("the token goes to the hosts of the URLs, not along with a redirect")
    func hosts() async throws {
        let other = try LoopbackServer()
        other.on("/*", .text("other"))
        server.on("/api/moved", .redirect(to: other.url("/elsewhere").absoluteString))
        let outcome = try await run("--client-secret", "cl1ent-s3cret", urls: ["/api/moved"])
        #expect(outcome.status == 0, "\(outcome)")
        #expect(server.requests(to: "/api/moved").first?.header("Authorization") == "Bearer acc3ss-1")
        #expect(other.requests.count == 1)
        #expect(other.requests.allSatisfy { $0.header("Authorization") == nil })
    }

    @Test("Ctrl-C during a renewal does not lose the new refresh token")
    func interrupted() async throws {
        let answer = #"{"access_token":"acc3ss-1","refresh_token":"r3fresh-1"}"#
        let refresh = try file("refresh", "r3fresh-0")
        for _ in 0..<10 {
            let start = ContinuousClock.now
            let gate = LoopbackServer.Gate()
            server.on("/token", LoopbackServer.Response.data(Data(answer.utf8)).held(by: gate))
            let child = try CommandProcess([
                "--token-url", server.url("/token").absoluteString, "--client-id", "app", "--refresh-token-file",
                refresh, "--json", server.url("/api").absoluteString,
            ])
            try await gate.waitForArrivals(1)
            child.send(SIGINT)
            let line = await child.firstLine()
            gate.open()
            // A renewal has 30 s, which a machine with much to do may take to tell us what it waits for.
            let isLate = ContinuousClock.now - start > .seconds(25)
            let outcome = await child.outcome()
            #expect(server.requests(to: "/api").isEmpty)
            if isLate { continue }
            // The URL has been given up.
            #expect(line.contains("cancelled"))
            #expect(outcome.status == 130)
            #expect(try String(contentsOfFile: refresh, encoding: .utf8) == "r3fresh-1\n")
            return
        }
        Issue.record("the machine was too slow ten times")
    }
}
