import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// The request is made, from the response of another if need be.

extension NetworkOperation {
    func build() {
        // Without a timeout to speak of it has ended already.
        guard shared.withLock({ $0.state.phase == .building }) else { return }
        let request: Result<URLRequest, NetworkError>
        do throws(NetworkError) {
            request = .success(try check(try makeRequest()))
        } catch {
            request = .failure(error)
        }
        apply { $0.state.built(request) }
    }

    func check(_ request: URLRequest) throws(NetworkError) -> URLRequest {
        try RequestCheck.checked(request, body: body, takesIPv6: boundSession.transport.takesIPv6Addresses)
    }

    private func makeRequest() throws(NetworkError) -> URLRequest {
        try checkDependencies()
        let source = shared.withLock { $0.source }
        var request: URLRequest
        switch source {
        case .request(let given): request = given
        case .after(let dependency, let build): request = try Self.request(after: dependency, build)
        case nil: throw .cancelled
        }
        try body?.attach(to: &request)
        let policy = retryPolicy
        if policy.generatesIdempotencyKey, !MethodRule.isIdempotent(request.httpMethod ?? "GET"),
            request.value(forHTTPHeaderField: "Idempotency-Key") == nil
        {
            request.setValue(UUID().uuidString, forHTTPHeaderField: "Idempotency-Key")
        }
        return request
    }

    private static func request(
        after dependency: NetworkOperation, _ build: @Sendable (NetworkResponse) throws -> URLRequest
    ) throws(NetworkError) -> URLRequest {
        switch dependency.result {
        case .success(let response):
            do { return try build(response) } catch { throw NetworkError(thrown: error) }
        case .failure(let error): throw .dependencyFailed(error.innermostCause)
        case nil: throw .invalidRequest("started before the operation that it depends on has ended")
        }
    }
}
