import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A hundred megabytes and a gigabyte, down to a file and up from one: speed against raw `URLSession` and the `curl` command
/// doing the same, and memory over the idle process.
struct Transfers: Suite {
    enum Subject: String, CaseIterable {
        case rawDown = "URLSession, down"
        case down = "download(_:to:)"
        case curlDown = "download(_:to:), libcurl"
        case command = "curl command, down"
        case rawUp = "URLSession, up"
        case up = "send(_:body: .file)"
        case curlUp = "send(_:body: .file), libcurl"
        case commandUp = "curl command, up"

        var base: Subject {
            switch self {
            case .rawDown, .down, .curlDown, .command: .rawDown
            case .rawUp, .up, .curlUp, .commandUp: .rawUp
            }
        }

        /// The command in the same direction.
        var commandBase: Subject { isDown ? .command : .commandUp }

        var isCurl: Bool { self == .curlDown || self == .curlUp }
        var isRaw: Bool { self == base }
        var isDown: Bool { base == .rawDown }
        var isCommand: Bool { self == .command || self == .commandUp }
    }

    let name = "transfers"
    let server = ServerNeed.none

    /// Megabytes.
    private static let sizes = [100, 1_024]

    func jobs(isQuick: Bool) -> [Job] {
        Self.sizes.flatMap { size in
            Subject.allCases.map { Job(name, $0.rawValue, size, rounds: 3, count: isQuick ? 16 : size) }
        }
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
        if subject.isCommand { return try Self.runCommand(subject, small, large, file, job.count) }
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

    /// By the command's own clock, so that the start of its process does not count, and over a connection that is there, as
    /// that of the others is. Nothing where there is no such command.
    private static func runCommand(_ subject: Subject, _ small: URL, _ large: URL, _ file: URL, _ megabytes: Int) throws
        -> [String: Double]
    {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        // Without a header of its own it would wait a second for the server's word before it sends.
        let options = ["--silent", "--fail", "--header", "Expect:", "--write-out", "%{time_total}\\n"]
        let transfer =
            subject.isDown ? ["--output", file.path] : ["--output", "/dev/null", "--upload-file", file.path]
        process.arguments =
            options + ["--output", "/dev/null", small.absoluteString, "--next"] + options + transfer
            + [large.absoluteString]
        process.standardOutput = output
        guard (try? process.run()) != nil else { return [:] }
        let lines = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            .split(separator: "\n")
        process.waitUntilExit()
        guard process.terminationStatus == 0, lines.count == 2, let seconds = Double(lines[1]), seconds > 0 else {
            throw ChildProcess.Failure(description: "curl ended with \(process.terminationStatus): \(lines)")
        }
        return ["rate": Double(megabytes) / seconds]
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
        Self.sizes.map { size in
            var table = Table(
                title: "\(size) MB over loopback",
                columns: [
                    "", "MB/s", "of URLSession", "of the command", "CPU s", "of URLSession", "peak MB over idle",
                ])
            for subject in Subject.allCases {
                let (key, base) = (key(subject, size), key(subject.base, size))
                table.rows.append([
                    subject.rawValue, results.median("rate", key).shown(),
                    results.ratio("rate", key, to: base).shown(2),
                    results.ratio("rate", key, to: self.key(subject.commandBase, size)).shown(2),
                    results.median("cpu", key).shown(2), results.ratio("cpu", key, to: base).shown(2),
                    results.median("memory", key).shown(1),
                ])
            }
            return table
        }
    }

    func targets(_ results: Results) -> [Target] {
        Self.sizes.flatMap { size in
            [
                Target(
                    text: "speed of the curl command's: \(Subject.curlDown.rawValue), \(size) MB",
                    value: results.ratio("rate", key(.curlDown, size), to: key(.command, size)), limit: 0.85,
                    isAtLeast: true)
            ]
                + Subject.allCases.filter { !$0.isRaw && !$0.isCommand }.flatMap { subject in
                    let (key, base) = (key(subject, size), key(subject.base, size))
                    let text = "\(subject.rawValue), \(size) MB"
                    return [
                        Target(
                            text: "speed of URLSession's: \(text)", value: results.ratio("rate", key, to: base),
                            limit: 0.9, isAtLeast: true),
                        Target(
                            text: "MB over idle: \(text)", value: results.median("memory", key),
                            limit: subject == .curlDown ? 20 : 40),
                    ]
                }
        }
    }

    private func key(_ subject: Subject, _ size: Int) -> Key {
        Key(suite: name, subject: subject.rawValue, size: size)
    }
}
