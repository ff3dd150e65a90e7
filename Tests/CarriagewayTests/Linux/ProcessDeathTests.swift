import CarriagewayTesting
import Foundation
import Testing

/// The ways in which Foundation on Linux kills or hangs a process (K and H in our notes), each in a process of its own:
/// none of them reaches a user of this package.
struct ProcessDeathTests {
    @Test(
        "the process lives, and the scenario ends",
        arguments: [
            "cancelAfterResume", "cancelDuringRedirect", "lateRedirect", "useAfterInvalidation", "hugeTimeouts",
            "oddHeaders", "basicChallenge", "cancelQueued", "longChain", "addedTwice", "barrierAndCancelled",
            "blockedHandlers", "releasedQueue", "diskFull", "manyFiles", "slowReader",
        ])
    func scenario(name: String) async throws {
        try await run([name])
    }

    #if os(Linux)
        @Test(
            "over libcurl too, and what cannot be helped over URLSession",
            arguments: [
                "cancelAfterResume", "cancelDuringRedirect", "lateRedirect", "useAfterInvalidation", "hugeTimeouts",
                "oddHeaders", "basicChallenge", "blockedHandlers", "releasedQueue", "trailers", "cutHeads",
                "endedSessions",
            ])
        func scenarioOverCurl(name: String) async throws {
            try await run([name, "curl"])
        }
    #endif

    private func run(_ arguments: [String]) async throws {
        let probe = try #require(Self.probe, "the probe was not built beside the tests")
        let process = ChildProcess()
        process.executableURL = probe
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        // A trap is to be reported at once, not with a backtrace that takes minutes.
        process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(status == 0, "\(text)")
    }

    /// The executable, which the package manager puts beside the tests.
    private static var probe: URL? {
        var folders = [Bundle.main.bundleURL, Bundle.main.executableURL?.deletingLastPathComponent()].compactMap { $0 }
        folders += Bundle.allBundles.map { $0.bundleURL.deletingLastPathComponent() }
        if let path = CommandLine.arguments.first {
            folders.append(URL(fileURLWithPath: path).deletingLastPathComponent())
        }
        return folders.map { $0.appendingPathComponent("CarriagewayProbe") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }
}
