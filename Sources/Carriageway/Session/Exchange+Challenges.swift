import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// A server that asks for name and password is answered once for each origin, within the same attempt.

extension Exchange {
    /// Whether a response may be a challenge that can be answered; whether there is an answer is looked up later.
    func isChallenge(_ response: ReceivedHead, _ state: State) -> Bool {
        guard response.statusCode == 401, !settings.credentials.isEmpty else { return false }
        // A credential that came with the request was the caller's to choose.
        guard (state.sent ?? state.request).value(forHTTPHeaderField: "Authorization") == nil else { return false }
        return state.request.httpBodyStream == nil && !state.challengers.contains(state.request.originKey)
    }

    /// Sends the request once more if there are name and password for it; else the 401 is the answer.
    func answer(_ response: HTTPURLResponse, to request: URLRequest) {
        pauseIdleWatch()
        // The storage is the caller's: never on the delegate queue.
        DispatchQueue.global().async {
            let answer = self.settings.credentials.answer(
                to: response, of: request, isFirstOrigin: request.hasSameOrigin(as: self.first))
            self.session.pipeline.async {
                guard let answer else { return self.conclude() }
                self.state.withLock { state in
                    guard state.canGoOn else { return }
                    state.challengers.insert(request.originKey)
                    state.request = answer
                    state.response = nil
                    state.data = Data()
                }
                self.send()
            }
        }
    }
}

extension URLRequest {
    /// Scheme, host and port.
    var originKey: String { "\(url?.scheme ?? "")://\(hostKey)" }
}
