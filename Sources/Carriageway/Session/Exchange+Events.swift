import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// Events of the transport, by way of the router.

extension Exchange {
    func received(_ response: ReceivedHead, by identifier: Int) {
        enum Step {
            case read
            case offer
            case cancel
        }
        let step: Step? = record(by: identifier) { state in
            // A second response, as after a challenge, replaces the first: no byte of one is ever in the other's body.
            state.response = response
            state.measured.firstByte = state.lastActivity
            state.data = Data()
            state.delivery = Delivery()
            state.skipped = 0
            state.onward = self.onward(from: response, state)
            if destination != nil, state.onward == nil { return .offer }
            return failsBySize(response, &state) ? .cancel : .read
        }
        if step != nil { settings.onSight?(.response(status: response.statusCode)) }
        switch step {
        case .read, nil: break
        case .offer: offer(response, by: identifier)
        case .cancel: session.transport.cancel(identifier)
        }
    }

    /// Whether the response says that its body is too large for the memory.
    func failsBySize(_ response: ReceivedHead, _ state: inout State) -> Bool {
        guard let limit = settings.maxResponseSize, keepsBody(state), hasBody(response, to: state.request),
            response.bodyLength > limit
        else { return false }
        state.failure = .responseTooLarge(limit: limit)
        return true
    }

    func received(_ data: Data, by identifier: Int) {
        if destination != nil, deliver(data, by: identifier) { return }
        enum Step {
            case nothing
            case tell(Int64, of: Int64)
            case cancel
        }
        let step: Step? = record(by: identifier) { state in
            state.measured.bytesReceived += Int64(data.count)
            // A server may send what there must not be.
            if let response = state.response, !hasBody(response, to: state.request) { return .nothing }
            guard keepsBody(state) else {
                state.skipped += data.count
                // Not worth the wait; the next connection is.
                return state.skipped > Self.skippedBodyLimit ? .cancel : .nothing
            }
            if let limit = settings.maxResponseSize, Int64(state.data.count) + Int64(data.count) > limit {
                state.failure = .responseTooLarge(limit: limit)
                state.data = Data()
                return .cancel
            }
            if state.data.isEmpty { state.data = data } else { state.data.append(data) }
            return .tell(Int64(state.data.count), of: state.response?.bodyLength ?? -1)
        }
        switch step {
        case .nothing, nil: break
        case .tell(let received, let total): onBytes(received, total, .down)
        case .cancel: session.transport.cancel(identifier)
        }
    }

    /// How much of a body is read that nobody will see, so that its connection can be used again.
    private static let skippedBodyLimit = 64 << 10

    /// Whether the body that comes may be the answer's.
    private func keepsBody(_ state: State) -> Bool {
        state.onward == nil || settings.redirects.mayStay
    }

    /// Whether a length that a response gives is that of a body which comes with it (RFC 9110, section 6.4.1).
    private func hasBody(_ response: ReceivedHead, to request: URLRequest) -> Bool {
        switch response.statusCode {
        case 204, 205, 304: false
        default: request.httpMethod != "HEAD"
        }
    }

    func sent(_ bytes: Int64, by identifier: Int) {
        let length: Int64? = record(by: identifier) { state in
            state.measured.bytesSent = max(state.measured.bytesSent, bytes)
            return state.bodyLength
        }
        if let length { onBytes(bytes, length, .up) }
    }

    /// What comes after a task that has ended.
    private enum Ending {
        case nothing
        case hop(ExchangeSettings.Hop)
        case answer(ReceivedHead, URLRequest)
        case sendAgain
        case end(NetworkError?)
        case release(@Sendable () -> Void)
    }

    func completed(by identifier: Int, error: NetworkError?, metrics: TransferMetrics?) {
        let step: Ending = state.withLock { state in
            if case .abandoned(identifier, let onRelease) = state.phase {
                state.phase = .ended
                return .release(onRelease)
            }
            guard case .running(identifier) = state.phase else { return .nothing }
            state.measured.transfer = metrics
            let step = next(after: error, &state)
            // Settled here: a failure of ours that comes now finds the exchange going on, or about to end.
            if case .end = step { state.phase = .closing } else { state.phase = .between }
            return step
        }
        switch step {
        case .nothing: break
        case .hop(let hop): follow(hop)
        case .answer(let response, let request): answer(response.http, to: request)
        case .sendAgain: session.pipeline.async { self.send() }
        // On the spot: nothing of the caller's runs in it, and a hop to another queue costs more than all the rest.
        case .end(let error): close(error)
        case .release(let onRelease):
            session.close(self)
            onRelease()
        }
    }

    private func next(after error: NetworkError?, _ state: inout State) -> Ending {
        if let failure = state.failure { return .end(failure) }
        if state.prepareToSendAgain() { return .sendAgain }
        if let error, keepsBody(state) { return .end(error) }
        guard let response = state.response else { return .end(.urlError(URLError(.badServerResponse))) }
        switch state.onward {
        case .stay, nil: return isChallenge(response, state) ? .answer(response, state.request) : .end(nil)
        case .refuse(let code): return .end(.urlError(URLError(code)))
        case .follow(let next):
            return .hop(.init(response: response.http, previous: state.request, request: next))
        }
    }

    func isAlive(by identifier: Int) {
        record(by: identifier) { _ in () }
    }

    @discardableResult
    func record<Result>(by identifier: Int, _ change: (inout State) -> Result?) -> Result? {
        let now = session.time.moment
        return state.withLock { state in
            guard case .running(identifier) = state.phase, state.failure == nil else { return nil }
            state.lastActivity = now
            return change(&state)
        }
    }
}
