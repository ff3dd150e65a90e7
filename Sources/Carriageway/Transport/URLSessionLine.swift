import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A `URLSession` with its running tasks: it makes them, ends them, and is told what happens to them.
///
/// One lock guards making, cancelling and invalidating as well as the answer to a redirect. That is the one place in
/// this package where something is done under a lock: on Linux the process dies if a task is cancelled between its
/// redirect and the answer, or made after the session was invalidated. None of these calls waits for the delegate queue,
/// and none calls back at once. The records have a lock of their own, which is held for no call: the delegate queue would
/// else wait for every task that is being made.
final class URLSessionLine: Sendable {
    private let session: URLSession
    private let tasks: URLSessionTasks
    #if canImport(FoundationNetworking)
        private let delegateQueue = DelegateQueue()
    #endif

    /// - Parameters:
    ///   - number: identifiers of lines with different numbers differ.
    ///   - ended: told of the end of each task, before `events` is.
    init(
        number: Int = 0, configuration: URLSessionConfiguration, serverTrust: ServerTrust, events: any TransportEvents,
        ended: URLSessionTasks.Ended? = nil
    ) {
        tasks = URLSessionTasks(lineNumber: number, serverTrust: serverTrust, events: events, ended: ended)
        // The session holds its delegate until it is invalidated; the delegate holds neither session nor transport.
        #if !canImport(FoundationNetworking)
            let delegateQueue: OperationQueue? = nil
        #endif
        // Serial, and nothing of the caller's runs on it.
        session = URLSession(configuration: configuration, delegate: tasks, delegateQueue: delegateQueue)
    }

    var number: Int { tasks.lineNumber }

    func start(_ message: URLSessionMessage, claim: (_ identifier: Int) -> Bool) -> Bool {
        guarded { isInvalidated in
            // A task made after invalidation traps on Linux and raises an exception on Apple's systems.
            guard !isInvalidated else { return false }
            let task = message.task(in: session)
            let identifier = tasks.identifier(of: task)
            // Before it is claimed, since from then on it may be cancelled, which does not wait for the lock.
            let record = URLSessionTasks.Record(task: task, body: message.body, bodyFailure: message.bodyFailure)
            tasks.records.withLock { $0[identifier] = record }
            guard claim(identifier) else {
                tasks.records.withLock { $0[identifier] = nil }
                // A task that is neither resumed nor cancelled would keep the session for ever.
                task.cancel()
                return true
            }
            let isCancelled = tasks.records.withLock { $0[identifier]?.isCancelled ?? true }
            if message.isSendable, !isCancelled {
                task.resume()
            } else {
                task.cancel()
            }
            return true
        }
    }

    func cancel(_ identifier: Int) {
        let task = tasks.records.withLock { records in
            records[identifier]?.isCancelled = true
            return records[identifier]?.task
        }
        guard let task else { return }
        #if canImport(FoundationNetworking)
            // Elsewhere, for the delegate must not wait: `cancel()` waits for the queue on which Foundation reads, and does
            // not get it while a server sends without a pause. What comes meanwhile would pile up.
            Self.cancellations.async { [tasks] in tasks.isInvalidated.withLock { _ in task.cancel() } }
        #else
            guarded { _ in task.cancel() }
        #endif
    }

    #if canImport(FoundationNetworking)
        /// One for all sessions, since they share the queue that is waited for: so one thread waits at most.
        private static let cancellations = DispatchQueue(label: "carriageway.cancellations")

        /// Calls `action` when the delegate has been told all that Foundation has for it by now.
        func onceToldAll(_ action: @escaping @Sendable () -> Void) { delegateQueue.afterAll(action) }
    #endif

    #if !canImport(FoundationNetworking)
        func setPaused(_ isPaused: Bool, _ identifier: Int) {
            guarded { _ in
                let task: URLSessionTask? = tasks.records.withLock { records in
                    guard let record = records[identifier], record.isPaused != isPaused else { return nil }
                    records[identifier]?.isPaused = isPaused
                    return record.task
                }
                if isPaused { task?.suspend() } else { task?.resume() }
            }
        }
    #endif

    func invalidate() {
        guarded { isInvalidated in
            guard !isInvalidated else { return }
            isInvalidated = true
            // Never invalidateAndCancel(): on Linux it reads the list of tasks while others change it.
            session.finishTasksAndInvalidate()
        }
    }

    /// Whether the session is invalidated, under the lock. What is called there may wait for the queue on which Foundation
    /// on Linux reads.
    private func guarded<Result>(_ body: (inout Bool) -> Result) -> Result {
        #if canImport(FoundationNetworking)
            DelegateQueue.Hold.shared.urgently { tasks.isInvalidated.withLock(body) }
        #else
            tasks.isInvalidated.withLock(body)
        #endif
    }
}
