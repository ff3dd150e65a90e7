import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What to request, of a server to be named elsewhere, and what the response is.
///
/// ```swift
/// let user = Endpoint.get("/users/\(id)", as: User.self)
/// let named = [URLQueryItem(name: "name", value: "Ada & Co")]
/// let search = Endpoint.get("/users", query: named, as: [User].self)
/// let create = Endpoint.post("/users", as: User.self).sending(newUser)
/// let remove = Endpoint.delete("/users/\(id)")
///
/// let ada = try await client.value(for: user)
/// ```
///
/// An endpoint is a value: it sends nothing itself. An ``APIClient`` sends it through its ``NetworkQueue``, with all that
/// holds there. What is nil here is the client's to say, and then the queue's.
public struct Endpoint<Value: Sendable>: Sendable {
    /// The method of the request.
    public var method: HTTPMethod

    /// The path, joined to the client's base URL with one slash between.
    ///
    /// Bytes in percent are kept, so a value that may hold any character goes in by ``PercentEncoding/segment(_:)``; what
    /// else cannot stand in a path is put in percent. `?`, `#`, a lone `%`, the segments `.` and `..`, and a whole URL are
    /// refused with ``NetworkError/invalidRequest(_:)``.
    public var path: String

    /// Names and values, encoded by RFC 3986; see ``PercentEncoding/query(_:)``.
    public var query: [URLQueryItem]

    /// Headers of this request; they take the place of the client's of the same name.
    public var headers: [String: String]

    /// What is sent. It takes the place of a value given to ``sending(_:by:)``.
    public var body: RequestBody? {
        didSet { content = nil }
    }

    /// How the response is read; nil for the client's decoder. `Data` is the body as it is.
    public var decoder: (any BodyDecoder)?

    /// Which responses count as a success.
    public var validation: ResponseValidation?

    /// What becomes of a response without body.
    public var emptyBody: EmptyBodyRule<Value> = .byType

    /// Whether and when failed attempts are followed by others.
    public var retryPolicy: RetryPolicy?

    /// How long it may take in all; see ``NetworkOperation/timeout``.
    public var timeout: Duration?

    /// Whether the request gets the credential of the queue's ``Authentication``.
    public var isAuthenticated = true

    private var content: (@Sendable (any BodyEncoder) throws -> RequestBody)?
    private let readBody: @Sendable (Data, any BodyDecoder) throws -> Value
    private let emptyValue: Value?

    /// An endpoint whose response is decoded.
    ///
    /// - Parameters:
    ///   - method: of any name.
    ///   - path: relative to the client's base URL; see ``path``.
    ///   - query: in order, names may come again.
    ///   - headers: of this request.
    ///   - body: what is sent; a value that the client's encoder is to write goes into ``sending(_:by:)``.
    ///   - type: what the response is.
    public init(
        _ method: HTTPMethod, _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:],
        body: RequestBody? = nil, as type: Value.Type = Value.self
    ) where Value: Decodable {
        self.init(
            method, path, query, headers, body, emptyValue: EndpointBody.empty(of: type),
            read: { data, decoder in try EndpointBody.value(type, of: data, by: decoder) })
    }

    /// An endpoint whose response has nothing to say; a body that it may have is not read.
    public init(
        _ method: HTTPMethod, _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:],
        body: RequestBody? = nil, as type: Value.Type = Void.self
    ) where Value == Void {
        self.init(method, path, query, headers, body, emptyValue: (), read: { _, _ in () })
    }

    private init(
        _ method: HTTPMethod, _ path: String, _ query: [URLQueryItem], _ headers: [String: String],
        _ body: RequestBody?, emptyValue: Value?, read: @escaping @Sendable (Data, any BodyDecoder) throws -> Value
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.emptyValue = emptyValue
        readBody = read
    }

    /// The same, with a value as its body.
    ///
    /// - Parameters:
    ///   - value: encoded when the endpoint is sent. If it cannot be, that fails with ``NetworkError/generalError(_:)``.
    ///   - encoder: how it is written; nil for the client's encoder.
    public func sending(_ value: some Encodable & Sendable, by encoder: (any BodyEncoder)? = nil) -> Endpoint {
        var copy = self
        copy.body = nil
        copy.content = { usual in
            let encoder = encoder ?? usual
            return .data(try encoder.encode(value), contentType: encoder.contentType)
        }
        return copy
    }

    /// The same, changed.
    public func with(_ change: (inout Endpoint) -> Void) -> Endpoint {
        var copy = self
        change(&copy)
        return copy
    }
}

extension Endpoint {
    /// The request and its body for a server.
    func request(to base: URL, headers: [String: String], encoder: any BodyEncoder) throws(NetworkError)
        -> (request: URLRequest, body: RequestBody?)
    {
        var request = URLRequest(url: try EndpointURL.join(base, path, query))
        request.httpMethod = method.rawValue
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        for (name, value) in self.headers { request.setValue(value, forHTTPHeaderField: name) }
        guard let content else { return (request, body) }
        do {
            return (request, try content(encoder))
        } catch {
            throw NetworkError(thrown: error)
        }
    }

    /// The value that a response holds.
    func value(of response: NetworkResponse, by usual: any BodyDecoder) throws(NetworkError) -> Value {
        if response.data.isEmpty {
            switch emptyBody {
            case .value(let value): return value
            case .failure: throw .noResponseData(response.http)
            case .byType:
                guard let emptyValue else { throw .noResponseData(response.http) }
                return emptyValue
            }
        }
        do {
            return try readBody(response.data, decoder ?? usual)
        } catch {
            throw .decodingFailed(error, response)
        }
    }
}

/// Reading of bodies by type.
private enum EndpointBody {
    static func empty<Value: Decodable>(of type: Value.Type) -> Value? {
        if let none = Data() as? Value { return none }
        return (type as? any EmptyRepresentable.Type)?.empty as? Value
    }

    static func value<Value: Decodable>(_ type: Value.Type, of data: Data, by decoder: any BodyDecoder) throws -> Value
    {
        // Bytes as they are, not as base64 in JSON.
        if let data = data as? Value { return data }
        if let none = NoContent() as? Value { return none }
        // `JSONDecoder` would round numbers of many digits.
        if type == JSONValue.self, decoder is JSONDecoder, let value = try JSONValue(parsing: data) as? Value {
            return value
        }
        return try decoder.decode(type, from: data)
    }
}
