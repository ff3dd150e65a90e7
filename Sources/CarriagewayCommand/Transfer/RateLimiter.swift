import Carriageway
import Foundation

/// Keeps all transfers of a queue together below a rate, by pausing and resuming them.
final class RateLimiter: Sendable {
    private struct State {
        var running: [ObjectIdentifier: Progress] = [:]
        var isHeld = false
    }

    private let bytesPerSecond: Int64
    private let total: Progress
    private let isUpload: Bool
    private let state = Locked(State())
    private let ticker = Locked<Ticker?>(nil)
    private let started = ContinuousClock.now

    init(_ bytesPerSecond: Int64, over queue: NetworkQueue, isUpload: Bool) {
        self.bytesPerSecond = bytesPerSecond
        self.isUpload = isUpload
        total = isUpload ? queue.uploadProgress : queue.progress
        let ticker = Ticker(every: .milliseconds(20)) { [weak self] in self?.look() }
        self.ticker.withLock { $0 = ticker }
    }

    func watch(_ operation: NetworkOperation) {
        let identifier = ObjectIdentifier(operation)
        let progress = isUpload ? operation.uploadProgress : operation.progress
        let isHeld = state.withLock { state in
            state.running[identifier] = progress
            return state.isHeld
        }
        if isHeld { progress.pause() }
        operation.onCompletion { [weak self] _ in
            self?.state.withLock { _ = $0.running.removeValue(forKey: identifier) }
        }
    }

    private func look() {
        let allowed = Double(bytesPerSecond) * (ContinuousClock.now - started).inSeconds
        let isTooFast = Double(total.completedUnitCount) > allowed
        let changed: [Progress] = state.withLock { state in
            guard state.isHeld != isTooFast else { return [] }
            state.isHeld = isTooFast
            return Array(state.running.values)
        }
        for progress in changed {
            if isTooFast { progress.pause() } else { progress.resume() }
        }
    }
}
