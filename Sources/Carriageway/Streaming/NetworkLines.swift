import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The lines of a response, as they come; see ``NetworkBytes``.
///
/// A line ends with LF, CR LF or CR, which are not part of it, and is read as UTF-8. A line that is longer than the buffer of
/// the bytes ends with ``NetworkError/responseTooLarge(limit:)``.
public struct NetworkLines: AsyncSequence, Sendable {
    /// A line without its end; may be empty.
    public typealias Element = String

    let bytes: NetworkBytes

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator {
        Iterator(bytes: bytes.makeAsyncIterator(), limit: bytes.holder.stream.limit)
    }

    /// Reads the lines one by one.
    public struct Iterator: AsyncIteratorProtocol {
        var bytes: NetworkBytes.Iterator
        let limit: Int
        private var splitter = LineSplitter()
        private var ready: ArraySlice<String> = []
        private var isAtEnd = false

        init(bytes: NetworkBytes.Iterator, limit: Int) {
            self.bytes = bytes
            self.limit = limit
        }

        /// The next line; nil at the end. Throws a ``NetworkError``.
        public mutating func next() async throws -> String? {
            while true {
                if let line = ready.popFirst() { return line }
                guard !isAtEnd else { return nil }
                guard splitter.pendingCount <= limit else { throw NetworkError.responseTooLarge(limit: Int64(limit)) }
                if let data = try await bytes.next() {
                    ready = splitter.add(data)[...]
                } else {
                    isAtEnd = true
                    return splitter.finish()
                }
            }
        }
    }
}

/// Values of JSON, one on each line; see ``NetworkBytes/jsonLines(as:using:)``.
public struct JSONLines<Value: Decodable>: AsyncSequence {
    /// A decoded value.
    public typealias Element = Value

    let lines: NetworkLines
    let decoder: JSONDecoder

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator {
        Iterator(lines: lines.makeAsyncIterator(), stream: lines.bytes.holder.stream, decoder: decoder)
    }

    /// Reads the values one by one.
    public struct Iterator: AsyncIteratorProtocol {
        var lines: NetworkLines.Iterator
        let stream: ByteStream
        let decoder: JSONDecoder

        /// The next value; nil at the end. Throws a ``NetworkError``.
        public mutating func next() async throws -> Value? {
            while let line = try await lines.next() {
                guard line.contains(where: { !$0.isWhitespace }) else { continue }
                let data = Data(line.utf8)
                do {
                    return try decoder.decode(Value.self, from: data)
                } catch {
                    let head = try await stream.response()
                    let request = URLRequest(url: head.url ?? URL(fileURLWithPath: "/"))
                    throw NetworkError.decodingFailed(
                        error, NetworkResponse(data: data, http: head, request: request))
                }
            }
            return nil
        }
    }
}

extension NetworkBytes {
    /// The lines of the body.
    public var lines: NetworkLines { NetworkLines(bytes: self) }

    /// The values of a body with one JSON text on each line (NDJSON, JSON Lines). Empty lines are passed over.
    ///
    /// A line that does not fit is ``NetworkError/decodingFailed(_:_:)``, with the line as the response's data.
    public func jsonLines<Value: Decodable>(
        as type: Value.Type = Value.self, using decoder: JSONDecoder = JSONDecoder()
    ) -> JSONLines<Value> {
        JSONLines(lines: lines, decoder: decoder)
    }
}
