/// Who is told what happens to the requests of a queue.
///
/// Set in ``NetworkQueue/Configuration/observers``, or added with ``NetworkQueue/addObserver(_:bufferingUpTo:)``.
public protocol NetworkObserver: Sendable {
    /// Something happened. Called on a serial queue of the observer's own, never under a lock; the events of one operation
    /// come in order.
    func observe(_ event: NetworkEvent)
}

/// An observer that was added, to be taken back. It observes on if this is let go of, until the queue is gone.
public struct NetworkObservation: Sendable {
    private let onCancel: @Sendable () -> Void

    init(onCancel: @escaping @Sendable () -> Void) {
        self.onCancel = onCancel
    }

    /// Takes the observer back: no call begins after this returns, unless one on another thread is just about to.
    public func cancel() { onCancel() }
}
