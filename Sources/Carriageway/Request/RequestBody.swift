import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What is sent with a request: from memory, from a file, or from a stream.
///
/// ```swift
/// queue.send(request, body: .json(user)) { result in }
/// queue.send(request, body: .file(videoURL)) { result in }
///
/// var form = MultipartForm()
/// form.append(name: "title", value: "Holiday")
/// form.append(name: "photo", file: photoURL)
/// let response = try await queue.response(
///     for: request, body: .multipart(form))
/// ```
///
/// A body is opened anew for each attempt and after a redirect with 307 or 308, so that each send has all of it.
/// `Content-Length` is sent whenever the length is known. `Content-Type` is the body's unless the request has its own.
/// A body set here takes the place of the request's `httpBody` and `httpBodyStream`; the latter, which can be read only
/// once, is the one kind that is never sent again.
public struct RequestBody: Sendable {
    enum Content {
        case data(Data)
        case file(URL)
        case stream(length: Int64?, open: @Sendable () throws -> InputStream)
        case multipart(MultipartForm)
        case failed(NetworkError)
    }

    let content: Content

    /// The value of `Content-Type`.
    public let contentType: String

    /// The value of `Content-Encoding`; nil for none.
    private(set) var contentEncoding: String?

    init(content: Content, contentType: String) {
        self.content = content
        self.contentType = contentType
    }

    /// Bytes from memory.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> RequestBody {
        RequestBody(content: .data(data), contentType: contentType)
    }

    /// Text in UTF-8.
    public static func text(_ text: String, contentType: String = "text/plain; charset=utf-8") -> RequestBody {
        .data(Data(text.utf8), contentType: contentType)
    }

    /// A value as JSON, encoded on the spot.
    ///
    /// If it cannot be encoded the request fails with ``NetworkError/generalError(_:)`` and is not sent.
    public static func json(_ value: some Encodable, using encoder: JSONEncoder = JSONEncoder()) -> RequestBody {
        .encoded(contentType: "application/json") { try encoder.encode(value) }
    }

    /// A value as `application/x-www-form-urlencoded`, encoded on the spot: a structure or a dictionary with text keys.
    ///
    /// How arrays, dates and truth values are written is the encoder's to say. If the value cannot be encoded the request
    /// fails with ``NetworkError/generalError(_:)`` and is not sent.
    public static func form(_ value: some Encodable, using encoder: FormEncoder = FormEncoder()) -> RequestBody {
        .encoded(contentType: FormEncoding.contentType) { Data(try encoder.encode(value).utf8) }
    }

    /// Names and values as `application/x-www-form-urlencoded`, in order; a value that is missing is empty.
    public static func form(_ fields: [URLQueryItem]) -> RequestBody {
        let text = FormEncoding.encode(fields.map { (name: $0.name, value: $0.value ?? "") })
        return .data(Data(text.utf8), contentType: FormEncoding.contentType)
    }

    /// A file, read while it is sent.
    ///
    /// The request fails with ``NetworkError/fileError(_:)`` if the file cannot be read, is a folder, or gets shorter
    /// meanwhile. What it gets longer by is not sent.
    ///
    /// - Parameters:
    ///   - url: where the file is.
    ///   - contentType: by the name of the file if not given.
    public static func file(_ url: URL, contentType: String? = nil) -> RequestBody {
        RequestBody(
            content: .file(url), contentType: contentType ?? MediaType.forFile(named: url.lastPathComponent))
    }

    /// Bytes from a stream that can be had as often as the request is sent.
    ///
    /// - Parameters:
    ///   - length: the number of bytes. Without it the body goes out in chunks, which some servers do not take. A stream
    ///     that gives fewer or more bytes fails the request with ``NetworkError/invalidRequest(_:)``.
    ///   - contentType: the media type.
    ///   - open: gives a new stream, not yet opened, at each call. What it throws fails the request, as
    ///     ``NetworkError/generalError(_:)`` unless it is a ``NetworkError``. The stream should not block when it is
    ///     read: on Linux, `URLSession` reads it on the queue that serves every other request too.
    public static func stream(
        length: Int64? = nil, contentType: String = "application/octet-stream",
        open: @escaping @Sendable () throws -> InputStream
    ) -> RequestBody {
        RequestBody(content: .stream(length: length, open: open), contentType: contentType)
    }

    /// Fields and files as `multipart/form-data` (RFC 7578). Files are read while they are sent.
    public static func multipart(_ form: MultipartForm) -> RequestBody {
        RequestBody(content: .multipart(form), contentType: form.contentType)
    }

    /// The body compressed as gzip, on the spot, with `Content-Encoding: gzip`; for bytes in memory, JSON and forms.
    ///
    /// Only for servers that are known to take it: there is no negotiation. What is read from files and streams is not
    /// compressed: such a request fails with ``NetworkError/invalidRequest(_:)``. On Linux it takes the zlib that Foundation's
    /// own libcurl brings along; where there is none it fails with ``NetworkError/generalError(_:)``.
    public func gzipped() -> RequestBody {
        switch content {
        case .failed: return self
        case .data(let data):
            var body = RequestBody.encoded(contentType: contentType) { try Gzip.compressed(data) }
            body.contentEncoding = "gzip"
            return body
        case .file, .stream, .multipart:
            let error = NetworkError.invalidRequest("only a body in memory can be compressed")
            return RequestBody(content: .failed(error), contentType: contentType)
        }
    }

    private static func encoded(contentType: String, _ encode: () throws -> Data) -> RequestBody {
        do {
            return .data(try encode(), contentType: contentType)
        } catch {
            return RequestBody(content: .failed(.generalError(error)), contentType: contentType)
        }
    }
}

extension RequestBody {
    /// Puts the body into the request as far as it goes there: bytes from memory, so that `prepare` sees them and can sign
    /// them. What is read while it is sent is `transportBody()`.
    func attach(to request: inout URLRequest) throws(NetworkError) {
        request.httpBodyStream = nil
        request.httpBody = nil
        switch content {
        case .data(let data): request.httpBody = data
        case .failed(let error): throw error
        // To fail before a slot is taken, if a file is missing.
        case .file, .stream, .multipart: _ = try transportBody()?.length()
        }
        if request.value(forHTTPHeaderField: "Content-Type") == nil {
            request.setValue(contentType, forHTTPHeaderField: "Content-Type")
        }
        if let contentEncoding { request.setValue(contentEncoding, forHTTPHeaderField: "Content-Encoding") }
    }

    /// What is read while it is sent, measured anew; nil for bytes from memory, which are in the request.
    func transportBody() throws(NetworkError) -> TransportBody? {
        switch content {
        case .data, .failed: nil
        case .file(let url): .file(url)
        case .stream(let length, let open): .stream(length: length, open: open)
        case .multipart(let form): try form.transportBody()
        }
    }

    var isInMemory: Bool {
        switch content {
        case .data, .failed: true
        case .file, .stream, .multipart: false
        }
    }
}
