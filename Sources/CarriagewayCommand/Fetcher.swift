import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Fetches URLs through a queue, and prints how each ended as it ends.
struct Fetcher {
    let plan: FetchPlan

    /// What a request's handler reports.
    private struct Ended: Sendable {
        let index: Int
        let result: Result<NetworkResponse, NetworkError>
        let attempts: [NetworkAttempt]
        let date: Date
    }

    /// Fetches everything.
    ///
    /// - Returns: the exit status.
    func run() async -> Int32 {
        let directory: OutputDirectory?
        do {
            directory = try plan.output.map(OutputDirectory.init(creating:))
        } catch {
            Console.complain("cannot make the directory \(UsageError.quoted(plan.output ?? "")): \(error.inWords)")
            return 1
        }
        let tokens: TokenSource?
        do throws(SecretFile.Fault) {
            tokens = try makeTokens()
        } catch {
            Console.complain(error.text)
            return 1
        }
        let started = ContinuousClock.now
        let queue = makeQueue(tokens)
        // Nothing leaves before Ctrl-C is listened to.
        queue.isSuspended = true
        let endings = add(to: queue)
        let interrupts = Interrupts { queue.stop() }
        queue.isSuspended = false

        var report = FetchReport(plan: plan, directory: directory)
        for await ended in endings {
            let target = plan.targets[ended.index]
            let record = FetchRecord(
                of: target, result: ended.result, attempts: ended.attempts, ended: ended.date)
            if !report.add(record, index: ended.index, body: try? ended.result.get().data) { queue.stop() }
        }
        let status = report.end(interruptedBy: interrupts.received, after: ContinuousClock.now - started)
        let isStored = await tokens?.settle() ?? true
        return isStored ? status : max(status, 1)
    }

    private func makeTokens() throws(SecretFile.Fault) -> TokenSource? {
        guard let token = plan.token else { return nil }
        return try TokenSource(token, targets: plan.targets, environment: ProcessInfo.processInfo.environment)
    }

    private func makeQueue(_ tokens: TokenSource?) -> NetworkQueue {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = plan.perHost
        let session = NetworkSession(configuration: configuration)
        let queue =
            if let tokens {
                NetworkQueue(session: session, authentication: tokens.authentication, configure: configure)
            } else {
                NetworkQueue(session: session, configure: configure)
            }
        // A timeout counts from the start of an operation, waiting for a slot included. With one, only as many are
        // started as have slots, so that the last URL of a long list has as much time as the first.
        if plan.timeout != nil { queue.maxConcurrentOperationCount = plan.concurrency }
        return queue
    }

    private func configure(_ configuration: inout NetworkQueue.Configuration) {
        configuration.maxConcurrentRequests = plan.concurrency
        configuration.maxConcurrentRequestsPerHost = plan.perHost
        configuration.retryPolicy = .exponential(maxRetries: plan.retries)
        configuration.timeout = plan.timeout
    }

    /// Adds a request for each URL.
    ///
    /// - Returns: their ends, in the order in which they come.
    private func add(to queue: NetworkQueue) -> AsyncPrefixSequence<AsyncStream<Ended>> {
        let (endings, continuation) = AsyncStream.makeStream(of: Ended.self)
        for index in plan.targets.indices {
            let operation = NetworkOperation(request(for: plan.targets[index]))
            // The operation lets go of its handlers when they have been called, and so of itself.
            operation.onCompletion { result in
                continuation.yield(
                    Ended(index: index, result: result, attempts: operation.attempts, date: Date()))
            }
            queue.addOperation(operation)
        }
        return endings.prefix(plan.targets.count)
    }

    private func request(for target: FetchTarget) -> URLRequest {
        var request = URLRequest(url: target.url)
        request.setValue("carriageway/\(Help.version)", forHTTPHeaderField: "User-Agent")
        for name in Set(plan.headers.map { $0.name.lowercased() }) { request.setValue(nil, forHTTPHeaderField: name) }
        for header in plan.headers { request.addValue(header.value, forHTTPHeaderField: header.name) }
        return request
    }
}

extension NetworkQueue {
    /// Ends everything at once: what waits never leaves, what runs is cancelled.
    fileprivate func stop() {
        isSuspended = true
        cancelAllOperations()
    }
}

extension Error {
    /// What went wrong, on one line; an error of the system in the system's words.
    var inWords: String {
        if let error = self as? POSIXError { return String(cString: strerror(error.code.rawValue)) }
        if let underlying = (self as NSError).userInfo[NSUnderlyingErrorKey] as? any Error { return underlying.inWords }
        let error = self as NSError
        if error.domain == NSPOSIXErrorDomain { return String(cString: strerror(Int32(error.code))) }
        return error.localizedDescription.replacingOccurrences(of: "\n", with: " ")
    }
}
