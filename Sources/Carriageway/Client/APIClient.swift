import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A server and what is the same for all requests to it: where it is, headers, encoder and decoder.
///
/// ```swift
/// var client = APIClient(baseURL: "https://api.example.com/v1")
/// client.headers["Accept-Language"] = "de"
///
/// let user = try await client.value(
///     for: .get("/users/1", as: User.self))
/// let created = try await client.send(
///     .post("/users", as: User.self).sending(newUser))
/// print(created.value, created.statusCode)
/// print(created.header("Location") ?? "")
/// ```
///
/// A client is a value over a ``NetworkQueue``: everything it sends is a ``NetworkOperation`` on that queue, so slots,
/// suspension, retry, credentials and limits are the queue's.
public struct APIClient: Sendable {
    /// Where the requests go.
    public let queue: NetworkQueue

    /// Headers of every request; those of an endpoint take their place.
    public var headers: [String: String] = [:]

    /// How values given to ``Endpoint/sending(_:by:)`` are written: JSON unless set.
    public var encoder: any BodyEncoder = JSONEncoder()

    /// How responses are read: JSON unless set.
    public var decoder: any BodyDecoder = JSONDecoder()

    /// Which responses count as a success, where the endpoint does not say; nil for the queue's validation.
    public var validation: ResponseValidation?

    /// Answers a response that validation refused, in its stead.
    ///
    /// It is asked when the request will not be sent again: after the retries, and after the renewal of a credential. Nil
    /// leaves the failure as it is; what it throws takes its place. It may send requests of its own, also through this
    /// queue, which the request holds no slot of by then. It ends with the operation: its task is cancelled by then.
    public var recover: (@Sendable (InvalidResponse) async throws -> NetworkResponse?)?

    private let base: Result<URL, NetworkError>

    /// A client of the server at a URL, which may have a path and a query that every request begins with.
    ///
    /// What cannot be a base, as a URL that is relative or has a fragment, fails each request with
    /// ``NetworkError/invalidRequest(_:)``.
    ///
    /// - Parameters:
    ///   - baseURL: scheme, host, and what every request begins with.
    ///   - queue: where the requests go: one of its own over ``NetworkSession/shared`` unless given.
    public init(baseURL: URL, queue: NetworkQueue = NetworkQueue()) {
        self.queue = queue
        base = .success(baseURL)
    }

    /// The same from text: `APIClient(baseURL: "https://api.example.com/v1")`.
    public init(baseURL: String, queue: NetworkQueue = NetworkQueue()) {
        self.queue = queue
        base = URL(string: baseURL).map { .success($0) } ?? .failure(.invalidRequest("the base URL is malformed"))
    }

    /// A client of a host: `APIClient(host: "api.example.com")`, `APIClient(host: "localhost:8080", scheme: "http")`.
    ///
    /// A host that has a scheme, a slash, or anything else but a name and a port in it fails each request with
    /// ``NetworkError/invalidRequest(_:)``.
    public init(host: String, scheme: String = "https", queue: NetworkQueue = NetworkQueue()) {
        self.queue = queue
        do throws(NetworkError) {
            base = .success(try EndpointURL.base(scheme: scheme, host: host))
        } catch {
            base = .failure(error)
        }
    }

    /// The request of an endpoint without its body, to send it in another way.
    ///
    /// - Throws: ``NetworkError/invalidRequest(_:)`` if base and path make no URL.
    public func request<Value>(for endpoint: Endpoint<Value>) throws(NetworkError) -> URLRequest {
        try parts(of: endpoint).request
    }

    /// Request and body of an endpoint.
    func parts<Value>(of endpoint: Endpoint<Value>) throws(NetworkError)
        -> (request: URLRequest, body: RequestBody?)
    {
        try endpoint.request(to: base.get(), headers: headers, encoder: encoder)
    }

    /// The same for an operation: what is wrong becomes the operation's failure when it makes its request.
    func sendable<Value>(_ endpoint: Endpoint<Value>) -> (request: URLRequest, body: RequestBody?) {
        do throws(NetworkError) {
            return try parts(of: endpoint)
        } catch {
            return (URLRequest(url: URL(fileURLWithPath: "/")), .failing(with: error))
        }
    }
}
