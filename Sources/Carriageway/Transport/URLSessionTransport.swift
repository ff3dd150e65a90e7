import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transport that is there on every platform.
final class URLSessionTransport: Transport {
    private let session: URLSession
    private let tasks: URLSessionTasks

    init(configuration: URLSessionConfiguration, events: any TransportEvents) {
        tasks = URLSessionTasks(events: events)
        // The session holds its delegate until it is invalidated; the delegate holds neither session nor transport.
        // No delegate queue of ours: with nil it is serial, and nothing of the caller's runs on it.
        session = URLSession(configuration: configuration.adapted(), delegate: tasks, delegateQueue: nil)
    }

    var maxConnectionsPerHost: Int { session.configuration.httpMaximumConnectionsPerHost }

    func start(_ request: URLRequest, claim: (_ identifier: Int) -> Bool) -> Bool {
        let request = request.adapted(idleTimeout: idleTimeout(of: request))
        return tasks.table.withLock { table in
            // A task made after invalidation traps on Linux and raises an exception on Apple's systems.
            guard !table.isInvalidated else { return false }
            let task = session.dataTask(with: request)
            guard claim(task.taskIdentifier) else {
                // A task that is neither resumed nor cancelled would keep the session for ever.
                task.cancel()
                return true
            }
            table.running[task.taskIdentifier] = URLSessionTasks.Record(task: task)
            task.resume()
            return true
        }
    }

    func cancel(_ identifier: Int) {
        tasks.table.withLock { table in
            guard let task = table.running[identifier]?.task else { return }
            table.running[identifier]?.isCancelled = true
            task.cancel()
        }
    }

    func invalidate(cancellingTasks: Bool) {
        tasks.table.withLock { table in
            let isFirst = !table.isInvalidated
            table.isInvalidated = true
            if cancellingTasks {
                // Not invalidateAndCancel(): on Linux it reads the list of tasks while others change it.
                for identifier in table.running.keys {
                    table.running[identifier]?.isCancelled = true
                    table.running[identifier]?.task.cancel()
                }
            }
            if isFirst { session.finishTasksAndInvalidate() }
        }
    }

    func idleTimeout(of request: URLRequest) -> Duration {
        #if canImport(FoundationNetworking)
            // Foundation on Linux cannot tell a request's own timeout from the default of 60 s.
            let own = request.timeoutInterval == 60 ? session.configuration.timeoutIntervalForRequest : request.timeoutInterval
        #else
            let own = request.timeoutInterval
        #endif
        return own > 0 ? .saturating(seconds: own) : .seconds(60)
    }

    func keepsIdleTimeout(of request: URLRequest) -> Bool {
        #if canImport(FoundationNetworking)
            idleTimeout(of: request).components.attoseconds == 0
        #else
            true
        #endif
    }
}
