import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension NetworkOperation {
    /// An operation that writes the body of its response to a file.
    ///
    /// It is written beside the file, as `.name.part`, and moved to its place in one step when it is complete: never is
    /// there half a file under the name, and a file that is there stays until then. A retry goes on where the attempt
    /// before stopped, if the server's copy is still the same, and so does a later download to the same file; see
    /// ``DownloadOptions``. The response's ``NetworkResponse/fileURL`` says where the file is; its `data` is empty.
    ///
    /// Statuses that ``validation`` refuses do not become a file: their bodies are in the error, as ever. What goes wrong
    /// with the file is ``NetworkError/fileError(_:)``, and leaves nothing behind; the folder must be there.
    ///
    /// - Parameters:
    ///   - request: what to send. A `Range` of its own is asked for as it is, and what comes is the file.
    ///   - file: where the body is to be.
    ///   - options: what is replaced, resumed and checked.
    ///   - body: what is sent with the request.
    ///   - session: as in ``init(_:body:session:)``.
    public convenience init(
        download request: URLRequest, to file: URL, options: DownloadOptions = DownloadOptions(),
        body: RequestBody? = nil, session: NetworkSession? = nil
    ) {
        self.init(request, body: body, session: session)
        let destination = FileDestination(target: file, options: options) { [weak self] response in
            self?.validation.accepts(status: response.statusCode) ?? false
        }
        shared.withLock { $0.destination = destination }
    }
}
