import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An endpoint of a client as an `Operation`: a ``NetworkOperation`` whose response is read as a value.
///
/// ```swift
/// let login = client.operation(
///     for: .post("/login", as: Token.self).sending(credentials))
/// let profile = client.operation(after: login) {
///     .get("/users/\($0.value.userID)", as: User.self)
/// }
/// let both = [profile, login]
/// client.queue.addOperations(both, waitUntilFinished: false)
/// let user = try await profile.value
/// ```
///
/// A body that cannot be read is a failure of the operation itself, ``NetworkError/decodingFailed(_:_:)``, so operations
/// that depend on it do not run.
public final class EndpointOperation<Value: Sendable>: NetworkOperation, OwnOperation, @unchecked Sendable {
    private struct Reading {
        /// Nil as long as it is to be made from a dependency's value.
        var endpoint: Endpoint<Value>?
        var value: Value?
    }

    private let reading: Locked<Reading>
    private let client: APIClient

    init(_ endpoint: Endpoint<Value>, of client: APIClient) {
        self.client = client
        reading = Locked(Reading(endpoint: endpoint))
        let (request, body) = client.sendable(endpoint)
        super.init(request, body: body)
        adopt(endpoint, of: client)
    }

    init<First>(
        of client: APIClient, after dependency: EndpointOperation<First>,
        endpoint: @escaping @Sendable (APIResponse<First>) throws -> Endpoint<Value>
    ) {
        self.client = client
        reading = Locked(Reading())
        let dependent = Dependent()
        super.init(after: dependency) { response in
            let endpoint = try endpoint(dependency.typed(response))
            let (request, body) = try client.parts(of: endpoint)
            dependent.operation.withLock { $0.operation }?.become(endpoint, body)
            return request
        }
        dependent.operation.withLock { $0.operation = self }
    }

    /// The operation, for a closure that is made before it is there and must not keep it.
    private final class Dependent: Sendable {
        struct Reference {
            weak var operation: EndpointOperation?
        }

        let operation = Locked(Reference())
    }

    /// The endpoint was made from the dependency's value.
    private func become(_ endpoint: Endpoint<Value>, _ body: RequestBody?) {
        reading.withLock { $0.endpoint = endpoint }
        if let body { shared.withLock { $0.body = body } }
        adopt(endpoint, of: client)
    }

    // MARK: Value

    /// The response and its value, awaited. Cancelling the task that awaits cancels the operation.
    ///
    /// It comes when the operation has run: someone has to start it.
    public var apiResponse: APIResponse<Value> {
        get async throws(NetworkError) { try typed(await response) }
    }

    /// The value, awaited; see ``apiResponse``.
    public var value: Value {
        get async throws(NetworkError) { try await apiResponse.value }
    }

    /// Calls `handler` once with the response and its value; see ``NetworkOperation/onCompletion(_:)``.
    public func onValue(_ handler: @escaping @Sendable (Result<APIResponse<Value>, NetworkError>) -> Void) {
        // The operation is not kept by its own handler.
        let read = reader
        onCompletion { result in
            do throws(NetworkError) {
                handler(.success(try read(result.get())))
            } catch {
                handler(.failure(error))
            }
        }
    }

    func typed(_ response: NetworkResponse) throws(NetworkError) -> APIResponse<Value> { try reader(response) }

    /// Gives the value that was read when the response came.
    private var reader: @Sendable (NetworkResponse) throws(NetworkError) -> APIResponse<Value> {
        let (reading, decoder) = (reading, client.decoder)
        return { response throws(NetworkError) in
            let (endpoint, value) = reading.withLock { ($0.endpoint, $0.value) }
            if let value { return APIResponse(value: value, response: response) }
            guard let endpoint else { throw .noResponseData(response.http) }
            return APIResponse(value: try endpoint.value(of: response, by: decoder), response: response)
        }
    }

    // MARK: Reading

    override var inspectsResponse: Bool { true }

    override func fault(of response: NetworkResponse) -> NetworkError? {
        do throws(NetworkError) {
            guard let endpoint = reading.withLock({ $0.endpoint }) else { return nil }
            let value = try endpoint.value(of: response, by: client.decoder)
            reading.withLock { $0.value = value }
            return nil
        } catch {
            return error
        }
    }
}

extension RequestBody {
    /// Of a request that cannot be made.
    static func failing(with error: NetworkError) -> RequestBody {
        RequestBody(content: .failed(error), contentType: "")
    }
}

extension NetworkOperation {
    /// Takes over what an endpoint and its client say of the operation.
    func adopt<Value>(_ endpoint: Endpoint<Value>, of client: APIClient) {
        if let validation = endpoint.validation ?? client.validation { self.validation = validation }
        if let retryPolicy = endpoint.retryPolicy { self.retryPolicy = retryPolicy }
        if let timeout = endpoint.timeout { self.timeout = timeout }
        if !endpoint.isAuthenticated { isAuthenticated = false }
        if let recover = client.recover { shared.withLock { $0.settings.recover = recover } }
    }
}
