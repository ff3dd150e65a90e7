import Foundation

/// The observers of a queue, each with events that wait for it.
///
/// An event is noted under the lock of its operation, which gives the events of one operation their order, and handed on
/// outside of it. Observers run on queues of their own, so none waits for another, and no request for any.
final class EventHub: Sendable {
    private struct Observer {
        let queue: DispatchQueue
        let limit: Int
        let observe: @Sendable (NetworkEvent) -> Void
        let onEnd: @Sendable () -> Void
        var pending: [EventRecord] = []
        /// How many events found no room since the last that did.
        var missed = 0
        var isRunning = false
    }

    private struct State {
        var observers: [Int: Observer] = [:]
        var nextNumber = 0
    }

    private let state = Locked(State())
    private let count = ObserverCount()
    /// Of all queues of the session.
    private let sessionCount: ObserverCount
    private let mask: SecretMask

    init(mask: SecretMask, sessionCount: ObserverCount) {
        self.mask = mask
        self.sessionCount = sessionCount
    }

    deinit {
        let observers = state.withLock { $0.observers }
        sessionCount.change(by: -observers.count)
        for observer in observers.values { observer.onEnd() }
    }

    var isObserved: Bool { !count.isZero }

    /// Adds an observer, which is called on a serial queue of its own.
    ///
    /// - Parameter onEnd: called when the hub ends with the observer still there.
    @discardableResult
    func add(
        limit: Int, observe: @escaping @Sendable (NetworkEvent) -> Void, onEnd: @escaping @Sendable () -> Void = {}
    ) -> NetworkObservation {
        let observer = Observer(
            queue: DispatchQueue(label: "carriageway.observer"), limit: max(limit, 1), observe: observe, onEnd: onEnd)
        let number = state.withLock { state in
            state.nextNumber += 1
            state.observers[state.nextNumber] = observer
            return state.nextNumber
        }
        count.change(by: 1)
        sessionCount.change(by: 1)
        return NetworkObservation { [weak self] in self?.remove(number) }
    }

    private func remove(_ number: Int) {
        // Released outside the lock: it may hold the last reference to an object of the caller's.
        let removed = state.withLock { $0.observers.removeValue(forKey: number) }
        guard removed != nil else { return }
        count.change(by: -1)
        sessionCount.change(by: -1)
    }

    /// Notes an event for every observer. Called under the lock of its operation, and calls nothing; see ``handOn()``.
    func note(_ record: EventRecord) {
        state.withLock { state in
            for number in state.observers.keys {
                guard let observer = state.observers[number] else { continue }
                if observer.pending.count < observer.limit {
                    state.observers[number]?.pending.append(record)
                } else {
                    state.observers[number]?.missed += 1
                }
            }
        }
    }

    /// Sees to it that what was noted is handed on.
    func handOn() {
        let due: [(Int, DispatchQueue)] = state.withLock { state in
            var due: [(Int, DispatchQueue)] = []
            for (number, observer) in state.observers where !observer.isRunning && !observer.pending.isEmpty {
                due.append((number, observer.queue))
            }
            for (number, _) in due { state.observers[number]?.isRunning = true }
            return due
        }
        for (number, queue) in due { queue.async { self.run(number) } }
    }

    /// Hands what waits for an observer to it, on its queue, until nothing does.
    private func run(_ number: Int) {
        while true {
            let batch: (records: [EventRecord], missed: Int, observe: @Sendable (NetworkEvent) -> Void)? =
                state.withLock { state in
                    guard let observer = state.observers[number] else { return nil }
                    guard !observer.pending.isEmpty else {
                        state.observers[number]?.isRunning = false
                        return nil
                    }
                    state.observers[number]?.pending = []
                    state.observers[number]?.missed = 0
                    return (observer.pending, observer.missed, observer.observe)
                }
            guard let batch else { return }
            for record in batch.records {
                guard state.withLock({ $0.observers[number] != nil }) else { return }
                batch.observe(record.event(masking: mask))
            }
            guard batch.missed > 0, let last = batch.records.last else { continue }
            // They came after the last that found room.
            batch.observe(
                NetworkEvent(
                    operation: 0, kind: .missed(batch.missed), method: "", url: "", attempt: 0,
                    instant: last.moment.instant,
                    date: last.date))
        }
    }
}
