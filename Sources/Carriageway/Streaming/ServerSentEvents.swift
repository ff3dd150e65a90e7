import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The events of a `text/event-stream` (WHATWG HTML, section 9.2), over as many connections as it takes.
///
/// ```swift
/// for try await event in queue.events(for: request) {
///     print(event.event, event.data)
/// }
/// ```
///
/// When the connection ends or is lost the request is sent again, with `Last-Event-ID`, after the time that the server set
/// with `retry`, 3 seconds otherwise. It ends when the server answers 204. It throws a ``NetworkError`` when the server
/// answers with another status than 200 or another type, and when it cannot be reached by the queue's retry policy. A server
/// that is silent for longer than the request's `timeoutInterval` counts as lost. Leaving the loop closes the connection.
public struct ServerSentEvents: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent

    let queue: NetworkQueue
    let request: URLRequest
    let body: RequestBody?

    /// Begins to listen.
    public func makeAsyncIterator() -> Iterator {
        Iterator(queue: queue, request: request, body: body)
    }

    /// Gives the events one by one.
    public struct Iterator: AsyncIteratorProtocol {
        private let queue: NetworkQueue
        private let body: RequestBody?
        private var request: URLRequest
        private var parser: EventParser
        private var lines: NetworkLines.Iterator?
        private var isAtEnd = false
        private var wait: Duration?

        init(queue: NetworkQueue, request: URLRequest, body: RequestBody?) {
            self.queue = queue
            self.body = body
            self.request = request
            self.request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
            self.request.setValue("no-store", forHTTPHeaderField: "Cache-Control")
            parser = EventParser(lastEventID: request.value(forHTTPHeaderField: "Last-Event-ID") ?? "")
        }

        /// The next event; nil when the server wants no more connections. Throws a ``NetworkError``.
        public mutating func next() async throws -> ServerSentEvent? {
            while !isAtEnd {
                if lines == nil { try await connect() }
                do {
                    while let line = try await lines?.next() {
                        if let event = parser.add(line) { return event }
                    }
                } catch let error as NetworkError where error.shouldRetry {
                    // Lost: as if it had ended.
                }
                lines = nil
                wait = parser.retry ?? .seconds(3)
            }
            return nil
        }

        private mutating func connect() async throws {
            if let wait { try await queue.session.time.sleep(for: wait) }
            // An event that was cut off does not count: the server sends it again.
            parser = EventParser(lastEventID: parser.lastEventID, retry: parser.retry)
            let id = parser.lastEventID
            request.setValue(id.isEmpty ? nil : id, forHTTPHeaderField: "Last-Event-ID")
            let bytes = queue.bytes(for: request, body: body)
            bytes.operation.validation = .statuses(200..<201, 204..<205)
            let response = try await bytes.response
            guard response.statusCode != 204 else {
                isAtEnd = true
                return
            }
            let type = response.value(forHTTPHeaderField: "Content-Type") ?? ""
            guard ResponseValidation.essence(of: type) == "text/event-stream" else {
                isAtEnd = true
                throw NetworkError.unacceptableResponse(response, Data(), reason: "no event stream")
            }
            lines = bytes.lines.makeAsyncIterator()
        }
    }
}

extension NetworkQueue {
    /// The events that a server sends; see ``ServerSentEvents``.
    public func events(for request: URLRequest, body: RequestBody? = nil) -> ServerSentEvents {
        ServerSentEvents(queue: self, request: request, body: body)
    }
}

extension TimeSource {
    /// Waits. A task that is cancelled waits no longer.
    ///
    /// - Throws: ``NetworkError/cancelled``.
    func sleep(for duration: Duration) async throws(NetworkError) {
        let wake = Locked<(timer: ScheduledTimer?, resume: (@Sendable () -> Void)?, isDone: Bool)>((nil, nil, false))
        let finish: @Sendable () -> Void = {
            let (timer, resume) = wake.withLock { wake in
                defer { wake = (nil, nil, true) }
                return (wake.timer, wake.resume)
            }
            timer?.cancel()
            resume?()
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isOver = wake.withLock { wake in
                    if !wake.isDone { wake.resume = { continuation.resume() } }
                    return wake.isDone
                }
                if isOver { return continuation.resume() }
                let timer = schedule(at: now.advanced(by: duration.saturated), action: finish)
                let isUnwanted = wake.withLock { wake in
                    if !wake.isDone { wake.timer = timer }
                    return wake.isDone
                }
                if isUnwanted { timer.cancel() }
            }
        } onCancel: {
            // The continuation is resumed from a queue of ours: this runs under a lock of the task.
            NetworkOperation.cancellations.async(execute: finish)
        }
        if Task.isCancelled { throw .cancelled }
    }
}
