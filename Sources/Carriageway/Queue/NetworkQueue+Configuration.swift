import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension NetworkQueue {
    /// The settings of a queue. What concerns one request can be set for an operation too.
    public struct Configuration: Sendable {
        /// How many requests may be on the wire at once. Below 1 counts as 1.
        public var maxConcurrentRequests = 64 {
            didSet { maxConcurrentRequests = max(1, maxConcurrentRequests) }
        }

        /// How many of them to one host. Below 1 counts as 1. The session's `httpMaximumConnectionsPerHost` is a limit too.
        public var maxConcurrentRequestsPerHost = 6 {
            didSet { maxConcurrentRequestsPerHost = max(1, maxConcurrentRequestsPerHost) }
        }

        /// Whether and when failed attempts are followed by others.
        public var retryPolicy = RetryPolicy.default

        /// How many retries a host may cost; nil for any number.
        public var retryBudget: RetryBudget? = .default

        /// Whether a request that waits for a retry goes sooner when another to the same host succeeds, or when the network
        /// is back; true by default.
        ///
        /// Not one to which the server said how long to wait (`Retry-After`), nor after 429 and 503. Each success lets the
        /// two go that have waited longest, so that a host that is back is not flooded; each of them has paid its part of
        /// the host's ``retryBudget`` as any retry does. That the network is back is seen on Apple's systems; on Linux
        /// nothing tells, but ``NetworkSession/networkReturned()`` can be called.
        public var retriesEarly = true

        /// When the queue stops asking a host that fails; nil, the default, for never.
        public var circuitBreaker: CircuitBreaker?

        /// How many requests a second go out, over all hosts; nil, the default, for any number.
        public var rateLimit: RateLimit?

        /// How many requests a second go to one host; nil, the default, for any number.
        public var rateLimitPerHost: RateLimit?

        /// Which responses count as a success.
        public var validation = ResponseValidation.default

        /// How long an operation may take from its start to its result; nil for ever.
        public var timeout: Duration?

        /// Names and passwords for servers that ask for them with `WWW-Authenticate: Basic`, by host: "example.com",
        /// "127.0.0.1:8080", "*.example.com". The most exact entry counts.
        ///
        /// A server is answered once in an attempt; turns it the password down, its 401 is the result. Besides these the
        /// default credentials in the `urlCredentialStorage` of the session's configuration are used. Credentials for
        /// other schemes, or ahead of being asked, are an ``Authentication``'s; see ``BasicAuthenticator``.
        public var credentials: [String: URLCredential] = [:]

        /// How long one attempt may take from its slot to the end of the response; nil for ever.
        public var attemptTimeout: Duration?

        /// The most bytes that the body of a response may have in memory, decompressed; nil for any number. Below 0 counts
        /// as 0.
        public var maxResponseSize: Int64? {
            didSet { maxResponseSize = maxResponseSize.map { max(0, $0) } }
        }

        /// What becomes of redirects; they are followed unless set.
        public var redirects = RedirectPolicy.follow

        /// Whether GETs that are equal, by URL and headers, and under way at the same time share one transfer.
        ///
        /// Each keeps its operation, its handlers, its `timeout` and its `cancel()`; the transfer has the highest of their
        /// priorities and ends when the last of them is cancelled. Operations with a policy or a validation of their own, subclasses,
        /// downloads and streams go by themselves. False by default.
        public var sharesEqualRequests = false

        /// Changes a request before each of its attempts, as by adding a token.
        ///
        /// It gets the original request every time, once the attempt has its slot; so requests that waited and those that
        /// are retried get the newest token. If the queue is suspended while it works the request goes back to its place
        /// in line, and is prepared anew. What it throws is the attempt's failure.
        public var prepare: (@Sendable (inout URLRequest) async throws -> Void)?

        /// Who is told what happens to the queue's requests, from the first on; more can be added with
        /// ``NetworkQueue/addObserver(_:bufferingUpTo:)``.
        public var observers: [any NetworkObserver] = []

        /// What is not shown in events.
        public var secretMask = SecretMask.standard

        /// Where handlers are called: a private serial queue unless set.
        public var callbackQueue = DispatchQueue(label: "carriageway.callbacks")
    }
}

/// What a queue and its operations share.
final class ConfigurationBox: Sendable {
    let value: NetworkQueue.Configuration
    let authorizer: (any RequestAuthorizer)?
    let circuits: Locked<Circuits>?
    let events: EventHub

    /// - Parameter observerCount: of all queues of the session.
    init(
        value: NetworkQueue.Configuration, authorizer: (any RequestAuthorizer)?, observerCount: ObserverCount
    ) {
        self.value = value
        self.authorizer = authorizer
        circuits = value.circuitBreaker.map { Locked(Circuits($0)) }
        events = EventHub(mask: value.secretMask, sessionCount: observerCount)
        for observer in value.observers { events.add(limit: 10_000) { observer.observe($0) } }
    }
}
