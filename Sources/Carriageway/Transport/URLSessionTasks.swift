import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The delegate of a `URLSession`.
final class URLSessionTasks: NSObject, URLSessionDataDelegate {
    struct Record {
        let task: URLSessionTask
        let body: TransportBody
        /// What went wrong with the body; nil while nothing has.
        let bodyFailure: Locked<NetworkError?>
        var isCancelled = false
        /// Whether a challenge was turned down, which ends the task as if it had been cancelled.
        var isChallenged = false
        /// Whether the server's certificates were turned down, which looks the same.
        var isDistrusted = false
        var hasResponse = false
        var isPaused = false
        var bytesSent: Int64 = 0
        var foreignResponse: URLResponse?
        var metrics: TransferMetrics?
    }

    /// Called when a task has ended, before that is told: whether its connection has been closed, as far as we know.
    typealias Ended = @Sendable (_ isClosed: Bool) -> Void

    let lineNumber: Int
    /// Guards what is done with tasks; see ``URLSessionLine``.
    let isInvalidated = Locked(false)
    let records = Locked<[Int: Record]>([:])
    let serverTrust: ServerTrust
    private let events: any TransportEvents
    private let ended: Ended?

    init(lineNumber: Int, serverTrust: ServerTrust, events: any TransportEvents, ended: Ended?) {
        self.lineNumber = lineNumber
        self.serverTrust = serverTrust
        self.events = events
        self.ended = ended
    }

    private static let lineNumberBits = 24
    static let highestLineNumber = 1 << lineNumberBits - 1

    /// Task identifiers are unique in a `URLSession`, these in the transport.
    func identifier(of task: URLSessionTask) -> Int { task.taskIdentifier << Self.lineNumberBits | lineNumber }

    static func lineNumber(of identifier: Int) -> Int { identifier & highestLineNumber }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let identifier = self.identifier(of: dataTask)
        if let http = response as? HTTPURLResponse {
            // On Linux 100 and 103 come through here, before the response.
            if http.statusCode >= 200 {
                records.withLock { $0[identifier]?.hasResponse = true }
                events.task(identifier, received: http)
            } else {
                events.taskIsAlive(identifier)
            }
        } else {
            records.withLock { $0[identifier]?.foreignResponse = response }
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        events.task(identifier(of: dataTask), received: data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let identifier = self.identifier(of: task)
        // The total is wrong on Linux, where it is read later than it was true.
        let sent: Int64? = records.withLock { records in
            records[identifier]?.bytesSent += bytesSent
            return records[identifier]?.bytesSent
        }
        if let sent { events.task(identifier, sentBodyBytes: sent, of: totalBytesExpectedToSend) }
    }

    #if !canImport(FoundationNetworking)
        // The system sends a body again by itself where it knows that the first was not taken. On Linux it is never asked
        // to: requests with a body have connections of their own.
        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            guard let record = records.withLock({ $0[identifier(of: task)] }) else { return completionHandler(nil) }
            completionHandler(record.body.stream(failure: record.bodyFailure))
        }
    #endif

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        #if canImport(FoundationNetworking)
            // Whoever has the lock may wait for the queue that waits for this one.
            DelegateQueue.Hold.shared.urgently {
                isInvalidated.withLock { _ in
                    let record = records.withLock { $0[identifier(of: task)] }
                    guard let record, !record.isCancelled else { return }
                    completionHandler(nil)
                }
            }
        #else
            completionHandler(nil)
        #endif
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(FoundationNetworking)
            // Default handling never completes the task on Linux. A rejection ends it as cancelled, with the 401 in hand.
            records.withLock { $0[identifier(of: task)]?.isChallenged = true }
            completionHandler(.rejectProtectionSpace, nil)
        #else
            // Client certificates are the system's to choose; a password is asked of nobody here.
            switch challenge.protectionSpace.authenticationMethod {
            case NSURLAuthenticationMethodServerTrust:
                judge(challenge, of: identifier(of: task), answer: completionHandler)
            case NSURLAuthenticationMethodClientCertificate:
                completionHandler(.performDefaultHandling, nil)
            default:
                completionHandler(.rejectProtectionSpace, nil)
            }
        #endif
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let identifier = self.identifier(of: task)
        let record = records.withLock { $0.removeValue(forKey: identifier) }
        guard let record else { return }
        let isAnswered = record.isChallenged && !record.isCancelled
        let http = task.response as? HTTPURLResponse
        ended?(error == nil && http?.endsConnection == true)
        // A 3xx without a Location, and some refused challenges, come without a response event on Linux.
        if !record.hasResponse, error == nil || isAnswered, let http {
            events.task(identifier, received: http)
        }
        if let failure = record.bodyFailure.withLock({ $0 }), error != nil, !record.isCancelled {
            events.task(identifier, completedWith: failure, metrics: record.metrics)
        } else if let foreign = record.foreignResponse {
            events.task(identifier, completedWith: .invalidResponseType(foreign), metrics: record.metrics)
        } else if record.isDistrusted, !record.isCancelled {
            events.task(
                identifier, completedWith: .urlError(URLError(.serverCertificateUntrusted)), metrics: record.metrics)
        } else if let error, !(isAnswered && http != nil) {
            events.task(identifier, completedWith: .urlError(.mapped(from: error)), metrics: record.metrics)
        } else {
            events.task(identifier, completedWith: nil, metrics: record.metrics)
        }
    }
}
