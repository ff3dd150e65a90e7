import CarriagewayTesting
import Foundation
import Testing

/// The ways in which Foundation on Linux kills or hangs a process (K and H in our notes), each in a process of its own:
/// none of them reaches a user of this package.
///
/// Where each of them is tried, over `URLSession` and over libcurl:
///
/// - K1 `trailers`; it cannot be helped over `URLSession`: `FoundationOnLinuxTests.deaths`
/// - K2 `cancelDuringRedirect`, K3 `lateRedirect`, K4 `useAfterInvalidation`, K5 `cancelAfterResume`
/// - K6 `pausedTransfers`, K7 `hugeTimeouts`, K8 `noTemporaryFolder` and `noDescriptors`
/// - K9, K10, K13, K14 `QuirkTests`
/// - K11, K15 nobody can do by way of this package: `FoundationOnLinuxTests.deaths`
/// - K12 `basicChallenge`, K16 `useAfterInvalidation`, K17 `oddHeaders`
/// - K18 `cancelQueued`, K19 `longChain`, K20 `addedTwice`: operations; the first two without a transport, and with one
/// - H1 `basicChallenge`, H2 `QuirkTests`, H3 `FollowingTests.slowClosure`, H4 and H5 `useAfterInvalidation`
/// - H6 and H7 `QuirkTests`, and by the hundred thousand `DependencyTests.lostWakeUp`; H8 `addedTwice`
/// - H9 `barrierAndCancelled`
/// - H10 `blockedHandlers`, H11 `QuirkTests`
struct ProcessDeathTests {
    @Test(
        "the process lives, and the scenario ends",
        arguments: [
            "cancelAfterResume", "cancelDuringRedirect", "lateRedirect", "useAfterInvalidation", "hugeTimeouts",
            "oddHeaders", "basicChallenge", "cancelQueued", "longChain", "addedTwice", "barrierAndCancelled",
            "blockedHandlers", "releasedQueue", "diskFull", "manyFiles", "pausedTransfers", "noTemporaryFolder",
            "noDescriptors", "foldedHeads",
        ])
    func scenario(name: String) async throws {
        try await run([name])
    }

    #if os(Linux)
        @Test("over libcurl a slow reader is waited for, and little is held in memory")
        func slowReader() async throws {
            try await run(["slowReader"])
        }

        @Test(
            "over libcurl too, and what cannot be helped over URLSession",
            arguments: [
                "cancelAfterResume", "cancelDuringRedirect", "lateRedirect", "useAfterInvalidation", "hugeTimeouts",
                "oddHeaders", "basicChallenge", "blockedHandlers", "releasedQueue", "trailers", "cutHeads",
                "endedSessions", "cancelQueued", "longChain", "addedTwice", "barrierAndCancelled", "diskFull",
                "manyFiles", "pausedTransfers", "noTemporaryFolder", "noDescriptors",
                "foldedHeads",
            ])
        func scenarioOverCurl(name: String) async throws {
            try await run([name, "curl"])
        }
    #endif

    private func run(_ arguments: [String]) async throws {
        let probe = try #require(
            TrialProcess.executable("CarriagewayProbe"), "the probe was not built beside the tests")
        var outcome = try await TrialProcess.run(probe.path, arguments)
        // Once a second Dispatch on Linux opens a file of /proc for each of its threads, and ends the process when it cannot:
        // that is nobody's to help, but it does not hit time after time what takes a tenth of that.
        for _ in 0..<5 where arguments[0] == "noDescriptors" && outcome.status == SIGILL {
            outcome = try await TrialProcess.run(probe.path, arguments)
        }
        #expect(outcome.status == 0, "\(outcome.text)")
    }
}
