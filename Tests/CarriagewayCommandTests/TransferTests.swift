import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway
@testable import CarriagewayCommand

/// `carriageway download` and `carriageway upload`, as child processes.
struct TransferTests {
    private let server: LoopbackServer
    private let folder: URL
    private let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) })

    init() throws {
        server = try LoopbackServer()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("carriageway-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    private func file(_ name: String) -> URL { folder.appendingPathComponent("out/\(name)") }

    private func download(_ words: String...) throws -> CommandProcess {
        try CommandProcess(["download", "-d", folder.appendingPathComponent("out").path] + words)
    }

    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("out").path)) ?? [])
            .sorted()
    }

    /// Serves `content` by ranges; `fault` may break the first answer.
    private func serve(_ path: String, fault: @escaping @Sendable (LoopbackServer.Response) -> LoopbackServer.Response)
    {
        let isFirst = Locked(true)
        server.on(path) { [content] request in
            var headers: [(name: String, value: String)] = [("ETag", "\"v1\"")]
            let start = request.header("Range").flatMap { Int($0.dropFirst(6).prefix { $0 != "-" }) } ?? 0
            if start > 0 { headers.append(("Content-Range", "bytes \(start)-\(content.count - 1)/\(content.count)")) }
            let response = LoopbackServer.Response(
                status: start > 0 ? 206 : 200, headers: headers, body: content.dropFirst(start))
            let breaks = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return breaks ? fault(response) : response
        }
    }

    @Test("URLs from the command line and from a file become files")
    func several() async throws {
        server.on("/a.txt", .text("one"))
        server.on("/b/a.txt", .text("two"))
        server.on("/none", .status(404))
        let list = folder.appendingPathComponent("urls.txt")
        try Data("# a list\n\n  \(url("/b/a.txt"))\r\n\(url("/none"))\n".utf8).write(to: list)
        let outcome = try await download("-i", list.path, "--retries", "0", url("/a.txt")).outcome()
        #expect(outcome.status == 1)
        #expect(outcome.lines.count == 3 && outcome.errors.contains("1 of 3 failed"))
        #expect(outcome.lines.contains { $0.contains("200") && $0.hasSuffix("out/a.txt") })
        #expect(names == ["a-2.txt", "a.txt"])
        #expect(try Data(contentsOf: file("a-2.txt")) == Data("two".utf8))
    }

    @Test("JSON says where each file is, and the sum")
    func json() async throws {
        server.on("/a", .text("one"))
        let outcome = try await download("--json", url("/a")).outcome()
        #expect(outcome.status == 0)
        #expect(outcome.lines.first?.contains(#""bytes":3"#) == true && outcome.lines.first?.contains("out/a") == true)
        #expect(outcome.output.contains(#""bytes":3,"failed":0"#))
    }

    @Test(
        "killed or interrupted, the next run goes on from what there is", .timeLimit(.minutes(10)),
        arguments: [SIGKILL, SIGINT])
    func resumed(signal: Int32) async throws {
        serve("/big.bin") { $0.truncated(after: 100_000, then: .stall) }
        let child = try download(url("/big.bin"))
        let part = file(".big.bin.part")
        while (try? part.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0 < 100_000 {
            try await Task.sleep(for: .milliseconds(10))
        }
        child.send(signal)
        #expect(await child.outcome().status == 128 + signal)
        #expect(names == [".big.bin.part", ".big.bin.part.json"])
        let outcome = try await download("--resume", url("/big.bin")).outcome()
        #expect(outcome.status == 0 && names == ["big.bin"])
        #expect(try Data(contentsOf: file("big.bin")) == content)
        #expect(server.requests.last?.header("Range") == "bytes=99999-")
        // And what is complete is not fetched again.
        let count = server.requestCount
        #expect(try await download("--resume", url("/big.bin")).outcome().status == 0)
        #expect(server.requestCount == count)
    }

    @Test("digests are checked, and a file without one is not fetched")
    func digests() async throws {
        server.on("/a", .text("one"))
        server.on("/b", .text("two"))
        var hash = SHA256()
        hash.update(Data("one".utf8))
        let sums = folder.appendingPathComponent("SUMS")
        try Data("\(hash.hexDigest())  a\n\(hash.hexDigest())  b\n".utf8).write(to: sums)
        let outcome = try await download("--sha256sums", sums.path, url("/a"), url("/b")).outcome()
        #expect(outcome.status == 1 && names == ["a"])
        #expect(outcome.output.contains("SHA-256"))
        let unknown = try await download("--sha256sums", sums.path, url("/c")).outcome()
        #expect(unknown.status == 1 && unknown.errors.contains("no digest for 'c'"))
    }

    @Test("a list that is not there, or has nonsense in it, is an error")
    func wrongLists() async throws {
        #expect(try await download("-i", "/nowhere/urls").outcome().status == 1)
        let list = folder.appendingPathComponent("urls.txt")
        try Data("gopher://x/\n".utf8).write(to: list)
        let outcome = try await download("-i", list.path).outcome()
        #expect(outcome.status == 1 && outcome.errors.contains("is not http or https"))
    }

    #if os(Linux)
        @Test(
            "a rate is kept to, down and up",
            .enabled(if: NetworkSession.TransportKind.curl.unavailability == nil, "libcurl cannot be used here"))
        func rate() async throws {
            let large = Data(count: 30_000_000)
            // A second at least, without a limit.
            server.on(
                "/big", LoopbackServer.Response.data(large).dripped(size: 300_000, interval: .milliseconds(10)))
            let start = ContinuousClock.now
            #expect(try await download("--limit-rate", "10M", url("/big")).outcome().status == 0)
            // Three, less what waits in the system's buffers and is read at once after a pause: ten megabytes at most.
            #expect(ContinuousClock.now - start > .milliseconds(1_500))
            #expect(try Data(contentsOf: file("big")).count == large.count)
        }
    #endif

    @Test("a file is uploaded as it is, or as a field of a form")
    func upload() async throws {
        server.on("/up", .text("thanks"))
        let file = folder.appendingPathComponent("päge.json")
        try content.write(to: file)
        let plain = try await CommandProcess(["upload", file.path, url("/up")]).outcome()
        #expect(plain.status == 0 && plain.output.contains("200000 bytes"))
        #expect(server.requests.first?.body == content && server.requests.first?.method == "PUT")
        #expect(server.requests.first?.header("Content-Type") == "application/json")
        #expect(server.requests.first?.header("Content-Length") == "200000")
        let form = try await CommandProcess(["upload", "--form", "f", file.path, url("/up")]).outcome()
        #expect(form.status == 0 && server.requests.last?.method == "POST")
        #expect(server.requests.last?.body.range(of: Data("filename=\"päge.json\"".utf8)) != nil)
        let missing = try await CommandProcess(["upload", "/nowhere", url("/up")]).outcome()
        #expect(missing.status == 1)
    }
}
