import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The body of a response, in the pieces in which it comes.
///
/// ```swift
/// for try await chunk in queue.bytes(for: request) {
///     print(chunk.count)
/// }
/// for try await line in queue.bytes(for: request).lines {
///     print(line)
/// }
/// let users = queue.bytes(for: request).jsonLines(as: User.self)
/// for try await user in users {
///     print(user.name)
/// }
/// ```
///
/// The request is enqueued when iteration begins, or when ``response`` is awaited, and is cancelled when the loop is left,
/// when the task is cancelled, and when nobody holds the sequence any more. It throws a ``NetworkError``. It can be iterated
/// once: there is one request, and each byte is given once.
///
/// What comes and is not read waits in memory, `bufferSize` bytes at most. Beyond that the transport pauses. One that cannot,
/// as `URLSession` on Linux, ends the request with ``NetworkError/responseTooLarge(limit:)``. A failed request is sent
/// again only before the first byte has come.
public struct NetworkBytes: AsyncSequence, Sendable {
    /// A piece of the body, never empty.
    public typealias Element = Data

    let holder: ByteStream.Holder

    init(_ stream: ByteStream) {
        holder = ByteStream.Holder(stream)
    }

    /// The request: for its priority, its policies, and to cancel it. It is enqueued when it is needed.
    public var operation: NetworkOperation { holder.stream.operation }

    /// Status and headers, awaited. Throws a ``NetworkError``, for a status that validation refuses too.
    public var response: HTTPURLResponse {
        get async throws { try await holder.stream.response() }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator {
        Iterator(loop: Loop(holder), holder: holder)
    }

    /// Ends the request when the loop is left.
    final class Loop: Sendable {
        private let holder: ByteStream.Holder

        init(_ holder: ByteStream.Holder) {
            self.holder = holder
        }

        deinit {
            holder.stream.cancel()
        }
    }

    /// Reads the pieces one by one.
    public struct Iterator: AsyncIteratorProtocol {
        let loop: Loop
        let holder: ByteStream.Holder

        /// The next piece; nil at the end. Throws a ``NetworkError``.
        public mutating func next() async throws -> Data? {
            try await holder.stream.next()
        }
    }
}

extension NetworkQueue {
    /// The body of a response, piece by piece; see ``NetworkBytes``.
    ///
    /// - Parameters:
    ///   - request: what to send.
    ///   - body: what is sent with it, in place of a body that the request has itself.
    ///   - bufferSize: how many bytes may wait to be read; 16 MB by default.
    public func bytes(for request: URLRequest, body: RequestBody? = nil, bufferSize: Int = 16 << 20) -> NetworkBytes {
        NetworkBytes(ByteStream(request, body: body, limit: bufferSize, queue: self))
    }
}
