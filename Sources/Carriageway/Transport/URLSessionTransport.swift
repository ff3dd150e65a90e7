import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transport that is there on every platform.
final class URLSessionTransport: Transport {
    private let line: URLSessionLine
    #if canImport(FoundationNetworking)
        /// libcurl sends a request again by itself, up to five times, when a connection that it reused ends without a
        /// byte; a POST too, though the server may have done what it asked. On a connection of its own it does not.
        private let freshLine: URLSessionLine
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
        line = URLSessionLine(number: 0, configuration: roomy, serverTrust: serverTrust, events: events)
        #if canImport(FoundationNetworking)
            freshLine = URLSessionLine(number: 1, configuration: roomy, serverTrust: serverTrust, events: events)
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
        var message = URLSessionMessage(request: request, body: body)
        #if canImport(FoundationNetworking)
            // Nor can Foundation send a body a second time: what libcurl sends again would be without it.
            if !body.isNone || !MethodRule.mayBeSentTwice(request) {
                message.request.setValue("close", forHTTPHeaderField: "Connection")
                return freshLine.start(message, claim: claim)
            }
        #endif
        return line.start(message, claim: claim)
    }

    func cancel(_ identifier: Int) {
        #if canImport(FoundationNetworking)
            if freshLine.owns(identifier) { return freshLine.cancel(identifier) }
        #endif
        line.cancel(identifier)
    }

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
            freshLine.invalidate()
        #endif
    }

    #if canImport(FoundationNetworking)
        func idleTimeoutToKeep(for request: URLRequest) -> Duration? {
            .saturating(seconds: request.idleTimeout(usual: configuration.timeoutIntervalForRequest))
        }

        func onceToldAll(_ action: @escaping @Sendable () -> Void) {
            line.onceToldAll { [freshLine] in freshLine.onceToldAll(action) }
        }

        // Foundation on Linux does not look at it.
        var wholeTimeoutToKeep: Duration? { configuration.wholeTimeout }
    #else
        func idleTimeoutToKeep(for request: URLRequest) -> Duration? { nil }
    #endif
}
