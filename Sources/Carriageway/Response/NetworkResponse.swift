import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a request that succeeded brought.
public struct NetworkResponse: Sendable {
    /// The body, decompressed; empty if there was none, or if it went to a file or a stream.
    public let data: Data

    /// Status and headers, of the last hop where redirects were followed.
    public var http: HTTPURLResponse { head.http }

    /// The request as it was sent last: after `prepare`, and after redirects.
    public let request: URLRequest

    /// Every attempt that was made, in order; the last one succeeded.
    public let attempts: [NetworkAttempt]

    /// The file that a download was written to; nil for other requests.
    public let fileURL: URL?

    /// The redirects that the last attempt followed, in order; empty if the first URL answered.
    public let redirects: [NetworkRedirect]

    /// The HTTP status code.
    public var statusCode: Int { head.statusCode }

    let head: ReceivedHead

    /// A response of given parts, for tests of code that takes one.
    public init(
        data: Data, http: HTTPURLResponse, request: URLRequest, attempts: [NetworkAttempt] = [],
        redirects: [NetworkRedirect] = [], fileURL: URL? = nil
    ) {
        self.init(
            data: data, head: ReceivedHead(http), request: request, attempts: attempts, redirects: redirects,
            fileURL: fileURL)
    }

    init(
        data: Data, head: ReceivedHead, request: URLRequest, attempts: [NetworkAttempt], redirects: [NetworkRedirect],
        fileURL: URL?
    ) {
        self.data = data
        self.head = head
        self.request = request
        self.attempts = attempts
        self.fileURL = fileURL
        self.redirects = redirects
    }

    /// The body as a value.
    ///
    /// - Parameters:
    ///   - type: the type to decode; can be left to inference.
    ///   - decoder: how JSON is read.
    /// - Throws: ``NetworkError/noResponseData(_:)`` if there is no body, ``NetworkError/decodingFailed(_:_:)``
    ///   if it does not fit.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self, using decoder: JSONDecoder = JSONDecoder())
        throws(NetworkError) -> Value
    {
        guard !data.isEmpty else { throw .noResponseData(http) }
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw .decodingFailed(error, self)
        }
    }
}
