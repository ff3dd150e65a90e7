import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Ten thousand requests over libcurl whose responses do not come: the memory of each, and how long another one takes
/// meanwhile. Nothing elsewhere than on Linux.
struct Waiting: Suite {
    let name = "waiting"
    let server = ServerNeed.own

    func jobs(isQuick: Bool) -> [Job] {
        #if os(Linux)
            [Job(name, "send", isQuick ? 500 : 10_000, rounds: 1)]
        #else
            []
        #endif
    }

    func measure(_ job: Job) async throws -> [String: Double] {
        #if os(Linux)
            guard let address = URL(string: job.server), let hang = URL(string: "/hang", relativeTo: address),
                let count = URL(string: "/count", relativeTo: address)
            else { return [:] }
            Usage.raiseFileLimit()
            let client = CarriagewayClient(
                URLRequest(url: hang.absoluteURL), width: job.key.size + 10,
                configuration: .bare(connectionsPerHost: job.key.size + 10), transport: .curl)
            // The server, not the client, takes its time over so many connections.
            var fast = URLRequest(url: count.absoluteURL)
            fast.timeoutInterval = 600
            var hanging = client.request
            hanging.timeoutInterval = 600
            _ = try await client.queue.data(for: fast)
            let before = Memory.resident
            for _ in 0..<job.key.size { client.queue.send(hanging) }
            while true {
                let text = String(decoding: try await client.queue.data(for: fast), as: UTF8.self)
                if Int(text) ?? 0 >= job.key.size { break }
                try await Task.sleep(for: .milliseconds(50))
            }
            let memory = (Memory.resident - before) / Double(job.key.size) / 1024
            var times: [Double] = []
            for _ in 0..<101 {
                let start = Usage.now
                _ = try await client.queue.data(for: fast)
                times.append(start.elapsed.wall * 1e3)
            }
            let start = Usage.now
            try await Task.sleep(for: .seconds(2))
            let idle = start.elapsed.cpu / 2 * 100
            client.queue.cancelAllOperations()
            return ["memory": memory, "latency": times.median ?? .nan, "idle": idle]
        #else
            return [:]
        #endif
    }

    func tables(_ results: Results) -> [Table] {
        var table = Table(
            title: "Requests over libcurl that wait for their responses",
            columns: ["", "requests", "KB each", "another one takes, ms", "CPU while nothing comes, %"])
        for key in results.values.keys where key.suite == name {
            table.rows.append([
                key.subject, "\(key.size)", results.median("memory", key).shown(1),
                results.median("latency", key).shown(2), results.median("idle", key).shown(2),
            ])
        }
        return [table]
    }

    func targets(_ results: Results) -> [Target] {
        results.values.keys.filter { $0.suite == name }.flatMap { key in
            [
                Target(text: "KB for each of \(key.size) that wait", value: results.median("memory", key), limit: 30),
                Target(text: "ms for another one", value: results.median("latency", key), limit: 50),
            ]
        }
    }
}
