import Foundation

extension NetworkQueue {
    /// Adds an observer of the queue's requests; any number can be there.
    ///
    /// ```swift
    /// let observation = queue.addObserver { event in
    ///     if case .retry(let delay, let error) = event.kind {
    ///         print(event.url, delay, error)
    ///     }
    /// }
    /// observation.cancel()
    /// ```
    ///
    /// It is called on a serial queue of its own, outside every lock. It sees what happens from now on. The events of one
    /// operation come in order. Without observers events cost nothing.
    ///
    /// - Parameters:
    ///   - limit: how many events may wait for the observer. One that does not keep up loses further events, and is told how
    ///     many with ``NetworkEvent/Kind/missed(_:)``. Up to twice as many are in memory.
    ///   - observe: called with each event.
    /// - Returns: what takes the observer back; it may be ignored.
    @discardableResult
    public func addObserver(
        bufferingUpTo limit: Int = 10_000, _ observe: @escaping @Sendable (NetworkEvent) -> Void
    ) -> NetworkObservation {
        configurationBox.events.add(limit: limit, observe: observe)
    }

    /// Adds an observer of the queue's requests; see ``addObserver(bufferingUpTo:_:)``.
    @discardableResult
    public func addObserver(_ observer: any NetworkObserver, bufferingUpTo limit: Int = 10_000) -> NetworkObservation {
        configurationBox.events.add(limit: limit) { observer.observe($0) }
    }

    /// What happens to the queue's requests from now on, until the loop over it ends, its task is cancelled, or the queue
    /// and its last request are gone.
    ///
    /// ```swift
    /// for await event in queue.events { print(event) }
    /// ```
    ///
    /// Each use has events of its own, of which 10,000 may wait; see ``addObserver(bufferingUpTo:_:)``.
    public var events: AsyncStream<NetworkEvent> {
        let limit = 10_000
        let (stream, continuation) = AsyncStream.makeStream(
            of: NetworkEvent.self, bufferingPolicy: .bufferingOldest(limit))
        let missed = Locked(0)
        let observation = configurationBox.events.add(limit: limit) { event in
            let before = missed.withLock { $0 }
            if before > 0 {
                let notice = NetworkEvent(
                    operation: 0, kind: .missed(before), method: "", url: "", attempt: 0, instant: event.instant,
                    date: event.date)
                if case .enqueued = continuation.yield(notice) { missed.withLock { $0 = 0 } }
            }
            if case .dropped = continuation.yield(event) { missed.withLock { $0 += 1 } }
        } onEnd: {
            continuation.finish()
        }
        continuation.onTermination = { _ in observation.cancel() }
        return stream
    }
}
