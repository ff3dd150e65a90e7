import Foundation

/// Tells when operations that are none of ours have finished.
///
/// Foundation on Linux has no KVO, but an operation that depends on another starts when that one has finished. There is
/// one such watcher for each operation that is watched, on a queue of its own, however many ask; so ten thousand requests
/// behind one `BlockOperation` do not make its queue scan ten thousand waiting operations each time.
final class FinishWatch: Sendable {
    static let shared = FinishWatch()

    private struct Entry {
        let watcher: BlockOperation
        /// Held, so that its identifier stays its own.
        let operation: Operation
        var observers: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }

    private let entries = Locked<[ObjectIdentifier: Entry]>([:])

    /// Calls `action` once when `operation` has finished, unless `observer` is removed before.
    func observe(_ operation: Operation, by observer: ObjectIdentifier, action: @escaping @Sendable () -> Void) {
        let identifier = ObjectIdentifier(operation)
        let newWatcher: BlockOperation? = entries.withLock { entries in
            if entries[identifier] != nil {
                entries[identifier]?.observers[observer] = action
                return nil
            }
            let watcher = BlockOperation { self.fire(identifier) }
            entries[identifier] = Entry(watcher: watcher, operation: operation, observers: [observer: action])
            return watcher
        }
        guard let newWatcher else { return }
        newWatcher.addDependency(operation)
        let queue = OperationQueue()
        queue.addOperation(newWatcher)
        queue.scheduleAgain()
    }

    /// Takes an observer back. The watcher ends with its last observer.
    func remove(_ observer: ObjectIdentifier, from operation: Operation) {
        let identifier = ObjectIdentifier(operation)
        let idle: Entry? = entries.withLock { entries in
            entries[identifier]?.observers[observer] = nil
            guard entries[identifier]?.observers.isEmpty ?? false else { return nil }
            return entries.removeValue(forKey: identifier)
        }
        // In this order: a watcher that was released while it is listed as a dependent would leave a dangling pointer.
        idle?.watcher.cancel()
        idle?.watcher.removeDependency(operation)
    }

    private func fire(_ identifier: ObjectIdentifier) {
        let entry = entries.withLock { $0.removeValue(forKey: identifier) }
        for action in entry?.observers.values ?? [:].values { action() }
    }
}

extension OperationQueue {
    /// Makes the queue look again for operations that are ready.
    ///
    /// Foundation on Linux loses the wake-up of an operation whose dependency finishes while it is being added. Assigning
    /// the width to itself schedules once more and, unlike `isSuspended = false`, leaves a suspended queue suspended.
    func scheduleAgain() {
        #if canImport(FoundationNetworking)
            maxConcurrentOperationCount = maxConcurrentOperationCount
        #endif
    }
}
