import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What an exchange is told of its operation.
struct ExchangeSettings: Sendable {
    var redirects = RedirectPolicy.follow

    /// The most bytes that a body may have, decompressed.
    var maxResponseSize: Int64?

    /// How long the attempt may take in all.
    var attemptTimeout: Duration?

    /// Called before each request that a redirect leads to is sent: it returns what is sent, after the redirect policy has
    /// had its say. What it throws is the failure of the attempt.
    ///
    /// Off every queue of the session, as a task that is cancelled when the exchange is abandoned or fails.
    var onHop: (@Sendable (Hop) async throws -> URLRequest)?

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
