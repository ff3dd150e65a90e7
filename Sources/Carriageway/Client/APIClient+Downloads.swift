import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension APIClient {
    /// Downloads what an endpoint answers to a file, and awaits it; see
    /// ``NetworkOperation/init(download:to:options:body:session:)``.
    ///
    /// - Parameters:
    ///   - endpoint: what to send.
    ///   - file: where the body is to be.
    ///   - options: what is replaced, resumed and checked.
    @discardableResult
    public func download(
        _ endpoint: Endpoint<Void>, to file: URL, options: DownloadOptions = DownloadOptions()
    ) async throws(NetworkError) -> NetworkResponse {
        if Task.isCancelled { throw .cancelled }
        let operation = downloadOperation(for: endpoint, to: file, options: options)
        queue.addOperation(operation)
        return try await operation.response
    }

    /// Downloads what an endpoint answers to a file.
    ///
    /// - Parameters:
    ///   - endpoint: what to send.
    ///   - file: where the body is to be.
    ///   - options: what is replaced, resumed and checked.
    ///   - completion: called once with the result, on the queue's `callbackQueue`.
    /// - Returns: the operation, to cancel it or to depend on it.
    @discardableResult
    public func download(
        _ endpoint: Endpoint<Void>, to file: URL, options: DownloadOptions = DownloadOptions(),
        completion: @escaping @Sendable (Result<NetworkResponse, NetworkError>) -> Void
    ) -> NetworkOperation {
        let operation = downloadOperation(for: endpoint, to: file, options: options)
        operation.onCompletion(completion)
        queue.addOperation(operation)
        return operation
    }

    private func downloadOperation(
        for endpoint: Endpoint<Void>, to file: URL, options: DownloadOptions
    ) -> NetworkOperation {
        let (request, body) = sendable(endpoint)
        let operation = NetworkOperation(download: request, to: file, options: options, body: body)
        operation.adopt(endpoint, of: self)
        return operation
    }
}
