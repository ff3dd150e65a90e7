import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// Redirects: where a response leads, who is asked about it, and the request that comes next.

extension Exchange {
    /// Where a response leads by the rules; nil if it is the answer.
    func onward(from response: ReceivedHead, _ state: State) -> Redirect? {
        if case .refuse = settings.redirects.rule { return nil }
        guard Redirect.leadsOn(response.statusCode) else { return nil }
        let redirect = Redirect(
            of: response.http, to: state.request, followed: state.redirects.count,
            allowsInsecure: settings.redirects.allowsInsecure,
            confidentialHeaders: settings.redirects.confidentialHeaders)
        return redirect == .stay ? nil : redirect
    }

    /// Asks whoever has a say, and goes on.
    func follow(_ hop: ExchangeSettings.Hop) {
        pauseIdleWatch()
        guard settings.redirects.mayStay else {
            session.pipeline.async { self.goOn(by: hop, isGivenByServer: true) }
            return
        }
        let question = Task {
            let next = await self.settings.asked(about: hop)
            self.session.pipeline.async {
                guard let next else { return self.conclude() }
                self.goOn(by: next, isGivenByServer: false)
            }
        }
        let isWanted = state.withLock { state in
            if state.canGoOn { state.watches.question = question }
            return state.canGoOn
        }
        if !isWanted { question.cancel() }
    }

    /// Sends the request that a redirect led to; it is checked as the first one was.
    private func goOn(by hop: ExchangeSettings.Hop, isGivenByServer: Bool) {
        do throws(NetworkError) {
            let checked = try RequestCheck.checked(
                hop.request, takesIPv6: session.transport.takesIPv6Addresses)
            state.withLock { state in
                guard state.canGoOn else { return }
                state.follow(hop, with: checked)
            }
            settings.onSight?(.redirect(status: hop.response.statusCode, checked))
            send()
        } catch {
            // The server sent us to a place that there cannot be.
            fail(with: isGivenByServer ? .urlError(URLError(.badURL)) : error)
        }
    }
}

extension Exchange.State {
    fileprivate mutating func follow(_ hop: ExchangeSettings.Hop, with request: URLRequest) {
        if let from = hop.previous.url, let to = request.url {
            redirects.append(NetworkRedirect(statusCode: hop.response.statusCode, from: from, to: to))
        }
        if methodTaken == nil, hop.previous.httpMethod != request.httpMethod,
            !MethodRule.mayBeSentTwice(hop.previous)
        {
            methodTaken = hop.previous.httpMethod
        }
        // A redirect that changes the method, to GET, leaves the body behind.
        if request.httpMethod != self.request.httpMethod { body = .none }
        // The caller, when asked, may have set another.
        if let given = request.httpBody, given != hop.previous.httpBody { body = TransportBody(of: request) }
        self.request = request
        response = nil
        data = Data()
        onward = nil
    }
}

extension ExchangeSettings {
    /// The hop as the redirect policy wants it; nil if the redirect is the answer.
    fileprivate func asked(about hop: Hop) async -> Hop? {
        var hop = hop
        if case .ask(let decide) = redirects.rule {
            guard var next = await decide(hop.response, hop.request) else { return nil }
            if !next.hasSameOrigin(as: hop.request), !next.hasSameOrigin(as: hop.previous) {
                // What was left in for the one place is not for another; what the caller has set for it is.
                next.removeConfidentialHeaders(further: redirects.confidentialHeaders) { name, value in
                    hop.request.value(forHTTPHeaderField: name) == value
                }
            }
            hop.request = next
        }
        return hop
    }
}

extension RedirectPolicy {
    /// Whether a redirect that could be followed may be the answer, with its body.
    var mayStay: Bool {
        if case .follow = rule { false } else { true }
    }
}
