import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// On the wire, and what an attempt has come to.

extension NetworkOperation {
    func send(_ request: URLRequest, _ round: Int) {
        if isWork { return work(request, round) }
        let session = boundSession
        let stamp = shared.withLock { $0.stamp }
        let body: TransportBody
        do throws(NetworkError) {
            body = try transportBody(of: request)
        } catch {
            // Elsewhere: its slot goes to the next, whose body may be gone too, and so on to the end of a long line.
            return session.pipeline.async { self.validate(.failed(error, request, at: self.time.moment), round) }
        }
        var settings = exchangeSettings
        settings.stamp = stamp
        settings.onSight = sightObserver(of: round)
        let destination = shared.withLock { $0.destination }
        let exchange = Exchange(
            request: request, body: body, destination: destination, session: session, settings: settings
        ) { bytes, total, direction in
            self.moved(bytes, of: total, direction, session: session)
        } onEnd: { outcome in
            self.exchangeEnded(outcome, stamp, round)
        }
        let isWanted = shared.withLock { shared in
            guard shared.state.phase == .onWire, shared.state.round == round else { return false }
            shared.running.exchange = exchange
            return true
        }
        guard isWanted else { return }
        settlePausing(session)
        settleHold(of: exchange, told: false)
        exchange.start()
    }

    /// The body of one attempt, measured anew. What `prepare` has put into the request goes first.
    private func transportBody(of request: URLRequest) throws(NetworkError) -> TransportBody {
        guard request.httpBody == nil, request.httpBodyStream == nil, let body else {
            return TransportBody(of: request)
        }
        return try body.transportBody() ?? .none
    }

    private func exchangeEnded(_ outcome: Exchange.Outcome, _ stamp: CredentialStamp?, _ round: Int) {
        let (authorizer, wasResent) = shared.withLock { ($0.configuration?.authorizer, $0.state.resends > 0) }
        guard outcome.isAuthorized, let stamp, let authorizer, let (response, data) = outcome.answer else {
            return validate(outcome, round)
        }
        authorizer.review(response, data, generation: stamp.generation, wasResent: wasResent) { review in
            switch review {
            case .leave: self.validate(outcome, round)
            case .sendAgain: self.sendAgain(after: .endpointError(response, data), outcome, round)
            }
        }
    }

    /// The server turned the credential down: once more with another, unless that has been tried often enough.
    private func sendAgain(after error: NetworkError, _ outcome: Exchange.Outcome, _ round: Int) {
        let now = time.moment
        let (stream, destination) = shared.withLock { ($0.state.request?.httpBodyStream, $0.destination) }
        // What a server has acted on before it led on to the 401 must not be asked for twice, nor may a reader that has
        // got the rejection get another response behind it.
        guard outcome.methodTaken == nil, destination?.forbidsRetry != true else { return validate(outcome, round) }
        // A redirect may have left the stream behind; it has been read all the same.
        guard outcome.request.httpBodyStream == nil, stream == nil else {
            let error = NetworkError.authenticationFailed(AuthenticationError.bodyNotReplayable)
            return attemptFailed(error, outcome, round, now)
        }
        var isLast = false
        tellCircuit(.alive, error: nil)
        apply { shared in
            shared.time(outcome.timing)
            let actions = shared.state.unauthorized(error, round: round, now: now)
            isLast = actions == nil
            return actions ?? []
        }
        if isLast { validate(outcome, round) }
    }

    /// The work of an attempt that is no request has ended.
    func workEnded(
        _ result: Result<Exchange.Reply, NetworkError>, of request: URLRequest, since start: Moment,
        _ round: Int
    ) {
        guard shared.withLock({ $0.state.phase == .onWire && $0.state.round == round }) else { return }
        let outcome = Exchange.Outcome(
            result: result, head: nil, request: request, isAuthorized: false, methodTaken: nil,
            timing: Exchange.Timing(start: start))
        switch result {
        case .success(let reply): succeed(reply, outcome, round)
        case .failure(let error): attemptFailed(error, outcome, round, time.moment)
        }
    }

    private func validate(_ outcome: Exchange.Outcome, _ round: Int) {
        let validation = validation
        if validation.callsOut || inspectsResponse {
            DispatchQueue.global().async { self.attemptEnded(outcome, validation, round) }
        } else {
            attemptEnded(outcome, validation, round)
        }
    }

    private func attemptEnded(_ outcome: Exchange.Outcome, _ validation: ResponseValidation, _ round: Int) {
        let now = time.moment
        switch outcome.result {
        case .failure(let error):
            attemptFailed(error, outcome, round, now)
        case .success(let reply):
            let destination = shared.withLock { $0.destination }
            let failure =
                validation.failure(of: reply.head, reply.data, isElsewhere: reply.isTaken)
                ?? emptyDataFailure(reply) ?? missedDestination(reply, destination) ?? fault(in: reply)
            if reply.isTaken, let destination {
                settle(destination, reply, failure, outcome, round)
            } else if let failure {
                attemptFailed(failure, outcome, round, now)
            } else {
                succeed(reply, outcome, round)
            }
        }
    }

    /// A redirect, say, that the caller wants as the answer is no file.
    private func missedDestination(
        _ reply: Exchange.Reply, _ destination: (any ResponseDestination)?
    ) -> NetworkError? {
        guard destination != nil, !reply.isTaken else { return nil }
        return .unacceptableResponse(reply.http, reply.data, reason: "status \(reply.http.statusCode)")
    }

    /// The body is not in memory: it comes to its place before the result is there.
    private func settle(
        _ destination: any ResponseDestination, _ reply: Exchange.Reply, _ failure: NetworkError?,
        _ outcome: Exchange.Outcome, _ round: Int
    ) {
        destination.settle(isGood: failure == nil) { settled in
            let now = self.time.moment
            if let failure { return self.attemptFailed(failure, outcome, round, now) }
            switch settled {
            case .success(let file):
                var reply = reply
                reply.file = file
                self.succeed(reply, outcome, round)
            case .failure(let error): self.attemptFailed(error, outcome, round, now)
            }
        }
    }

    private func succeed(_ reply: Exchange.Reply, _ outcome: Exchange.Outcome, _ round: Int) {
        let now = time.moment
        hostSucceeded(status: reply.head.statusCode)
        apply { shared in
            shared.time(outcome.timing)
            return shared.state.succeeded(reply, round: round, now: now)
        }
    }

    private func attemptFailed(
        _ error: NetworkError, _ outcome: Exchange.Outcome, _ round: Int, _ now: Moment
    ) {
        // Before the slot is free: what the server said holds also for the next in line.
        holdHost(of: outcome.request, after: error, now: now)
        tellCircuit(error.sign, error: error)
        apply { shared in
            shared.failure = FailedAttempt(
                request: outcome.request, hasBegunResponse: outcome.hasBegunResponse,
                methodTaken: outcome.methodTaken)
            shared.time(outcome.timing)
            return shared.state.failed(with: error, round: round, now: now)
        }
    }

    private func emptyDataFailure(_ reply: Exchange.Reply) -> NetworkError? {
        reply.length == 0 && !allowsEmptyData ? .noResponseData(reply.http) : nil
    }
}

extension Exchange.Outcome {
    /// What the server says of the credential: also with a text that is too large, which is no part of it then.
    fileprivate var answer: (HTTPURLResponse, Data)? {
        switch result {
        case .success(let reply): (reply.http, reply.data)
        case .failure(.responseTooLarge): head.map { ($0.http, Data()) }
        case .failure: nil
        }
    }
}
