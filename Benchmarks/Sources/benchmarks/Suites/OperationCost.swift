import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What one operation costs when 1,000, 10,000 and 100,000 are queued: to add it, to run it to its end, and in memory.
struct OperationCost: Suite {
    enum Subject: String, CaseIterable {
        case plain = "OperationQueue, empty operation"
        /// Every request goes the whole way down to the session, which refuses it: the pipeline's own cost.
        case refused = "NetworkQueue, invalidated session"
        case rawStub = "URLSession, stub protocol"
        /// Every request succeeds, and all stand in line for 64 slots.
        case stub = "NetworkQueue, stub protocol"
    }

    private static let memoryOfPlain = "memory: EmptyOperation"
    private static let memoryShared = "memory: NetworkOperation, one request for all"
    private static let memoryOwn = "memory: NetworkOperation, a request of its own"
    private static let memoryRequest = "memory: URLRequest alone"
    private static let memories = [memoryOfPlain, memoryShared, memoryOwn, memoryRequest]
    private static let sizes = [1_000, 10_000, 100_000]

    let name = "operations"
    let needsServer = false

    func jobs(isQuick: Bool) -> [Job] {
        let sizes = isQuick ? [1_000, 10_000] : Self.sizes
        let timed = sizes.flatMap { size in
            Subject.allCases.map { Job(name, $0.rawValue, size, rounds: $0 == .plain || $0 == .refused ? 5 : 3) }
        }
        return timed + sizes.flatMap { size in Self.memories.map { Job(name, $0, size, rounds: 3) } }
    }

    func measure(_ job: Job) async throws -> [String: Double] {
        if Self.memories.contains(job.key.subject) { return memory(of: job.key.subject, job.key.size) }
        guard let subject = Subject(rawValue: job.key.subject) else { return [:] }
        let bench = Bench(subject)
        _ = bench.run(500)
        // Small ones several times, so that the clock of CPU time is fine enough.
        let times = (0..<max(1, 20_000 / job.key.size)).map { _ in bench.run(job.key.size) }
        return times[0].keys.reduce(into: [:]) { medians, name in
            medians[name] = times.compactMap { $0[name] }.median
        }
    }

    func tables(_ results: Results) -> [Table] {
        var table = Table(
            title: "Cost of an operation in us, no network (CPU / wall)",
            columns: ["", "queued", "add", "", "run", "", "both", "", "against 1,000", "+-CPU %"])
        for subject in Subject.allCases {
            for size in Self.sizes {
                let key = key(subject.rawValue, size)
                guard results.values[key] != nil else { continue }
                let spread = results.spread("cpu", key).map { $0 * 100 }
                let quantities = ["addCPU", "addWall", "runCPU", "runWall", "cpu", "wall"]
                table.rows.append(
                    ["\(subject.rawValue)", "\(size)"] + quantities.map { results.median($0, key).shown(2) }
                        + [results.ratio("cpu", key, to: self.key(subject.rawValue, 1_000)).shown(2), spread.shown(1)])
            }
        }
        var memory = Table(title: "Memory of an operation in a suspended queue", columns: ["", "queued", "bytes each"])
        for subject in Self.memories {
            for size in Self.sizes where results.values[key(subject, size)] != nil {
                memory.rows.append([subject, "\(size)", results.median("bytes", key(subject, size)).shown()])
            }
        }
        return [table, memory]
    }

    func targets(_ results: Results) -> [Target] {
        let largest = Self.sizes.last { results.median("cpu", key(Subject.refused.rawValue, $0)) != nil } ?? 0
        func growth(_ subject: Subject, _ quantity: String) -> Double? {
            results.ratio(quantity, key(subject.rawValue, largest), to: key(subject.rawValue, 1_000))
        }
        let flat = ["cpu", "wall"].map { quantity in
            Target(
                text: "\(quantity) an operation, \(largest) against 1,000: \(Subject.stub.rawValue)",
                value: growth(.stub, quantity), limit: 1.25)
        }
        // Without a transfer there is little but memory that is no longer in a cache: for that Foundation's own is the measure.
        let bare = ["cpu", "wall"].map { quantity in
            let own = growth(.plain, quantity)
            return Target(
                text: "growth of \(quantity) against OperationQueue's: \(Subject.refused.rawValue)",
                value: growth(.refused, quantity).flatMap { ours in own.map { ours / $0 } }, limit: 1)
        }
        let bytes = [Self.memoryShared, Self.memoryOwn].map { subject in
            Target(
                text: "KB of a queued operation: \(subject)",
                value: results.median("bytes", key(subject, largest)).map { $0 / 1024 }, limit: 3)
        }
        return flat + bare + bytes
    }

    private func key(_ subject: String, _ size: Int) -> Key { Key(suite: name, subject: subject, size: size) }
}

// MARK: - Memory

extension OperationCost {
    private func memory(of subject: String, _ count: Int) -> [String: Double] {
        let plain = OperationQueue()
        let session = NetworkSession(configuration: .ephemeral)
        let queue = NetworkQueue(session: session)
        for queue in [plain, queue] { queue.isSuspended = true }
        let shared = URLRequest(url: StubProtocol.url)
        var requests: [URLRequest] = []
        requests.reserveCapacity(count)
        let add: (Int) -> Void =
            switch subject {
            case Self.memoryOfPlain: { _ in plain.addOperation(EmptyOperation()) }
            case Self.memoryShared: { _ in queue.send(shared) { _ in } }
            case Self.memoryOwn: { queue.send(Self.request($0)) { _ in } }
            default: { requests.append(Self.request($0)) }
            }
        for index in 0..<100 { add(index) }
        let before = Memory.resident
        for index in 0..<count { add(index) }
        let bytes = (Memory.resident - before) / Double(count)
        withExtendedLifetime(requests) {}
        // Taking everything down again is no part of this.
        return ["bytes": bytes]
    }

    private static func request(_ index: Int) -> URLRequest {
        URLRequest(url: StubProtocol.url.appendingPathComponent("\(index)"))
    }
}

// MARK: - Time

/// Queues operations of one kind while the queue is suspended, then lets them run.
private struct Bench {
    private let add: (Int, Countdown) -> Void
    private let queue: OperationQueue

    init(_ subject: OperationCost.Subject) {
        let request = URLRequest(url: StubProtocol.url)
        switch subject {
        case .plain:
            let queue = OperationQueue()
            self.queue = queue
            add = { count, countdown in
                for _ in 0..<count { queue.addOperation(EmptyOperation(countdown: countdown)) }
            }
        case .refused, .stub:
            let session = NetworkSession(configuration: StubProtocol.configuration)
            if subject == .refused { session.invalidateAndCancel() }
            let queue = NetworkQueue(session: session) { $0.maxConcurrentRequestsPerHost = 64 }
            self.queue = queue
            add = { count, countdown in
                for _ in 0..<count { queue.send(request) { _ in countdown.count() } }
            }
        case .rawStub:
            let client = RawClient(url: StubProtocol.url)
            let session = URLSession(
                configuration: StubProtocol.configuration, delegate: client, delegateQueue: nil)
            let queue = OperationQueue()
            self.queue = queue
            add = { count, countdown in
                queue.addOperation {
                    _ = RawClient.run(count, width: 64, over: session, client: client)
                    for _ in 0..<count { countdown.count() }
                }
            }
        }
    }

    /// Microseconds an operation.
    func run(_ count: Int) -> [String: Double] {
        let countdown = Countdown(count)
        queue.isSuspended = true
        let start = Usage.now
        add(count, countdown)
        let added = start.elapsed
        queue.isSuspended = false
        countdown.wait()
        queue.waitUntilAllOperationsAreFinished()
        let all = start.elapsed
        let scale = 1e6 / Double(count)
        return [
            "addCPU": added.cpu * scale, "addWall": added.wall * scale,
            "runCPU": (all.cpu - added.cpu) * scale, "runWall": (all.wall - added.wall) * scale,
            "cpu": all.cpu * scale, "wall": all.wall * scale,
        ]
    }
}
