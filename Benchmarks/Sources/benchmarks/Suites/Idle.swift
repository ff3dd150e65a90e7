import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The CPU that a suspended queue uses while nothing happens.
struct Idle: Suite {
    private static let subject = "suspended NetworkQueue"
    private static let size = 100_000

    let name = "idle"
    let server = ServerNeed.none

    func jobs(isQuick: Bool) -> [Job] {
        [Job(name, Self.subject, isQuick ? 1_000 : Self.size, rounds: 3, count: isQuick ? 1 : 3)]
    }

    func measure(_ job: Job) async throws -> [String: Double] {
        let queue = NetworkQueue(session: NetworkSession(configuration: .ephemeral))
        queue.isSuspended = true
        let request = URLRequest(url: StubProtocol.url)
        for _ in 0..<job.key.size { queue.send(request) }
        // What adding has set going is over by then.
        usleep(500_000)
        let start = Usage.now
        usleep(UInt32(job.count) * 1_000_000)
        let (cpu, wall) = start.elapsed
        withExtendedLifetime(queue) {}
        return ["cpu": cpu * 1_000, "wall": wall]
    }

    func tables(_ results: Results) -> [Table] {
        var table = Table(title: "At rest", columns: ["", "queued", "seconds", "CPU ms"])
        for key in results.values.keys where key.suite == name {
            table.rows.append([
                key.subject, "\(key.size)", results.median("wall", key).shown(1), results.median("cpu", key).shown(3),
            ])
        }
        return [table]
    }

    func targets(_ results: Results) -> [Target] {
        let key = results.values.keys.first { $0.suite == name }
        return [
            Target(
                text: "ms of CPU of a suspended queue in 3 s", value: key.flatMap { results.median("cpu", $0) },
                limit: 1)
        ]
    }
}
