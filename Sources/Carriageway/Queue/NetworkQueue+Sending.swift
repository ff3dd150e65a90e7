import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension NetworkQueue {
    /// Enqueues a request.
    ///
    /// - Parameters:
    ///   - request: what to send.
    ///   - body: what is sent with it, in place of a body that the request has itself.
    ///   - completion: called once with the result, on the queue's `callbackQueue`.
    /// - Returns: the operation, to cancel it or to depend on it.
    @discardableResult
    public func send(
        _ request: URLRequest, body: RequestBody? = nil,
        completion: @escaping @Sendable (Result<NetworkResponse, NetworkError>) -> Void = { _ in }
    ) -> NetworkOperation {
        let operation = NetworkOperation(request, body: body)
        operation.onCompletion(completion)
        addOperation(operation)
        return operation
    }

    /// Enqueues a request and decodes its response from JSON.
    ///
    /// - Parameters:
    ///   - request: what to send.
    ///   - body: what is sent with it, in place of a body that the request has itself.
    ///   - type: what the response is to be.
    ///   - decoder: how JSON is read. Decoding does not happen on the `callbackQueue`.
    ///   - completion: called once with the value or the failure, on the queue's `callbackQueue`, when decoding is done:
    ///     handlers that were added to the operation may run before it.
    /// - Returns: the operation, to cancel it or to depend on it.
    @discardableResult
    public func send<Value: Decodable & Sendable>(
        _ request: URLRequest, body: RequestBody? = nil, decoding type: Value.Type,
        using decoder: JSONDecoder = JSONDecoder(),
        completion: @escaping @Sendable (Result<Value, NetworkError>) -> Void
    ) -> NetworkOperation {
        let operation = NetworkOperation(request, body: body)
        let callbackQueue = configuration.callbackQueue
        operation.whenEnded { result in
            DispatchQueue.global().async {
                let value: Result<Value, NetworkError>
                do throws(NetworkError) {
                    value = .success(try result.get().decoded(as: type, using: decoder))
                } catch {
                    value = .failure(error)
                }
                callbackQueue.async { completion(value) }
            }
        }
        addOperation(operation)
        return operation
    }

    /// Enqueues a request and awaits its response. Cancelling the task cancels the request; one that is cancelled
    /// already sends nothing.
    public func response(for request: URLRequest, body: RequestBody? = nil) async throws(NetworkError)
        -> NetworkResponse
    {
        if Task.isCancelled { throw .cancelled }
        let operation = NetworkOperation(request, body: body)
        addOperation(operation)
        return try await operation.response
    }

    /// Enqueues a request and awaits the body of its response; see ``response(for:body:)``.
    public func data(for request: URLRequest, body: RequestBody? = nil) async throws(NetworkError) -> Data {
        try await response(for: request, body: body).data
    }

    /// Enqueues a request and awaits its response, decoded from JSON; see ``response(for:body:)``.
    public func value<Value: Decodable>(
        for request: URLRequest, body: RequestBody? = nil, as type: Value.Type = Value.self,
        using decoder: JSONDecoder = JSONDecoder()
    ) async throws(NetworkError) -> Value {
        try await response(for: request, body: body).decoded(as: type, using: decoder)
    }
}

// MARK: - Downloads

extension NetworkQueue {
    /// Enqueues a download to a file; see ``NetworkOperation/init(download:to:options:body:session:)``.
    ///
    /// - Parameters:
    ///   - request: what to send.
    ///   - file: where the body is to be.
    ///   - options: what is replaced, resumed and checked.
    ///   - completion: called once with the result, on the queue's `callbackQueue`; the response's
    ///     ``NetworkResponse/fileURL`` is the file.
    /// - Returns: the operation, to cancel it or to depend on it.
    @discardableResult
    public func download(
        _ request: URLRequest, to file: URL, options: DownloadOptions = DownloadOptions(),
        completion: @escaping @Sendable (Result<NetworkResponse, NetworkError>) -> Void
    ) -> NetworkOperation {
        let operation = NetworkOperation(download: request, to: file, options: options)
        operation.onCompletion(completion)
        addOperation(operation)
        return operation
    }

    /// Enqueues a download to a file and awaits it. Cancelling the task cancels the download; what has come of it is kept
    /// for a later one as the options say.
    @discardableResult
    public func download(_ request: URLRequest, to file: URL, options: DownloadOptions = DownloadOptions())
        async throws(NetworkError) -> NetworkResponse
    {
        if Task.isCancelled { throw .cancelled }
        let operation = NetworkOperation(download: request, to: file, options: options)
        addOperation(operation)
        return try await operation.response
    }
}
