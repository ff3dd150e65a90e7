import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One request whose body is read while it comes. The request is enqueued when somebody first asks for something; it is
/// cancelled when nobody can ask any more.
final class ByteStream: ResponseDestination {
    let operation: NetworkOperation
    private let queue: NetworkQueue
    private let buffer: Locked<StreamBuffer>
    private let life = Locked(Life())

    private struct Life {
        var isStarted = false
        var flow: (@Sendable (DestinationSignal) -> Void)?
    }

    /// Ends the request when the last who could read is gone. The operation holds the stream, not this.
    final class Holder: Sendable {
        let stream: ByteStream

        init(_ stream: ByteStream) {
            self.stream = stream
        }

        deinit {
            stream.cancel()
        }
    }

    init(_ request: URLRequest, body: RequestBody?, limit: Int, queue: NetworkQueue) {
        self.queue = queue
        buffer = Locked(StreamBuffer(limit: limit))
        operation = NetworkOperation(request, body: body)
    }

    // MARK: Reading

    /// The next bytes; nil at the end. Cancelling the task cancels the request.
    func next() async throws(NetworkError) -> Data? {
        start()
        let result: Result<Data?, NetworkError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                perform(buffer.withLock { $0.read { continuation.resume(returning: $0) } })
            }
        } onCancel: {
            cancel()
        }
        return try result.get()
    }

    /// Status and headers, once they have come.
    func response() async throws(NetworkError) -> HTTPURLResponse {
        start()
        let result: Result<HTTPURLResponse, NetworkError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                perform(buffer.withLock { $0.readResponse { continuation.resume(returning: $0) } })
            }
        } onCancel: {
            cancel()
        }
        return try result.get()
    }

    /// How many bytes may wait to be read.
    var limit: Int { buffer.withLock { $0.limit } }

    /// Not on the spot: this may run under a lock of a task.
    func cancel() {
        NetworkOperation.cancellations.async { [operation] in operation.cancel() }
    }

    private func start() {
        let isFirst = life.withLock { life in
            defer { life.isStarted = true }
            return !life.isStarted
        }
        guard isFirst else { return }
        operation.shared.withLock { $0.destination = self }
        operation.whenEnded { [weak self, weak operation] result in
            self?.ended(result.map(\.http))
            // The two hold each other until here.
            let destination = operation?.shared.withLock { shared in
                defer { shared.destination = nil }
                return shared.destination
            }
            _ = destination
        }
        queue.addOperation(operation)
    }

    private func ended(_ result: Result<HTTPURLResponse, NetworkError>) {
        perform(buffer.withLock { $0.ended(result) })
    }

    private func perform(_ actions: [StreamBuffer.Action]) {
        for action in actions {
            switch action {
            case .give(let result, let reader): reader(result)
            case .tell(let result, let reader): reader(result)
            case .goOn: life.withLock { $0.flow }?(.goOn)
            }
        }
    }

    // MARK: The exchange's side

    func open(
        _ request: URLRequest, flow: @escaping @Sendable (DestinationSignal) -> Void,
        ready: @escaping @Sendable (Result<URLRequest, NetworkError>) -> Void
    ) {
        life.withLock { $0.flow = flow }
        ready(.success(request))
    }

    func response(_ response: HTTPURLResponse) -> Reception {
        // An error's text belongs into the error.
        guard operation.validation.acceptsHead(of: response) else { return .memory }
        perform(buffer.withLock { $0.received(response) })
        let length = response.bodyLength
        return .take(offset: 0, total: length >= 0 ? length : nil)
    }

    func receive(_ data: Data) -> Pressure {
        let (actions, isFull, limit) = buffer.withLock { buffer in
            let (actions, isFull) = buffer.received(data)
            return (actions, isFull, buffer.limit)
        }
        perform(actions)
        return isFull ? .overrun(.responseTooLarge(limit: Int64(limit))) : .none
    }

    func paused() {
        perform(buffer.withLock { $0.paused() })
    }

    func catchUp() {}

    func close(_ error: NetworkError?, done: @escaping @Sendable (NetworkError?) -> Void) {
        done(error)
    }

    func abandon(done: @escaping @Sendable () -> Void) {
        life.withLock { $0.flow = nil }
        done()
    }

    func settle(isGood: Bool, done: @escaping @Sendable (Result<URL?, NetworkError>) -> Void) {
        done(.success(nil))
    }

    /// What a reader has got cannot be taken back.
    var forbidsRetry: Bool { buffer.withLock { $0.hasBegun } }
}
