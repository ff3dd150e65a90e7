import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension APIClient {
    /// Sends an endpoint and awaits its response. Cancelling the task cancels the request; one that is cancelled already
    /// sends nothing.
    @discardableResult
    public func send<Value>(_ endpoint: Endpoint<Value>) async throws(NetworkError) -> APIResponse<Value> {
        if Task.isCancelled { throw .cancelled }
        let operation = operation(for: endpoint)
        queue.addOperation(operation)
        return try await operation.apiResponse
    }

    /// Sends an endpoint and awaits the value of its response; see ``send(_:)``.
    public func value<Value>(for endpoint: Endpoint<Value>) async throws(NetworkError) -> Value {
        try await send(endpoint).value
    }

    /// Sends an endpoint.
    ///
    /// - Parameters:
    ///   - endpoint: what to send.
    ///   - completion: called once with the response, on the queue's `callbackQueue`.
    /// - Returns: the operation, to cancel it or to depend on it.
    @discardableResult
    public func send<Value>(
        _ endpoint: Endpoint<Value>,
        completion: @escaping @Sendable (Result<APIResponse<Value>, NetworkError>) -> Void
    ) -> EndpointOperation<Value> {
        let operation = operation(for: endpoint)
        operation.onValue(completion)
        queue.addOperation(operation)
        return operation
    }

    /// An operation for an endpoint, to be given dependencies and added to ``queue``, or to another.
    ///
    /// What is wrong with the request is the operation's failure.
    public func operation<Value>(for endpoint: Endpoint<Value>) -> EndpointOperation<Value> {
        EndpointOperation(endpoint, of: self)
    }

    /// An operation that runs after another and makes its endpoint from the other's value.
    ///
    /// - Parameters:
    ///   - dependency: added as a dependency. If it fails, this operation fails with
    ///     ``NetworkError/dependencyFailed(_:)`` and `endpoint` is not called.
    ///   - endpoint: makes the endpoint. What it throws becomes the result: a ``NetworkError`` as it is, anything else as
    ///     ``NetworkError/generalError(_:)``.
    public func operation<First, Value>(
        after dependency: EndpointOperation<First>,
        endpoint: @escaping @Sendable (APIResponse<First>) throws -> Endpoint<Value>
    ) -> EndpointOperation<Value> {
        EndpointOperation(of: self, after: dependency, endpoint: endpoint)
    }
}
