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
        let probe = try #require(
            TrialProcess.executable("CarriagewayProbe"), "the probe was not built beside the tests")
        let outcome = try await TrialProcess.run(probe.path, arguments)
        #expect(outcome.status == 0, "\(outcome.text)")
    }
}
