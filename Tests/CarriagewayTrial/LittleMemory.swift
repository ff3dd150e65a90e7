import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Large bodies and many files, with the memory and the descriptors that they take: in a process of its own, where nothing
/// else takes any.
struct LittleMemory {
    private let arguments: TrialArguments

    init(_ arguments: TrialArguments) {
        self.arguments = arguments
    }

    private var session: NetworkSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 32
        #if os(Linux)
            if arguments.text("transport") == "curl" {
                return NetworkSession(configuration: configuration, transport: .curl)
            }
        #endif
        return NetworkSession(configuration: configuration)
    }

    /// The most that the process has had resident, in MB.
    private static func peak() throws -> Double {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return (Double(line.filter(\.isNumber)) ?? .infinity) / 1_024
    }

    // MARK: A slow reader

    /// A stream of so many megabytes, offered as fast as it is taken; the reader takes one chunk, waits, takes the next.
    /// Over a transport that can pause, no more waits than the buffer holds; over one that cannot, the stream ends.
    func slowReader() async throws {
        let megabytes = arguments.number("megabytes", default: 1_024)
        let chunks = arguments.number("chunks", default: 500)
        let interval = Duration.milliseconds(arguments.number("interval", default: 0))
        let pauses = arguments.text("transport") == "curl"
        let limit = 16 << 20
        let server = try LoopbackServer()
        server.on("/large", .data(Data(count: 1 << 20)).repeated(megabytes))
        server.on("/small", .text("x"))
        let queue = NetworkQueue(session: session) { $0.retryPolicy = .never }
        // What the first request costs is not the stream's.
        _ = try await queue.data(for: URLRequest(url: server.url("/small")))
        let idle = try Self.peak()
        var request = URLRequest(url: server.url("/large"))
        request.timeoutInterval = 3_600
        let bytes = queue.bytes(for: request, bufferSize: limit)
        let progress = bytes.operation.progress
        var iterator = bytes.makeAsyncIterator()
        var (read, most) = (0, 0)
        do {
            for chunk in 0..<chunks {
                guard let data = try await iterator.next() else { break }
                read += data.count
                // From here on it is the network's turn, until the buffer is full: that is the end of a stream that cannot pause.
                while chunk == 0, !pauses || progress.completedUnitCount <= limit, !bytes.operation.isFinished {
                    try await Task.sleep(for: .milliseconds(1))
                }
                try await Task.sleep(for: interval)
                most = max(most, Int(progress.completedUnitCount) - read)
            }
        } catch NetworkError.responseTooLarge(limit: Int64(limit)) where !pauses {
            say("ended with \(NetworkError.responseTooLarge(limit: Int64(limit))) after \(read) bytes were read")
        }
        bytes.operation.cancel()
        let used = try Self.peak() - idle
        say("read \(read) bytes; at most \(most) waited; peak \(used) MB over idle")
        try Fault.unless(most < limit + 2 << 20, "\(most) bytes waited")
        try Fault.unless(used < 60, "\(used) MB")
    }

    // MARK: Many files

    /// So many small files, 32 in flight: each is there, with what is its own, and no descriptor is left open.
    func smallFiles() async throws {
        let count = arguments.number("count", default: 10_000)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try LoopbackServer()
        server.recordsRequests = false
        server.on("/*") { .text("content of \($0.path)").header("ETag", "\"\($0.path)\"") }
        let queue = NetworkQueue(session: session) {
            $0.maxConcurrentRequests = 32
            $0.maxConcurrentRequestsPerHost = 32
        }
        let started = ContinuousClock.now
        try await get(0..<64, into: folder, from: server, queue)
        let before = try SoakSample.now().descriptors
        try await get(64..<count, into: folder, from: server, queue)
        let after = try SoakSample.now().descriptors
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        say("\(names.count) files in \(ContinuousClock.now - started), \(before) descriptors before, \(after) after")
        try Fault.unless(Set(names) == Set((0..<count).map(String.init)), "\(names.count) files")
        for name in names {
            let content = try Data(contentsOf: folder.appendingPathComponent(name))
            try Fault.unless(content == Data("content of /\(name)".utf8), "\(name) holds \(content.count) bytes")
        }
        // Connections that are kept have two ends here, and need not all have been there before.
        try Fault.unless(after <= before + 80, "\(after - before) descriptors are left")
        try Fault.unless(server.peakConcurrency <= 32, "\(server.peakConcurrency) at a time")
    }

    private func get(
        _ numbers: Range<Int>, into folder: URL, from server: LoopbackServer, _ queue: NetworkQueue
    ) async throws {
        let operations = numbers.map { number in
            NetworkOperation(
                download: URLRequest(url: server.url("/\(number)")),
                to: folder.appendingPathComponent("\(number)"))
        }
        queue.addOperations(operations, waitUntilFinished: false)
        for operation in operations { _ = try await operation.response }
    }

    // MARK: A busy delegate

    #if canImport(FoundationNetworking)
        /// `URLSession` reads no more than may wait in its delegate queue while that is busy, and all of it in the end.
        func busyDelegate() async throws {
            let server = try LoopbackServer()
            let size = 64 << 20
            server.on("/f", .data(Data(count: 1 << 20)).repeated(64))
            let (queue, delegate) = (DelegateQueue(high: 10, longestWait: 600), BusyDelegate())
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: queue)
            session.dataTask(with: server.url("/f")).resume()
            while !queue.backlog.isHeld { try await Task.sleep(for: .milliseconds(1)) }
            let waiting = queue.backlog.count
            // One that was running when the hold began may have ended since.
            try Fault.unless((10...11).contains(waiting), "\(waiting) blocks wait, not 10 or 11")
            delegate.barrier.signal()
            while !delegate.isDone.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
            let count = delegate.count.withLock { $0 }
            try Fault.unless(count == size, "\(count) bytes of \(size)")
        }

        /// Takes the pieces of a body; the first only once the barrier is open.
        private final class BusyDelegate: NSObject, URLSessionDataDelegate {
            let barrier = DispatchSemaphore(value: 0)
            let count = Locked(0)
            let isDone = Locked(false)

            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
                let isFirst = count.withLock { count in
                    defer { count += data.count }
                    return count == 0
                }
                if isFirst { barrier.wait() }
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                isDone.withLock { $0 = true }
            }
        }
    #else
        func busyDelegate() async throws {}
    #endif
}
