import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// Events of the transport, by way of the router.

extension Exchange {
    func received(_ response: HTTPURLResponse, by identifier: Int) {
        record(by: identifier) { state in
            // A second response, as after a challenge, replaces the first: no byte of one is ever in the other's body.
            state.response = response
            state.data = Data()
            state.onward = self.onward(from: response, state)
        }
    }

    func received(_ data: Data, by identifier: Int) {
        let progress: (received: Int64, response: HTTPURLResponse?)? = record(by: identifier) { state in
            guard state.onward == nil || settings.redirects.mayStay else { return nil }
            if state.data.isEmpty { state.data = data } else { state.data.append(data) }
            return (Int64(state.data.count), state.response)
        }
        if let progress { onBytes(progress.received, progress.response) }
    }

    func sent() {
        let now = session.time.now
        state.withLock { $0.lastActivity = now }
    }

    func completed(by identifier: Int, error: NetworkError?) {
        enum Step {
            case nothing
            case hop(ExchangeSettings.Hop)
            case end(NetworkError?)
            case release(@Sendable () -> Void)
        }
        let step: Step = state.withLock { state in
            if case .abandoned(identifier, let onRelease) = state.phase {
                state.phase = .ended
                return .release(onRelease)
            }
            guard case .running(identifier) = state.phase else { return .nothing }
            state.phase = .between
            if let failure = state.failure { return .end(failure) }
            if let error, state.onward == nil || settings.redirects.mayStay { return .end(error) }
            guard let response = state.response else { return .end(.urlError(URLError(.badServerResponse))) }
            switch state.onward {
            case .stay, nil: return .end(nil)
            case .refuse(let code): return .end(.urlError(URLError(code)))
            case .follow(let next):
                return .hop(.init(response: response, previous: state.request, request: next))
            }
        }
        switch step {
        case .nothing: break
        case .hop(let hop): follow(hop)
        // On the spot: nothing of the caller's runs in it, and a hop to another queue costs more than all the rest.
        case .end(let error): finish(failure: error)
        case .release(let onRelease):
            session.close(self)
            onRelease()
        }
    }

    @discardableResult
    private func record<Result>(by identifier: Int, _ change: (inout State) -> Result?) -> Result? {
        let now = session.time.now
        return state.withLock { state in
            guard case .running(identifier) = state.phase, state.failure == nil else { return nil }
            state.lastActivity = now
            return change(&state)
        }
    }
}
