import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What touches the limits, the descriptors or the memory of the whole process.
extension Scenario {
    private static func makeFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("carriageway-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// The disk is full, or as good as: the process may write no file beyond 100 KB.
    static func diskFull() async throws {
        let folder = try makeFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try LoopbackServer()
        server.on("/big", .data(Data(count: 1_000_000)).header("ETag", "\"v1\""))
        let file = folder.appendingPathComponent("file")
        try Data("old".utf8).write(to: file)
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: 100_000, rlim_max: 100_000)
        #if canImport(Glibc)
            let kind = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        #else
            let kind = RLIMIT_FSIZE
        #endif
        try Fault.unless(setrlimit(kind, &limit) == 0, "no limit can be set")
        let queue = NetworkQueue(session: NetworkSession.probed())
        do {
            try await queue.download(URLRequest(url: server.url("/big")), to: file)
            throw Fault(description: "it was written")
        } catch let error as NetworkError {
            guard case .fileError = error else { throw Fault(description: "\(error)") }
        }
        try Fault.unless(try Data(contentsOf: file) == Data("old".utf8), "the old file was touched")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        try Fault.unless(names == ["file"], "left over: \(names)")
    }

    /// Many small files, 32 in flight: all there, no descriptor left open.
    static func manyFiles() async throws {
        let count = ProcessInfo.processInfo.environment["CARRIAGEWAY_FILES"].flatMap { Int($0) } ?? 1_000
        let folder = try makeFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try LoopbackServer()
        server.recordsRequests = false
        server.on("/*") { .text("content of \($0.path)") }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 32
        let session = NetworkSession.probed(configuration)
        let queue = NetworkQueue(session: session) {
            $0.maxConcurrentRequests = 32
            $0.maxConcurrentRequestsPerHost = 32
        }
        try await queue.download(URLRequest(url: server.url("/first")), to: folder.appendingPathComponent("first"))
        let before = openFiles(under: folder)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                group.addTask {
                    let file = folder.appendingPathComponent("\(index)")
                    try await queue.download(URLRequest(url: server.url("/\(index)")), to: file)
                }
            }
            try await group.waitForAll()
        }
        try Fault.unless(server.peakConcurrency <= 32, "\(server.peakConcurrency) in flight")
        for index in 0..<count {
            let text = try String(contentsOf: folder.appendingPathComponent("\(index)"), encoding: .utf8)
            try Fault.unless(text == "content of /\(index)", "file \(index) holds \(text)")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        try Fault.unless(names.count == count + 1, "\(names.count) files, not \(count + 1)")
        try Fault.unless(openFiles(under: folder) == before, "files are still open")
    }

    private static func openFiles(under folder: URL) -> Int {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return descriptors.count { descriptor in
            let place = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return place?.hasPrefix(folder.path) ?? false
        }
    }

    /// A reader that is slower than the network, over a transport that can pause: memory stays within bounds.
    static func slowReader() async throws {
        #if os(Linux)
            guard NetworkSession.TransportKind.curl.unavailability == nil else { return }
            let server = try LoopbackServer()
            let body = Data(count: 300 << 20)
            server.on("/big", .data(body))
            let queue = NetworkQueue(session: NetworkSession(configuration: .ephemeral, transport: .curl))
            let before = resident
            var (read, most, chunks) = (0, 0, 0)
            for try await chunk in queue.bytes(for: URLRequest(url: server.url("/big"))) {
                read += chunk.count
                chunks += 1
                guard chunks <= 50 else { continue }
                try await Task.sleep(for: .milliseconds(20))
                most = max(most, resident - before)
            }
            try Fault.unless(read == body.count, "\(read) bytes")
            try Fault.unless(most < 60 << 20, "\(most >> 20) MB")
        #endif
    }

    private static var resident: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
    }
}
