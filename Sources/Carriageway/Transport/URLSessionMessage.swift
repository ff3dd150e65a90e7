import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A request with its body opened, as a `URLSession` takes it.
///
/// On Linux a file is sent as a stream too: `uploadTask(with:fromFile:)` waits for its timeout when the file is shorter
/// than it was, or is a folder. There a stream has no length of its own and would go out in chunks. The headers say
/// `Content-Length`, and a blank `Transfer-Encoding`, which libcurl takes as the wish to have none.
struct URLSessionMessage {
    var request: URLRequest
    let body: TransportBody
    let bodyFailure = Locked<NetworkError?>(nil)
    /// False if the body cannot be opened: the reason is in `bodyFailure`.
    private(set) var isSendable = true

    init(request: URLRequest, body: TransportBody) {
        self.request = request
        self.body = body
        do throws(NetworkError) {
            try attach()
        } catch {
            bodyFailure.withLock { $0 = error }
            isSendable = false
        }
    }

    private mutating func attach() throws(NetworkError) {
        let length = try body.length()
        switch body {
        case .none: return
        case .data(let data):
            request.httpBody = data
            return
        case .file:
            #if !canImport(FoundationNetworking)
                return
            #endif
        case .stream: break
        }
        if let length {
            guard length >= 0 else { throw .invalidRequest("the length of the body is negative") }
            request.setValue(String(length), forHTTPHeaderField: "Content-Length")
            #if canImport(FoundationNetworking)
                request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
            #endif
        }
        guard let stream = body.stream(length: length, failure: bodyFailure) else {
            isSendable = false
            return
        }
        request.httpBodyStream = stream
    }

    func task(in session: URLSession) -> URLSessionTask {
        #if !canImport(FoundationNetworking)
            if case .file(let url) = body, isSendable { return session.uploadTask(with: request, fromFile: url) }
        #endif
        return session.dataTask(with: request)
    }
}

extension TransportBody {
    /// Opens the body as a stream; nil, with the reason in `failure`, if it cannot be, and for a body that is none.
    ///
    /// - Parameter length: what was announced, for a file; its length now if not given.
    func stream(length announced: Int64? = nil, failure: Locked<NetworkError?>) -> InputStream? {
        do {
            switch self {
            case .none: return nil
            case .data(let data): return InputStream(data: data)
            case .file(let url):
                let length = try RegularFile.length(of: url)
                guard let stream = InputStream(url: url) else { throw NetworkError.posix(ENOENT, url) }
                return Self.checked(stream, length: announced ?? length, isFile: true, failure)
            case .stream(let length, let open):
                return Self.checked(try open(), length: length, isFile: false, failure)
            }
        } catch {
            let error = NetworkError(thrown: error)
            failure.withLock { $0 = $0 ?? error }
            return nil
        }
    }

    private static func checked(
        _ stream: InputStream, length: Int64?, isFile: Bool, _ failure: Locked<NetworkError?>
    ) -> InputStream {
        #if canImport(FoundationNetworking)
            return CheckedInputStream(stream, length: length, isFile: isFile, failure: failure)
        #else
            // The system's own streams cannot be subclassed, and it checks the length itself.
            return stream
        #endif
    }
}
