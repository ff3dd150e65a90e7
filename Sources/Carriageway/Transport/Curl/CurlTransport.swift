#if os(Linux)
    import Foundation
    import FoundationNetworking

    /// HTTP by libcurl, on one event thread of the session's.
    ///
    /// What it has over `URLSession` on Linux: a tenth of the cost, no process deaths, IPv6 addresses, tolerance of what
    /// servers send, timeouts of fractions and of the whole, pausing.
    final class CurlTransport: Transport {
        private let inbox: CurlInbox
        private let settings: CurlSettings
        /// Until the thread has it.
        private let events: Locked<(any TransportEvents)?>

        /// - Throws: ``TransportUnavailable`` if there is no libcurl to use, or no descriptors.
        init(
            configuration: URLSessionConfiguration, options: NetworkSession.CurlOptions = .init(),
            trust: @escaping @Sendable (URL) -> CurlTrust? = { _ in nil }, events: any TransportEvents
        ) throws(TransportUnavailable) {
            if let unavailability = CurlLibrary.unavailability { throw unavailability }
            do { inbox = try CurlInbox() } catch { throw TransportUnavailable(reason: "\(error)") }
            settings = CurlSettings(configuration, options: options, trust: trust)
            self.events = Locked(events)
        }

        func refusal(of request: URLRequest) -> NetworkError? {
            guard let url = request.url, url.isSecure else { return nil }
            return settings.trust(url)?.refusal.map { .invalidRequest($0) }
        }

        var maxConnectionsPerHost: Int { settings.maxConnectionsPerHost }
        var takesIPv6Addresses: Bool { true }

        func idleTimeoutToKeep(for request: URLRequest) -> Duration? { nil }
        var wholeTimeoutToKeep: Duration? { settings.wholeTimeout }

        func start(_ request: URLRequest, body: TransportBody, claim: (_ identifier: Int) -> Bool) -> Bool {
            // Before the lock is taken: the body's opening is code of the caller.
            let request = CurlRequest(request, body: body, settings: settings)
            switch inbox.start(request, claim: claim) {
            case .invalidated: return false
            case .accepted(needsThread: true): startThread()
            case .accepted(needsThread: false), .refused: break
            }
            return true
        }

        func cancel(_ identifier: Int) { inbox.post(.cancel(identifier)) }

        var canPause: Bool { true }
        func pause(_ identifier: Int) { inbox.post(.pause(identifier)) }
        func unpause(_ identifier: Int) { inbox.post(.unpause(identifier)) }

        func invalidate() {
            if !inbox.invalidate() { releaseEvents() }
        }

        private func startThread() {
            guard let events = releaseEvents() else { return }
            let (inbox, settings) = (inbox, settings)
            Thread { CurlLoop(inbox: inbox, settings: settings, events: events).run() }.start()
        }

        @discardableResult
        private func releaseEvents() -> (any TransportEvents)? {
            events.withLock { events in
                defer { events = nil }
                return events
            }
        }
    }
#endif
