import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A subclass that is this package's own: it takes no part in the decisions over a request.
protocol OwnOperation {}

extension NetworkOperation {
    /// Whether code of the caller takes part in the life of the operation, which must not run on a session's queues and may
    /// do something of its own at the start.
    var isOfCallersMaking: Bool {
        type(of: self) != NetworkOperation.self && !(self is any OwnOperation)
    }

    /// Why a response that passed validation is a failure, as its body cannot be read.
    func fault(in reply: Exchange.Reply) -> NetworkError? {
        guard inspectsResponse else { return nil }
        return fault(
            of: NetworkResponse(
                data: reply.data, http: reply.http, request: reply.request, attempts: attempts,
                redirects: reply.redirects))
    }

    /// Lets the client's `recover` answer a response that was refused for good.
    ///
    /// - Parameters:
    ///   - reason: why the request is not sent again.
    ///   - otherwise: ends the operation as it would without.
    /// - Returns: whether it was asked; the operation ends by it then.
    func recovers(
        from error: NetworkError, sent request: URLRequest, notRetried reason: NotRetriedReason, _ round: Int,
        otherwise: @escaping @Sendable () -> Void
    ) -> Bool {
        let (recover, attempts) = shared.withLock { ($0.settings.recover, $0.state.attempts) }
        guard let recover, let refused = InvalidResponse(error, request: request, attempts: attempts) else {
            return false
        }
        let task = Task {
            let result: Result<NetworkResponse, NetworkError>?
            do {
                let answer = try await recover(refused)
                result = answer.map { answer in self.fault(of: answer).map { .failure($0) } ?? .success(answer) }
            } catch {
                result = .failure(NetworkError(thrown: error))
            }
            // Off the task, which the operation cancels when it ends.
            DispatchQueue.global().async {
                guard let result else { return otherwise() }
                self.apply { $0.state.recovered(result, notRetried: reason, round: round) }
            }
        }
        let isWanted = shared.withLock { shared in
            guard shared.state.phase == .judging, shared.state.round == round else { return false }
            shared.running.preparation = task
            return true
        }
        if !isWanted { task.cancel() }
        return true
    }
}
