import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One transfer at a time by `URLSession` as one writes it by hand: what comes is written in the callback.
final class RawTransfer: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Used on the session's queue while a transfer runs, and by its caller before and after.
    private var descriptor: Int32 = -1
    private var done: CheckedContinuation<Void, any Error>?

    func download(_ url: URL, to file: URL, over session: URLSession) async throws {
        descriptor = open(file.path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        defer {
            close(descriptor)
            descriptor = -1
        }
        try await run(session.dataTask(with: url))
    }

    func upload(_ file: URL, to url: URL, over session: URLSession) async throws {
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        try await run(session.uploadTask(with: request, fromFile: file))
    }

    private func run(_ task: URLSessionTask) async throws {
        try await withCheckedThrowingContinuation { continuation in
            done = continuation
            task.resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard descriptor >= 0 else { return }
        data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let done = self.done
        self.done = nil
        if let error { done?.resume(throwing: error) } else { done?.resume() }
    }
}
