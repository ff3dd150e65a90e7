import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The body of a request below the session: something that can be opened as often as the request is sent.
package enum TransportBody: Sendable {
    case none
    case data(Data)
    /// A regular file, as long as it is when it is opened.
    case file(URL)
    /// Bytes of a known or unknown length. `open` gives a stream that has not been opened; it may throw, and is called
    /// anew each time that the body is sent.
    case stream(length: Int64?, open: @Sendable () throws -> InputStream)

    /// The body that a request has itself. Its stream can be had once.
    package init(of request: URLRequest) {
        if let data = request.httpBody {
            self = data.isEmpty ? .none : .data(data)
        } else if let stream = request.httpBodyStream {
            let once = Locked<InputStream?>(stream)
            self = .stream(length: nil) {
                let taken = once.withLock { stream in
                    defer { stream = nil }
                    return stream
                }
                guard let taken else { throw NetworkError.invalidRequest("the body is a stream that has been read") }
                return taken
            }
        } else {
            self = .none
        }
    }

    package var isNone: Bool {
        if case .none = self { return true }
        return false
    }

    /// The number of bytes; nil if it is not known.
    ///
    /// - Throws: ``NetworkError/fileError(_:)`` for a file that is not there or is none.
    package func length() throws(NetworkError) -> Int64? {
        switch self {
        case .none: 0
        case .data(let data): Int64(data.count)
        case .file(let url): try RegularFile.length(of: url)
        case .stream(let length, _): length
        }
    }
}

extension URLRequest {
    /// The request without a body of its own.
    var withoutBody: URLRequest {
        // Setting a property copies the request on Linux, also where nothing changes.
        guard httpBody != nil || httpBodyStream != nil else { return self }
        var copy = self
        copy.httpBody = nil
        copy.httpBodyStream = nil
        return copy
    }
}
