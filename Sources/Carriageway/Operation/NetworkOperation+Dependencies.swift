import Foundation

extension NetworkOperation {
    /// Notes a dependency.
    ///
    /// - Returns: the gate that `Operation` is to wait for, if there is none yet.
    func note(dependency operation: Operation) -> (isWatched: Bool, newGate: Operation?) {
        guard operation !== self else { return (false, nil) }
        let isFinished = operation.isFinished
        return shared.withLock { shared in
            shared.state.phase != .idle ? (false, nil) : shared.dependencies.add(operation, isFinished: isFinished)
        }
    }

    /// Asks to be told when a dependency has finished.
    func watch(_ operation: Operation) {
        let identifier = ObjectIdentifier(operation)
        let settle: @Sendable () -> Void = { [weak self] in self?.settle(identifier, isRemoved: false) }
        if let operation = operation as? NetworkOperation {
            operation.whenFinished(settle)
        } else {
            FinishWatch.shared.observe(operation, by: ObjectIdentifier(self), action: settle)
        }
    }

    /// Whether everything that the operation depends on has finished, so that a queue may start it.
    var hasFinishedDependencies: Bool {
        shared.withLock { $0.dependencies.areFinished }
    }

    /// Calls `observer` once when the operation has finished; at once if it has.
    func whenFinished(_ observer: @escaping @Sendable () -> Void) {
        let isFinished = shared.withLock { shared in
            if !shared.hasToldFinish { shared.finishObservers.append(observer) }
            return shared.hasToldFinish
        }
        if isFinished { observer() }
    }

    /// A dependency has finished, or is one no longer: once that was the last, the operation may start.
    func settle(_ identifier: ObjectIdentifier, isRemoved: Bool) {
        let (gate, queue, released) = shared.withLock { shared in
            // What is removed may end here, and must not do so under the lock.
            let before = isRemoved ? shared.dependencies.operations : []
            let gate = shared.dependencies.settle(identifier, isRemoved: isRemoved)
            return (gate, shared.queue, before)
        }
        _ = released
        guard let gate else { return }
        // An `Operation` without work: starting it is finishing it.
        gate.start()
        queue?.admit(self)
    }

    /// Throws if the operation may not run, because of what became of its dependencies.
    func checkDependencies() throws(NetworkError) {
        let (dependencies, needsSuccess) = shared.withLock {
            ($0.dependencies.operations, $0.settings.requiresDependencySuccess)
        }
        for dependency in dependencies {
            let failure: NetworkError?
            if let dependency = dependency as? NetworkOperation {
                guard let result = dependency.result else { throw Self.startedEarly }
                failure = if case .failure(let error) = result { error } else { nil }
            } else {
                guard dependency.isFinished else { throw Self.startedEarly }
                failure = dependency.isCancelled ? .cancelled : nil
            }
            if let failure, needsSuccess { throw .dependencyFailed(failure.innermostCause) }
        }
    }

    private static let startedEarly = NetworkError.invalidRequest("started before its dependencies have finished")

    /// Lets go of what comes before the operation, for the caller to release.
    func takeUpstream() -> [Operation] {
        let (upstream, isFinished, source) = shared.withLock { shared in
            defer { shared.source = nil }
            return (shared.dependencies.takeAll(), shared.dependencies.areFinished, shared.source)
        }
        // A closure may hold the last reference to an object of the caller's, which must not end under the lock.
        _ = source
        if !isFinished {
            for operation in upstream where !(operation is NetworkOperation) {
                FinishWatch.shared.remove(ObjectIdentifier(self), from: operation)
            }
        }
        return upstream
    }
}

extension NetworkError {
    /// The error that began a chain of failed dependencies; a chain of any length holds just this one.
    var innermostCause: any Error {
        if case .dependencyFailed(let cause) = self { return cause }
        return self
    }
}

extension NetworkOperation {
    /// Whether the operation can set out before Foundation starts it: it has yet to begin, its request is there, so that no
    /// code of the caller takes part, and it depends on nothing. A subclass may do something of its own at its start.
    var isReadyToBegin: Bool {
        guard !isOfCallersMaking else { return false }
        return shared.withLock { shared in
            guard shared.state.phase == .idle, case .request = shared.source else { return false }
            return shared.dependencies.operations.isEmpty
        }
    }

    /// The queue is about to hand the operation to Foundation. False if it has ended, and Foundation is to have nothing of it.
    func markPassed() -> Bool {
        shared.withLock { shared in
            shared.isPassed = shared.state.handOver()
            return shared.isPassed
        }
    }

    /// A queue takes the operation. False if it, or another, has done so before, or the operation has started.
    func claim(for queue: NetworkQueue) -> Bool {
        shared.withLock { shared in
            guard !shared.isClaimed, !shared.state.hasStarted else { return false }
            shared.isClaimed = true
            shared.queue = queue
            shared.configuration = queue.configurationBox
            return true
        }
    }
}
