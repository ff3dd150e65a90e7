import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What becomes of a response that leads elsewhere (RFC 9110, section 15.4): a value.
///
/// 301, 302, 303, 307 and 308 with a `Location` that can be read lead on, at most twenty times in one attempt; more are
/// `URLError.httpTooManyRedirects`. 301 and 302 make a POST a GET, 303 makes everything but HEAD a GET; 307 and 308 keep
/// method and body. 300, 304 and all without a `Location` are responses like any other.
///
/// ```swift
/// let queue = NetworkQueue(session: session) {
///     $0.redirects = .refuse
/// }
/// operation.redirects = .custom { response, request in
///     request.url?.host == "cdn.example.com" ? request : nil
/// }
/// ```
public struct RedirectPolicy: Sendable {
    typealias Decision = @Sendable (HTTPURLResponse, URLRequest) async -> URLRequest?

    enum Rule: Sendable {
        case follow
        case refuse
        case ask(Decision)
    }

    let rule: Rule

    /// Whether a redirect may lead from https to http, where everybody on the way can read along. If not, the default,
    /// it fails with `URLError.appTransportSecurityRequiresSecureConnection`.
    public var allowsInsecure = false

    /// Names of headers, in any case, that never go to another origin (scheme, host and port), besides those that never do:
    /// `Authorization`, `Cookie`, `Proxy-Authorization`, and names that are made for keys and tokens, such as `X-API-Key`,
    /// `X-Auth-Token` or `Private-Token`.
    public var confidentialHeaders: Set<String> = []

    private init(rule: Rule) {
        self.rule = rule
    }

    /// Redirects are followed.
    public static let follow = RedirectPolicy(rule: .follow)

    /// The redirect is the response; what the server says after 3xx is its body.
    public static let refuse = RedirectPolicy(rule: .refuse)

    /// The caller decides about each redirect that could be followed.
    ///
    /// - Parameter decide: gets the redirect and the request that would be sent next, without the headers that do not go to
    ///   another origin. It returns that request, changed if need be, or nil: then the redirect is the response. A request
    ///   that it leads to yet another origin loses the confidential headers too, unless it sets them anew. It may take its
    ///   time: cancelling and timeouts work meanwhile. But it runs as a task, and must not block its thread.
    public static func custom(
        _ decide: @escaping @Sendable (_ response: HTTPURLResponse, _ request: URLRequest) async -> URLRequest?
    ) -> RedirectPolicy {
        RedirectPolicy(rule: .ask(decide))
    }
}
