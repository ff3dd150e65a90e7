import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transports over which a test runs: `@Test("…", arguments: Wire.all) func name(wire: Wire)`, with its sessions from
/// ``session(_:)``.
enum Wire: String, CaseIterable, CustomTestStringConvertible {
    case urlSession
    #if os(Linux)
        case curl
    #endif

    static let all = Wire.allCases

    var kind: NetworkSession.TransportKind {
        switch self {
        case .urlSession: .urlSession
        #if os(Linux)
            case .curl: .curl
        #endif
        }
    }

    func session(_ configuration: URLSessionConfiguration = .ephemeral) -> NetworkSession {
        NetworkSession(configuration: configuration, transport: kind)
    }

    var testDescription: String { rawValue }
}
