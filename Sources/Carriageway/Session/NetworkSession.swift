import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The shared session: it puts requests on the wire and hands each event to the request that owns the task.
///
/// One session serves many queues. Its requests keep it alive; it ends when the last of them has ended and nobody
/// else holds it. It can be ended before with ``invalidateAndCancel()`` or ``finishTasksAndInvalidate()``; requests
/// after that fail with ``NetworkError/sessionInvalidated``.
public final class NetworkSession: Sendable {
    /// A session with the default configuration, for all that need no other. It cannot be invalidated.
    public static let shared = NetworkSession(configuration: .default)

    let transport: any Transport
    let router: DelegateRouter
    let lane: Lane
    let time: any TimeSource
    let random: @Sendable () -> Double
    /// What requests get that do not have it. Kept from the transport: it would send it to wherever a redirect leads.
    let headers: [String: String]
    /// Where names and passwords for servers that ask are found; nil if there is none.
    let credentialStorage: URLCredentialStorage?
    let spending = Locked(RetrySpending())
    let earlyRetries = EarlyRetries()
    /// Where what must not be done on the spot is done: the next step of a redirect, ends without a task, progress.
    let pipeline = DispatchQueue(label: "carriageway.pipeline")
    private let life = Locked(Life())

    private struct Life {
        var isInvalidated = false
        /// The attempts that are on the wire, or between two redirects.
        var exchanges: [ObjectIdentifier: Exchange] = [:]
    }

    /// A session of its own.
    ///
    /// - Parameters:
    ///   - configuration: copied. Of its credential storage the default credentials for Basic are used. On Linux its cache
    ///     is not used; see "Linux" in the README.
    ///     Headers in it that cannot be sent, as those with line ends, are left out.
    ///   - serverTrust: which servers are trusted; `URLSession` on Linux has the system's judgement only.
    ///   - transport: how bytes travel: `URLSession`, or on Linux ``TransportKind/curl`` too.
    public convenience init(
        configuration: URLSessionConfiguration = .ephemeral, serverTrust: ServerTrust = .system,
        transport: TransportKind = .urlSession
    ) {
        let plain = configuration.withoutHeaders
        self.init(headers: configuration.sendableHeaders, credentialStorage: configuration.urlCredentialStorage) {
            transport.make(plain, serverTrust, $0)
        }
    }

    package init(
        time: any TimeSource = SystemTime.shared,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }, headers: [String: String] = [:],
        credentialStorage: URLCredentialStorage? = nil,
        transport: (any TransportEvents) throws -> any Transport
    ) rethrows {
        router = DelegateRouter()
        self.transport = try transport(router)
        self.time = time
        self.random = random
        self.headers = headers
        self.credentialStorage = credentialStorage
        lane = Lane(connectionsPerHost: self.transport.maxConnectionsPerHost, time: time)
    }

    deinit {
        transport.invalidate()
    }

    /// Sends a request past every queue: at once, without retry and without credential.
    ///
    /// - Throws: ``NetworkError``; a status of 400 and above is ``NetworkError/endpointError(_:_:)``.
    public func response(for request: URLRequest, body: RequestBody? = nil) async throws(NetworkError)
        -> NetworkResponse
    {
        try await response(for: request, body: body) { _ in }
    }

    /// The same, by an operation that the caller sets up.
    func response(
        for request: URLRequest, body: RequestBody? = nil, configure: (NetworkOperation) -> Void
    ) async throws(NetworkError) -> NetworkResponse {
        if Task.isCancelled { throw .cancelled }
        let operation = NetworkOperation(request, body: body, session: self)
        operation.retryPolicy = .never
        configure(operation)
        operation.start(on: nil)
        return try await operation.response
    }

    /// Sends a request past every queue and gives the body of its response; see ``response(for:body:)``.
    public func data(for request: URLRequest, body: RequestBody? = nil) async throws(NetworkError) -> Data {
        try await response(for: request, body: body).data
    }

    /// Says that the network is back: of the requests that wait for a retry, two to each host go now, and more when these
    /// succeed; see ``NetworkQueue/Configuration/retriesEarly``. On Apple's systems the session sees that by itself.
    public func networkReturned() {
        earlyRetries.networkReturned()
    }

    /// Ends the session at once: requests on the wire and in line fail with ``NetworkError/sessionInvalidated``.
    ///
    /// Without effect on ``shared``, as with `URLSession`.
    public func invalidateAndCancel() {
        invalidate(cancellingTasks: true)
    }

    /// Ends the session once the requests on the wire have ended; those in line fail with
    /// ``NetworkError/sessionInvalidated``.
    ///
    /// Without effect on ``shared``, as with `URLSession`.
    public func finishTasksAndInvalidate() {
        invalidate(cancellingTasks: false)
    }

    /// Whether the session takes no requests any longer.
    var isInvalidated: Bool { life.withLock { $0.isInvalidated } }

    /// An exchange begins. False if the session has been invalidated.
    func open(_ exchange: Exchange) -> Bool {
        life.withLock { life in
            guard !life.isInvalidated else { return false }
            life.exchanges[ObjectIdentifier(exchange)] = exchange
            return true
        }
    }

    /// An exchange has ended, or was abandoned.
    func close(_ exchange: Exchange) {
        let isLast = life.withLock { life in
            guard life.exchanges.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return false }
            return life.isInvalidated && life.exchanges.isEmpty
        }
        if isLast { transport.invalidate() }
    }

    private func invalidate(cancellingTasks: Bool) {
        guard self !== NetworkSession.shared else { return }
        let exchanges = life.withLock { life in
            life.isInvalidated = true
            return life.exchanges
        }
        // The transport goes with the last exchange, which may still have a redirect to follow.
        if exchanges.isEmpty { transport.invalidate() }
        if cancellingTasks {
            for exchange in exchanges.values { exchange.fail(with: .sessionInvalidated) }
        }
        lane.close()
    }
}
