import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a caller may set for one operation; nil where the queue's setting holds.
struct OperationSettings {
    var retryPolicy: RetryPolicy?
    var retriesNonIdempotent: Bool?
    var generatesIdempotencyKey: Bool?
    var validation: ResponseValidation?
    var timeout: Duration?
    var attemptTimeout: Duration?
    var redirects: RedirectPolicy?
    var credential: URLCredential?
    var maxResponseSize: Int64?
    var allowsEmptyData = true
    var requiresDependencySuccess = true

    /// Whether the queue's settings decide about responses and retries.
    var isPlain: Bool {
        retryPolicy == nil && retriesNonIdempotent == nil && generatesIdempotencyKey == nil && validation == nil
            && attemptTimeout == nil && redirects == nil && maxResponseSize == nil && allowsEmptyData
            && recover == nil
    }
    var isAuthenticated = true
    /// Whose renewal the operation was made in.
    var renewing: Set<ObjectIdentifier> = []
    /// See ``APIClient/recover``.
    var recover: (@Sendable (InvalidResponse) async throws -> NetworkResponse?)?
}

extension NetworkOperation {
    /// Whether and when a failed attempt is followed by another: the queue's policy unless set here.
    ///
    /// Before the operation is on a queue this is the default policy, so set a whole policy rather than a part of it.
    public var retryPolicy: RetryPolicy {
        get {
            setting { shared in
                var policy = shared.settings.retryPolicy ?? shared.configuration?.value.retryPolicy ?? .default
                if let own = shared.settings.retriesNonIdempotent { policy.retriesNonIdempotent = own }
                if let own = shared.settings.generatesIdempotencyKey { policy.generatesIdempotencyKey = own }
                return policy
            }
        }
        set {
            change { settings in
                settings.retryPolicy = newValue
                settings.retriesNonIdempotent = nil
                settings.generatesIdempotencyKey = nil
            }
        }
    }

    /// Whether a method that is not idempotent may be sent again: as the policy says unless set here; see
    /// ``RetryPolicy/retriesNonIdempotent``.
    public var retriesNonIdempotent: Bool {
        get { retryPolicy.retriesNonIdempotent }
        set { change { $0.retriesNonIdempotent = newValue } }
    }

    /// Whether a POST or PATCH gets an `Idempotency-Key`: as the policy says unless set here; see
    /// ``RetryPolicy/generatesIdempotencyKey``.
    public var generatesIdempotencyKey: Bool {
        get { retryPolicy.generatesIdempotencyKey }
        set { change { $0.generatesIdempotencyKey = newValue } }
    }

    /// What is sent with the request, in place of a body that the request has itself; of effect if set before the start.
    public var body: RequestBody? {
        get { setting { $0.body } }
        set {
            let old = shared.withLock { shared in
                defer { shared.body = newValue }
                return shared.body
            }
            _ = old
        }
    }

    /// Which responses count as a success: the queue's validation unless set here.
    public var validation: ResponseValidation {
        get { setting { $0.settings.validation ?? $0.configuration?.value.validation ?? .default } }
        set { change { $0.validation = newValue } }
    }

    /// How long the whole operation may take, from its start to its result, all waits included; nil, the queue's
    /// `timeout`, for ever if that is nil too.
    ///
    /// Ends the operation with ``NetworkError/deadlineExceeded``. Negative counts as 0. Of effect if set before the start.
    /// How long one attempt may take is
    /// ``attemptTimeout``, how long it may be idle the request's `timeoutInterval`.
    public var timeout: Duration? {
        get { setting { $0.settings.timeout ?? $0.configuration?.value.timeout } }
        set { change { $0.timeout = newValue } }
    }

    /// How long one attempt may take from its slot to the end of the response, redirects included; nil, the queue's
    /// `attemptTimeout`, for ever if that is nil too.
    ///
    /// Ends the attempt as `URLError.timedOut`, which may be retried. Negative counts as 0. How long an attempt may be idle
    /// is the request's `timeoutInterval`.
    public var attemptTimeout: Duration? {
        get { setting { $0.settings.attemptTimeout ?? $0.configuration?.value.attemptTimeout } }
        set { change { $0.attemptTimeout = newValue } }
    }

    /// The most bytes that the body of a response may have in memory, decompressed; nil, the queue's `maxResponseSize`,
    /// any number if that is nil too.
    ///
    /// A larger one ends the operation with ``NetworkError/responseTooLarge(limit:)`` as soon as that is known, by its
    /// `Content-Length` or by the byte that is one too many. Negative counts as 0.
    public var maxResponseSize: Int64? {
        get { setting { $0.settings.maxResponseSize ?? $0.configuration?.value.maxResponseSize } }
        set { change { $0.maxResponseSize = newValue.map { max(0, $0) } } }
    }

    /// What becomes of redirects: the queue's policy unless set here.
    public var redirects: RedirectPolicy {
        get { setting { $0.settings.redirects ?? $0.configuration?.value.redirects ?? .follow } }
        set { change { $0.redirects = newValue } }
    }

    /// The name and password for the host that the request goes to, if it asks with `WWW-Authenticate: Basic`; without
    /// them the queue's, see ``NetworkQueue/Configuration/credentials``. They go to no host that a redirect leads to.
    public var credential: URLCredential? {
        get { setting { $0.settings.credential } }
        set { change { $0.credential = newValue } }
    }

    /// What an attempt is told of the operation.
    var exchangeSettings: ExchangeSettings {
        let storage = boundSession.credentialStorage
        return setting { shared in
            let (own, queue) = (shared.settings, shared.configuration?.value)
            return ExchangeSettings(
                redirects: own.redirects ?? queue?.redirects ?? .follow,
                credentials: ChallengeCredentials(
                    own: own.credential, byHost: queue?.credentials ?? [:], storage: storage),
                maxResponseSize: own.maxResponseSize ?? queue?.maxResponseSize,
                attemptTimeout: own.attemptTimeout ?? queue?.attemptTimeout)
        }
    }

    /// Whether a successful response without a body is a success; if not it is ``NetworkError/noResponseData(_:)``.
    /// True by default.
    public var allowsEmptyData: Bool {
        get { setting { $0.settings.allowsEmptyData } }
        set { change { $0.allowsEmptyData = newValue } }
    }

    /// Whether the operation fails with ``NetworkError/dependencyFailed(_:)`` when a dependency failed or was cancelled.
    /// True by default; always so for the dependency given at `init(after:)`.
    public var requiresDependencySuccess: Bool {
        get { setting { $0.settings.requiresDependencySuccess } }
        set { change { $0.requiresDependencySuccess = newValue } }
    }

    /// Whether the request gets the credential of its queue's ``Authentication``, if it goes to one of the hosts for that.
    /// True by default. One that is sent without credential does not wait for a renewal.
    public var isAuthenticated: Bool {
        get { setting { $0.settings.isAuthenticated } }
        set { change { $0.isAuthenticated = newValue } }
    }

    private func change(_ change: (inout OperationSettings) -> Void) {
        let old = shared.withLock { shared in
            defer { change(&shared.settings) }
            return shared.settings
        }
        // What is replaced may hold the last reference to an object of the caller's, which must not end under the lock.
        _ = old
    }

    private func setting<Value>(_ read: (inout Shared) -> Value) -> Value {
        // By reference: a copy of all that an operation has would cost more than the reading.
        shared.withLock { read(&$0) }
    }
}
