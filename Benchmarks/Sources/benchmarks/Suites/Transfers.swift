import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A gigabyte down to a file and up from one: speed against raw `URLSession` doing the same, and memory over the idle process.
struct Transfers: Suite {
    enum Subject: String, CaseIterable {
        case rawDown = "URLSession, down"
        case down = "download(_:to:)"
        case curlDown = "download(_:to:), libcurl"
        case command = "curl command, down"
        case rawUp = "URLSession, up"
        case up = "send(_:body: .file)"
        case curlUp = "send(_:body: .file), libcurl"

        var base: Subject {
            switch self {
            case .rawDown, .down, .curlDown, .command: .rawDown
            case .rawUp, .up, .curlUp: .rawUp
            }
        }

        var isCurl: Bool { self == .curlDown || self == .curlUp }
        var isRaw: Bool { self == base }
        var isDown: Bool { base == .rawDown }
    }

    let name = "transfers"
    let needsServer = false

    private static let size = 1_024

    func jobs(isQuick: Bool) -> [Job] {
        Subject.allCases.map { Job(name, $0.rawValue, Self.size, rounds: 3, count: isQuick ? 64 : Self.size) }
    }

    func measure(_ job: Job) async throws -> [String: Double] {
        guard let subject = Subject(rawValue: job.key.subject) else { return [:] }
        let bytes = job.count << 20
        let server = try ServerProcess(command: BulkServer.command)
        defer { server.stop() }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("bulk-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data().write(to: file)
        if !subject.isDown { guard truncate(file.path, off_t(bytes)) == 0 else { return [:] } }
        guard let small = URL(string: "\(server.address)/1000"),
            let large = URL(string: "\(server.address)/\(subject.isDown ? bytes : 0)")
        else { return [:] }
        if subject == .command { return try Self.runCommand(large, to: file, job.count) }
        let transfer = try subject.isRaw ? raw(subject) : ours(subject)
        // What the first request costs is not the transfer's.
        if subject.isDown { try await transfer(small, file) }
        let idle = Memory.resident
        let start = Usage.now
        try await transfer(large, file)
        let (cpu, wall) = start.elapsed
        if subject.isDown {
            let size = try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
            guard size == bytes else { throw ChildProcess.Failure(description: "\(size) bytes, not \(bytes)") }
        }
        return [
            "rate": Double(job.count) / wall, "cpu": cpu, "memory": (Memory.peak - idle) / 1_048_576,
        ]
    }

    /// Nothing where there is no such command.
    private static func runCommand(_ url: URL, to file: URL, _ megabytes: Int) throws -> [String: Double] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        process.arguments = ["--silent", "--fail", "--output", file.path, url.absoluteString]
        let start = Usage.now
        guard (try? process.run()) != nil else { return [:] }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw ChildProcess.Failure(description: "curl ended with \(process.terminationStatus)")
        }
        return ["rate": Double(megabytes) / start.elapsed.wall]
    }

    private func raw(_ subject: Subject) throws -> (URL, URL) async throws -> Void {
        let client = RawTransfer()
        let session = URLSession(
            configuration: .bare(connectionsPerHost: 6), delegate: client, delegateQueue: nil)
        return { url, file in
            if subject.isDown {
                try await client.download(url, to: file, over: session)
            } else {
                try await client.upload(file, to: url, over: session)
            }
        }
    }

    private func ours(_ subject: Subject) throws -> (URL, URL) async throws -> Void {
        var transport = NetworkSession.TransportKind.urlSession
        #if os(Linux)
            if subject.isCurl { transport = .curl }
        #endif
        let queue = NetworkQueue(
            session: NetworkSession(configuration: .bare(connectionsPerHost: 6), transport: transport))
        return { url, file in
            var request = URLRequest(url: url)
            if subject.isDown {
                try await queue.download(request, to: file)
            } else {
                request.httpMethod = "PUT"
                _ = try await queue.response(for: request, body: .file(file))
            }
        }
    }

    func tables(_ results: Results) -> [Table] {
        var table = Table(
            title: "1 GB over loopback", columns: ["", "MB/s", "ratio", "CPU s", "ratio", "peak MB over idle"])
        for subject in Subject.allCases {
            let (key, base) = (key(subject), key(subject.base))
            table.rows.append([
                subject.rawValue, results.median("rate", key).shown(), results.ratio("rate", key, to: base).shown(2),
                results.median("cpu", key).shown(2), results.ratio("cpu", key, to: base).shown(2),
                results.median("memory", key).shown(1),
            ])
        }
        return [table]
    }

    func targets(_ results: Results) -> [Target] {
        let command = Target(
            text: "speed of the curl command's: \(Subject.curlDown.rawValue)",
            value: results.ratio("rate", key(.curlDown), to: key(.command)), limit: 0.85, isAtLeast: true)
        return [command]
            + Subject.allCases.filter { !$0.isRaw && $0 != .command }.flatMap { subject in
                let (key, base) = (key(subject), key(subject.base))
                let most = subject == .curlDown ? 20.0 : 40
                return [
                    Target(
                        text: "speed of URLSession's: \(subject.rawValue)", value: results.ratio("rate", key, to: base),
                        limit: 0.9, isAtLeast: true),
                    Target(
                        text: "MB over idle: \(subject.rawValue)", value: results.median("memory", key), limit: most),
                ]
            }
    }

    private func key(_ subject: Subject) -> Key {
        Key(suite: name, subject: subject.rawValue, size: Self.size)
    }
}
