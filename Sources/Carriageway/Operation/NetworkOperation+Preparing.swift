import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// With a slot: `prepare`, the credential, and the question whether the slot still holds.

extension NetworkOperation {
    func prepare(_ request: URLRequest, _ round: Int) {
        guard let prepare = shared.withLock({ $0.configuration?.value.prepare }), !boundSession.isInvalidated else {
            return authorize(request, round)
        }
        let task = Task {
            var request = request
            let prepared: Result<URLRequest, NetworkError>
            do {
                try await prepare(&request)
                prepared = .success(try self.check(request))
            } catch {
                prepared = .failure(NetworkError(thrown: error))
            }
            self.boundSession.pipeline.async { self.prepared(prepared, round) }
        }
        let isWanted = shared.withLock { shared in
            guard shared.state.phase == .preparing, shared.state.round == round else { return false }
            shared.running.preparation = task
            return true
        }
        if !isWanted { task.cancel() }
    }

    private func prepared(_ request: Result<URLRequest, NetworkError>, _ round: Int) {
        switch request {
        case .success(let request): authorize(request, round)
        case .failure:
            let now = time.moment
            apply { shared in
                shared.failure = FailedAttempt()
                return shared.state.prepared(request, round: round, now: now)
            }
        }
    }

    /// Asks for the credential that goes into the attempt, where there is one.
    private func authorize(_ request: URLRequest, _ round: Int) {
        let session = boundSession
        guard let authorizer = authorizer(for: request), !session.isInvalidated else {
            return authorized(request, nil, round)
        }
        authorizer.authorize(over: session) { authorization in
            switch authorization {
            case .send(let stamp): self.authorized(request, stamp, round)
            case .wait: self.postpone(round)
            case .fail(let error):
                self.returnTurn(round)
                self.apply { $0.state.refused(with: error, round: round) }
            }
        }
    }

    /// Back in line, unless the line is gone with the queue's session: an operation with a session of its own, which lives,
    /// would come back at once, over and over, as long as the renewal takes.
    private func postpone(_ round: Int) {
        returnTurn(round)
        let isLineGone = shared.withLock { $0.queue }?.session.isInvalidated ?? false
        apply { shared in
            isLineGone
                ? shared.state.refused(with: .sessionInvalidated, round: round) : shared.state.postponed(round: round)
        }
    }

    /// Nothing is sent in the slot: it costs nothing of the rates.
    private func returnTurn(_ round: Int) {
        shared.withLock { $0.queue }?.session.lane.returnTurn(self, round: round)
    }

    private func authorized(_ request: URLRequest, _ stamp: CredentialStamp?, _ round: Int) {
        let now = time.moment
        apply { shared in
            if shared.state.round == round { shared.stamp = stamp }
            return shared.state.prepared(.success(request), round: round, now: now)
        }
    }

    /// Who gives the request its credential; nil if it needs none.
    func authorizer(for request: URLRequest) -> (any RequestAuthorizer)? {
        guard let authorizer = shared.withLock({ $0.authorizer }), let url = request.url, authorizer.covers(url) else {
            return nil
        }
        return authorizer
    }

    func confirm(_ request: URLRequest, _ round: Int) {
        let (queue, admissions) = shared.withLock { ($0.queue, $0.state.admissions) }
        guard let queue, !queue.session.lane.confirm(self, round: round) else {
            return apply { $0.state.confirmed(request, round: round) }
        }
        // If it has got its next slot already, it may be the probe once more.
        shared.withLock { if $0.state.admissions == admissions { $0.releaseProbe(of: self) } }
        catchUp(in: queue, authorizer(for: request))
    }
}

extension NetworkOperation.Shared {
    /// Who gives the operation's requests their credential, wherever they go; nil if it wants none.
    var authorizer: (any RequestAuthorizer)? {
        guard settings.isAuthenticated, let authorizer = configuration?.authorizer,
            settings.renewing.isEmpty || !settings.renewing.contains(ObjectIdentifier(authorizer))
        else { return nil }
        return authorizer
    }
}
