import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What an exchange is told of its operation.
struct ExchangeSettings: Sendable {
    var redirects = RedirectPolicy.follow

    /// Puts the credential in before each request is sent, if it may go to where that goes: so also after a redirect.
    var stamp: CredentialStamp?

    /// For servers that ask.
    var credentials = ChallengeCredentials()

    /// The most bytes that a body may have, decompressed.
    var maxResponseSize: Int64?

    /// How long the attempt may take in all.
    var attemptTimeout: Duration?

    /// What the exchange meets before it ends.
    enum Sight: Sendable {
        case response(status: Int)
        /// A redirect that is followed, with what is sent next.
        case redirect(status: Int, URLRequest)
    }

    /// Told what comes, on the transport's queue or the session's; nil where nobody observes.
    var onSight: (@Sendable (Sight) -> Void)?

    /// A redirect that is about to be followed.
    struct Hop: Sendable {
        /// The redirect.
        let response: HTTPURLResponse
        /// The request that it answered.
        let previous: URLRequest
        /// What will be sent next, without the headers that do not go to another origin.
        var request: URLRequest
        /// Whether scheme, host or port changes.
        var changesOrigin: Bool { !request.hasSameOrigin(as: previous) }
    }
}
