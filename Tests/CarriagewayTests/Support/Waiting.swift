import Foundation

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A number that goes up, and wakes those who wait for it.
final class Counter: Sendable {
    private struct State {
        var value = 0
        var waiters: [(target: Int, resume: @Sendable () -> Void)] = []
    }

    private let state = Locked(State())

    var value: Int { state.withLock { $0.value } }

    func increment() {
        let ready = state.withLock { state in
            state.value += 1
            let ready = state.waiters.filter { $0.target <= state.value }
            state.waiters.removeAll { $0.target <= state.value }
            return ready
        }
        for waiter in ready { waiter.resume() }
    }

    func wait(for target: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.value < target { state.waiters.append((target, { continuation.resume() })) }
                return state.value >= target
            }
            if isThere { continuation.resume() }
        }
    }
}

extension NetworkOperation {
    /// Returns once `isFinished` is true.
    func finished() async {
        await withCheckedContinuation { continuation in
            whenFinished { continuation.resume() }
        }
    }
}

extension OperationQueue {
    /// Returns once the queue has nothing unfinished, without blocking a thread of the test's pool.
    func drained() async {
        await withCheckedContinuation { continuation in
            Thread { [self] in
                waitUntilAllOperationsAreFinished()
                continuation.resume()
            }.start()
        }
    }
}

extension Result where Success == NetworkResponse, Failure == NetworkError {
    var error: NetworkError? {
        if case .failure(let error) = self { return error }
        return nil
    }

    var isCancelled: Bool { error?.isCancelled ?? false }
}

/// The error that `body` throws.
func failure<Value>(of body: () async throws(NetworkError) -> Value) async -> NetworkError? {
    do throws(NetworkError) {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

/// A URL that no request reaches: for stub transports.
func request(_ path: String = "/", host: String = "stub.test", method: String = "GET") -> URLRequest {
    var request = URLRequest(url: URL(string: "http://\(host)\(path)") ?? URL(fileURLWithPath: "/"))
    request.httpMethod = method
    return request
}

extension NetworkError {
    /// The name of the case.
    var name: String {
        switch self {
        case .cancelled: "cancelled"
        case .urlError: "urlError"
        case .generalError: "generalError"
        case .invalidRequest: "invalidRequest"
        case .invalidResponseType: "invalidResponseType"
        case .endpointError: "endpointError"
        case .noResponseData: "noResponseData"
        case .unacceptableResponse: "unacceptableResponse"
        case .responseTooLarge: "responseTooLarge"
        case .decodingFailed: "decodingFailed"
        case .deadlineExceeded: "deadlineExceeded"
        case .dependencyFailed: "dependencyFailed"
        case .authenticationFailed: "authenticationFailed"
        case .inaccessible: "inaccessible"
        case .sessionInvalidated: "sessionInvalidated"
        case .fileError: "fileError"
        }
    }

    /// The code of a `.urlError`, also inside `.inaccessible`.
    var urlErrorCode: URLError.Code? {
        switch self {
        case .urlError(let error): error.code
        case .inaccessible(_, let last): last.urlErrorCode
        default: nil
        }
    }
}
