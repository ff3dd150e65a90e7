import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a hostile reading of the token renewal has found.
@Suite("Token renewal under attack")
struct BreakTests {
    private static let token1 = NumberedToken(number: 1).header

    /// Polls for something that should come soon; false if it has not after five seconds.
    private func comes(_ isThere: @Sendable () -> Bool) async -> Bool {
        for _ in 0..<500 {
            if isThere() { return true }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return isThere()
    }

    @Test("an operation that opts out between two attempts is sent without the credential of the first")
    func optsOutMidway() async throws {
        let stage = Stage()
        let authentication = Authentication(
            TestAuthenticator(), credential: NumberedToken(number: 1), time: stage.time)
        let queue = NetworkQueue(session: stage.session, authentication: authentication)
        let operation = queue.send(request())
        await stage.transport.waitForSent(1)
        operation.isAuthenticated = false
        stage.transport.complete(stage.transport.sent[0].identifier, with: .status(503))
        await stage.time.waitForTimers(1)
        stage.time.advance(by: .seconds(60))
        await stage.transport.waitForSent(2)
        #expect(stage.transport.sent[1].request.value(forHTTPHeaderField: "Authorization") == nil)
        operation.cancel()
    }
}
