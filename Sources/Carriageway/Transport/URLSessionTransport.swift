import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transport that is there on every platform.
final class URLSessionTransport: Transport {
    private let line: URLSessionLine
    #if canImport(FoundationNetworking)
        private let freshLines: FreshLines
    #endif
    private let configuration: URLSessionConfiguration

    private let serverTrust: ServerTrust

    init(
        configuration: URLSessionConfiguration, serverTrust: ServerTrust = .system, events: any TransportEvents
    ) {
        self.configuration = configuration.adapted()
        self.serverTrust = serverTrust
        #if canImport(FoundationNetworking)
            let roomy = self.configuration.withSpareConnections().withoutIdleTimeout()
        #else
            let roomy = self.configuration.withSpareConnections()
        #endif
        line = URLSessionLine(configuration: roomy, serverTrust: serverTrust, events: events)
        #if canImport(FoundationNetworking)
            freshLines = FreshLines { number, ended in
                URLSessionLine(
                    number: number, configuration: roomy, serverTrust: serverTrust, events: events, ended: ended)
            }
        #endif
    }

    #if canImport(FoundationNetworking)
        /// Foundation on Linux lets nobody judge a server's certificates.
        func refusal(of request: URLRequest) -> NetworkError? {
            guard serverTrust != .system, let url = request.url, url.isSecure,
                serverTrust.trust(for: url) != .system
            else { return nil }
            return .invalidRequest("URLSession on Linux cannot judge a server's certificates as ServerTrust asks")
        }
    #endif

    var maxConnectionsPerHost: Int { configuration.httpMaximumConnectionsPerHost }

    var takesIPv6Addresses: Bool {
        #if canImport(FoundationNetworking)
            // Foundation on Linux cannot reach [::1] and the like: it answers "bad URL" without a reason.
            false
        #else
            true
        #endif
    }

    func start(_ request: URLRequest, body: TransportBody, claim: (_ identifier: Int) -> Bool) -> Bool {
        #if canImport(FoundationNetworking)
            let request = request.withoutIdleTimeout
        #else
            let request = request.withTimeout()
        #endif
        // Before the line takes its lock: the body's opening is code of the caller.
        let message = URLSessionMessage(request: request, body: body)
        #if canImport(FoundationNetworking)
            if !body.isNone || !MethodRule.mayBeSentTwice(request) {
                var closing = message
                closing.request.setValue("close", forHTTPHeaderField: "Connection")
                return freshLines.start(closing, claim: claim)
            }
        #endif
        return line.start(message, claim: claim)
    }

    /// The line that has a task; any for one that has ended.
    private func line(of identifier: Int) -> URLSessionLine {
        #if canImport(FoundationNetworking)
            freshLines[identifier] ?? line
        #else
            line
        #endif
    }

    func cancel(_ identifier: Int) { line(of: identifier).cancel(identifier) }

    #if canImport(FoundationNetworking)
        // A task that was started must not be suspended on Linux: the process may die, and what was sent is sent again.
        var canPause: Bool { false }
        func pause(_ identifier: Int) {}
        func unpause(_ identifier: Int) {}
    #else
        var canPause: Bool { true }
        func pause(_ identifier: Int) { line.setPaused(true, identifier) }
        func unpause(_ identifier: Int) { line.setPaused(false, identifier) }
    #endif

    func invalidate() {
        line.invalidate()
        #if canImport(FoundationNetworking)
            freshLines.invalidate()
        #endif
    }

    #if canImport(FoundationNetworking)
        func idleTimeoutToKeep(for request: URLRequest) -> Duration? {
            .saturating(seconds: request.idleTimeout(usual: configuration.timeoutIntervalForRequest))
        }

        func onceToldAll(of identifier: Int, _ action: @escaping @Sendable () -> Void) {
            line(of: identifier).onceToldAll(action)
        }

        // Foundation on Linux does not look at it.
        var wholeTimeoutToKeep: Duration? { configuration.wholeTimeout }
    #else
        func idleTimeoutToKeep(for request: URLRequest) -> Duration? { nil }
    #endif
}
