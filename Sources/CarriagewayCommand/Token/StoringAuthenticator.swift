import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// OAuth 2, with each new refresh token put into its file before anything else, also when nobody waits for it any more.
struct StoringAuthenticator: Authenticator {
    private let base: OAuth2Authenticator
    private let file: SecretFile?
    /// What is under way.
    let log = RenewalLog()

    init(_ base: OAuth2Authenticator, file: SecretFile?) {
        self.base = base
        self.file = file
    }

    var hosts: Set<String> { base.hosts }

    func apply(_ credential: OAuth2Credential, to request: inout URLRequest) {
        base.apply(credential, to: &request)
    }

    func refresh(_ credential: OAuth2Credential, over session: NetworkSession) async throws -> OAuth2Credential {
        guard log.begin() else { throw CancellationError() }
        defer { log.end() }
        let renewed = try await base.refresh(credential, over: session)
        if let file, let token = renewed.refreshToken, token != credential.refreshToken {
            do throws(SecretFile.Fault) {
                try file.write(token)
            } catch {
                log.add(error)
            }
        }
        return renewed
    }

    func needsRefresh(_ credential: OAuth2Credential, now: ContinuousClock.Instant) -> Bool {
        base.needsRefresh(credential, now: now)
    }

    func isUnauthorized(_ response: HTTPURLResponse, _ data: Data) -> Bool {
        base.isUnauthorized(response, data)
    }
}

/// The renewals of a run: how many are under way, and what could not be stored.
final class RenewalLog: Sendable {
    private struct State {
        var running = 0
        var isClosed = false
        var fault: String?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// The last thing that could not be stored, in words.
    var fault: String? { state.withLock { $0.fault } }

    /// - Returns: whether the run goes on; if not, no renewal may begin.
    func begin() -> Bool {
        state.withLock { state in
            if !state.isClosed { state.running += 1 }
            return !state.isClosed
        }
    }

    func end() {
        let ready = state.withLock { state in
            state.running -= 1
            guard state.running == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in ready { waiter.resume() }
    }

    func add(_ fault: SecretFile.Fault) {
        state.withLock { $0.fault = fault.text }
    }

    /// Returns once none is under way, and lets none begin.
    func close() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isClosed = true
                if state.running > 0 { state.waiters.append(continuation) }
                return state.running == 0
            }
            if isIdle { continuation.resume() }
        }
    }
}
