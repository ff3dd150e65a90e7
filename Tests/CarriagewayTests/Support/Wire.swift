import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transports over which a test runs: a test by `@Test("…", arguments: Wire.all) func name(wire: Wire)`, with its
/// sessions from ``session(_:)``; a suite, or a test with arguments of its own, by ``EveryWire``.
enum Wire: String, CaseIterable, CustomTestStringConvertible {
    case urlSession
    #if os(Linux)
        case curl
    #endif

    static let all = Wire.allCases

    /// That of the present run of a test under ``EveryWire``.
    @TaskLocal static var current = Wire.urlSession

    var kind: NetworkSession.TransportKind {
        switch self {
        case .urlSession: .urlSession
        #if os(Linux)
            case .curl: .curl(Self.curlOptions)
        #endif
        }
    }

    #if os(Linux)
        /// No connection is too old for a machine that is slow.
        private static var curlOptions: NetworkSession.CurlOptions {
            var options = NetworkSession.CurlOptions()
            options.idleConnectionTimeout = .seconds(3_600)
            return options
        }
    #endif

    func session(_ configuration: URLSessionConfiguration = .patient) -> NetworkSession {
        NetworkSession(configuration: configuration, transport: kind)
    }

    /// A session over the transport of the present run.
    static func session(_ configuration: URLSessionConfiguration = .patient) -> NetworkSession {
        current.session(configuration)
    }

    var testDescription: String { rawValue }
}

/// Runs each test of a suite, or one test, once over each transport: in each run the test has an instance of its own, and
/// gets its sessions from ``Wire/session(_:)``. A suite cannot have arguments; this is the same for it.
struct EveryWire: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // Who reads of a failure wants to know over which.
        let noting: IssueHandlingTrait = .compactMapIssues { issue in
            var issue = issue
            issue.comments.append("over \(Wire.current)")
            return issue
        }
        for wire in Wire.all {
            try await Wire.$current.withValue(wire) {
                try await noting.provideScope(for: test, testCase: testCase) {
                    do {
                        try await function()
                    } catch is ExpectationFailedError {
                        // It is recorded already, and the next transport is to have its turn.
                    } catch {
                        Issue.record(error)
                    }
                }
            }
        }
    }
}

extension Trait where Self == EveryWire {
    static var overEveryWire: EveryWire { EveryWire() }
}

extension URLSessionConfiguration {
    /// For tests that hold a response until something else has happened: where a thousand tests share two threads that
    /// may be after the usual 60 s, and a renewal that ran into its timeout would wait for a clock that nobody moves.
    static var patient: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 3_600
        return configuration
    }
}
