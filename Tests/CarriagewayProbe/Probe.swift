import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Runs one scenario that would take the tests down with it if it went wrong, and exits with 0 if it went right.
@main
struct Probe {
    static func main() async {
        guard 2...3 ~= CommandLine.arguments.count, let scenario = Scenario(rawValue: CommandLine.arguments[1]) else {
            print("usage: probe \(Scenario.allCases.map(\.rawValue).joined(separator: " | ")) [curl]")
            exit(64)
        }
        do {
            try await scenario.run()
            exit(0)
        } catch {
            print("\(scenario.rawValue): \(error)")
            exit(1)
        }
    }
}

extension NetworkSession {
    /// A session over the transport that the command line names.
    static func probed(_ configuration: URLSessionConfiguration = .ephemeral) -> NetworkSession {
        #if os(Linux)
            if CommandLine.arguments.last == "curl" {
                return NetworkSession(configuration: configuration, transport: .curl)
            }
        #endif
        return NetworkSession(configuration: configuration)
    }
}

/// What a scenario found wrong.
struct Fault: Error, CustomStringConvertible {
    let description: String

    static func unless(_ condition: Bool, _ description: String) throws {
        guard condition else { throw Fault(description: description) }
    }
}

/// The process deaths and hangs of Foundation on Linux, each tried through the public interface.
enum Scenario: String, CaseIterable {
    case cancelAfterResume, cancelDuringRedirect, lateRedirect, useAfterInvalidation, hugeTimeouts, oddHeaders
    case basicChallenge, cancelQueued, longChain, addedTwice, barrierAndCancelled, blockedHandlers, releasedQueue
    case diskFull, manyFiles, slowReader, pausedTransfers, noTemporaryFolder, noDescriptors
    case trailers, cutHeads, endedSessions, foldedHeads

    func run() async throws {
        switch self {
        case .cancelAfterResume: try await Self.cancelAfterResume()
        case .cancelDuringRedirect: try await Self.cancelDuringRedirect()
        case .lateRedirect: try await Self.lateRedirect()
        case .useAfterInvalidation: try await Self.useAfterInvalidation()
        case .hugeTimeouts: try await Self.hugeTimeouts()
        case .oddHeaders: try await Self.oddHeaders()
        case .basicChallenge: try await Self.basicChallenge()
        case .cancelQueued: try await Self.cancelQueued()
        case .longChain: try await Self.longChain()
        case .addedTwice: try await Self.addedTwice()
        case .barrierAndCancelled: try await Self.barrierAndCancelled()
        case .blockedHandlers: try await Self.blockedHandlers()
        case .releasedQueue: try await Self.releasedQueue()
        case .diskFull: try await Self.diskFull()
        case .manyFiles: try await Self.manyFiles()
        case .slowReader: try await Self.slowReader()
        case .pausedTransfers: try await Self.pausedTransfers()
        case .noTemporaryFolder: try await Self.noTemporaryFolder()
        case .noDescriptors: try await Self.noDescriptors()
        case .trailers: try await Self.trailers()
        case .cutHeads: try await Self.cutHeads()
        case .endedSessions: try await Self.endedSessions()
        case .foldedHeads: try await Self.foldedHeads()
        }
    }
}
