import CarriagewayTesting
import Foundation
import Testing

@testable import CarriagewayCommand

@Suite("Bodies in files", .timeLimit(.minutes(10)))
final class OutputTests {
    private let server: LoopbackServer
    /// Of this test alone, with the output directory inside.
    private let surroundings: URL

    private var directory: URL { surroundings.appendingPathComponent("deep/out") }

    init() throws {
        server = try LoopbackServer()
        surroundings = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: surroundings, withIntermediateDirectories: true)
        server.on("/*") { .text("body of \($0.target)") }
    }

    deinit {
        try? FileManager.default.removeItem(at: surroundings)
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    private func files() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: directory.path))
    }

    private func text(of name: String) throws -> String {
        try String(contentsOf: directory.appendingPathComponent(name), encoding: .utf8)
    }

    @Test("hostile, empty, long and equal paths stay inside the directory, each in its own file")
    func hostile() async throws {
        let long = String(repeating: "x", count: 3_000)
        let bare = "http://127.0.0.1:\(server.port)"
        let outcome = try await CommandProcess.run(
            "--output", directory.path, url("/..%2f..%2fetc"), bare, url("/\(long).txt"), url("/same.txt?1"),
            url("/a/same.txt?2"), url("/%2e%2e"))
        #expect(outcome.status == 0, "\(outcome)")
        let cut = String(repeating: "x", count: 196) + ".txt"
        #expect(try files() == ["_._.._etc", "index", cut, "same.txt", "same-2.txt", "index-2"])
        #expect(try text(of: "same.txt") == "body of /same.txt?1")
        #expect(try text(of: "same-2.txt") == "body of /a/same.txt?2")
        #expect(try text(of: "_._.._etc") == "body of /..%2f..%2fetc")
        #expect(try FileManager.default.contentsOfDirectory(atPath: surroundings.path) == ["deep"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: surroundings.path + "/deep") == ["out"])
    }

    @Test("the file is named in the line and in the JSON")
    func named() async throws {
        let plain = try await CommandProcess.run("--output=\(directory.path)/", url("/a"))
        #expect(plain.output.hasSuffix("-> \(directory.path)/a\n"))
        let json = try await CommandProcess.run("--output", directory.path, "--json", url("/a"))
        #expect(json.lines.first?.contains(#""file":"\#(directory.path)/a""#) == true)
    }

    @Test("a failure leaves no file, and a file of an earlier run is replaced, a link not followed")
    func replaced() async throws {
        server.on("/missing", .text("no", status: 404))
        let outside = surroundings.appendingPathComponent("outside")
        try Data("mine".utf8).write(to: outside)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Data("old".utf8).write(to: directory.appendingPathComponent("a"))
        try FileManager.default.createSymbolicLink(
            at: directory.appendingPathComponent("b"), withDestinationURL: outside)
        let outcome = try await CommandProcess.run(
            "--output", directory.path, url("/a"), url("/b"), url("/missing"))
        #expect(outcome.status == 1)
        #expect(try files() == ["a", "b"])
        #expect(try text(of: "a") == "body of /a")
        #expect(try text(of: "b") == "body of /b")
        #expect(try String(contentsOf: outside, encoding: .utf8) == "mine")
    }

    @Test("a file that cannot be written fails its URL, and leaves nothing half done")
    func unwritable() async throws {
        try FileManager.default.createDirectory(
            at: directory.appendingPathComponent("a/full"), withIntermediateDirectories: true)
        let outcome = try await CommandProcess.run("--output", directory.path, url("/a"), url("/b"))
        #expect(outcome.status == 1)
        #expect(outcome.output.contains("The file 'a' could not be written"))
        #expect(try files() == ["a", "b"])
    }

    @Test("a directory that cannot be made is told before anything is sent")
    func noDirectory() async throws {
        let file = surroundings.appendingPathComponent("file")
        try Data().write(to: file)
        let outcome = try await CommandProcess.run("--output", file.path + "/out", url("/a"))
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasPrefix("carriageway: cannot make the directory"))
        #expect(server.requestCount == 0)
        let same = try await CommandProcess.run("--output", file.path, url("/a"))
        #expect(same.status == 1)
        #expect(server.requestCount == 0)
    }
}
