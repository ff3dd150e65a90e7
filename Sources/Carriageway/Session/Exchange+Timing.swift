import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// The time that an attempt may take in all, and its idle timeout where the transport keeps none.

extension Exchange {
    /// Redirects and the questions about them are part of the attempt.
    func watchWholeTime() {
        let timeout = [settings.attemptTimeout, session.transport.wholeTimeoutToKeep].compactMap { $0 }.min()
        guard let timeout else { return }
        let timer = session.time.schedule(at: session.time.moment.advanced(by: timeout.saturated)) { [weak self] in
            self?.fail(with: .urlError(URLError(.timedOut)))
        }
        let isWanted = state.withLock { state in
            if !state.isOver { state.watches.attemptTimer = timer }
            return !state.isOver
        }
        if !isWanted { timer.cancel() }
    }

    func watchIdleTime(_ timeout: Duration) {
        let (lastActivity, number) = state.withLock { state in
            state.watches.lastIdleWatch += 1
            return (state.lastActivity, state.watches.lastIdleWatch)
        }
        let timer = session.time.schedule(at: lastActivity.advanced(by: timeout)) {
            [weak self] in self?.idleTimeCameUp(timeout)
        }
        // The one before, as of the request that a redirect answered, is over; so is this one, if it has fired already and
        // another has taken its place.
        let unwanted = state.withLock { state in
            guard case .running = state.phase, number == state.watches.lastIdleWatch else {
                return timer as ScheduledTimer?
            }
            defer { state.watches.idleTimer = timer }
            return state.watches.idleTimer
        }
        unwanted?.cancel()
    }

    /// Between two requests nothing is on the wire that could be idle.
    func pauseIdleWatch() {
        let timer = state.withLock { state in
            defer { state.watches.idleTimer = nil }
            return state.watches.idleTimer
        }
        timer?.cancel()
    }

    private func idleTimeCameUp(_ timeout: Duration) {
        guard let (identifier, isIdle) = idleness(for: timeout) else { return }
        guard isIdle else { return watchIdleTime(timeout) }
        // What has come may wait behind something slow, and is a sign of life.
        session.transport.onceToldAll(of: identifier) { [weak self] in self?.endIfIdle(for: timeout) }
    }

    private func endIfIdle(for timeout: Duration) {
        guard let (_, isIdle) = idleness(for: timeout) else { return }
        guard isIdle else { return watchIdleTime(timeout) }
        fail(with: .urlError(URLError(.timedOut)))
    }

    /// The task that is on the wire, and whether nothing has come of it for so long; nil if there is none.
    private func idleness(for timeout: Duration) -> (identifier: Int, isIdle: Bool)? {
        let now = session.time.moment
        return state.withLock { state in
            guard case .running(let identifier) = state.phase else { return nil }
            // A task that was paused is idle because we want it to.
            if state.delivery.isPaused || state.isHeld { state.lastActivity = now }
            return (identifier, state.lastActivity.advanced(by: timeout) <= now)
        }
    }
}
