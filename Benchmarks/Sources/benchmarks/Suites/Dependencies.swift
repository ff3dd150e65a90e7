import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What dependencies cost: many operations behind one, and long chains, against independent ones.
///
/// The session is invalidated and no operation needs its dependency's success, so every one goes the same way to the same
/// end; what differs is who waits for whom. Everything counts: making, linking, adding, running, letting go.
struct Dependencies: Suite {
    enum Shape: String, CaseIterable {
        case independent = "independent"
        case fan = "behind one"
        case chain = "chain"
    }

    private static let plain = "OperationQueue: "
    private static let network = "NetworkQueue: "
    private static let neverRun = "NetworkQueue: chain, never run"
    /// Foundation on Linux takes quadratic time for more.
    private static let plainSizes = [1_000]

    let name = "dependencies"
    let server = ServerNeed.none

    private static func sizes(of shape: Shape) -> [Int] {
        shape == .fan ? [1_000, 10_000, 50_000] : [1_000, 10_000, 50_000, 200_000]
    }

    func jobs(isQuick: Bool) -> [Job] {
        let largest = isQuick ? 1_000 : 200_000
        let plain = Shape.allCases.flatMap { shape in
            Self.plainSizes.map { Job(name, Self.plain + shape.rawValue, $0) }
        }
        let network = Shape.allCases.flatMap { shape in
            Self.sizes(of: shape).filter { $0 <= largest }.map {
                Job(name, Self.network + shape.rawValue, $0, rounds: $0 == 200_000 ? 3 : 5)
            }
        }
        return plain + network + [Job(name, Self.neverRun, largest, rounds: 3)]
    }

    func measure(_ job: Job) async throws -> [String: Double] {
        let (subject, size) = (job.key.subject, job.key.size)
        if subject == Self.neverRun { return Self.releaseUnrun(size) }
        guard let shape = Shape.allCases.first(where: { subject.hasSuffix(": " + $0.rawValue) }) else { return [:] }
        let bench: DependencyBench = subject.hasPrefix(Self.plain) ? .plain : .network
        _ = bench.run(.independent, 500)
        return bench.run(shape, size)
    }

    func tables(_ results: Results) -> [Table] {
        var table = Table(
            title: "Dependencies, us an operation, no network",
            columns: [
                "", "operations", "CPU", "of independent", "wall", "of independent", "make", "add and run", "release",
                "+-CPU %",
            ])
        let rows = [Self.plain, Self.network].flatMap { queue in
            Shape.allCases.flatMap { shape in
                let sizes = queue == Self.plain ? Self.plainSizes : Self.sizes(of: shape)
                return sizes.map { (queue + shape.rawValue, queue, $0) }
            }
        }
        for (subject, queue, size) in rows {
            let key = key(subject, size)
            guard results.values[key] != nil else { continue }
            let base = self.key(queue + Shape.independent.rawValue, size)
            let parts = ["make", "run", "release"].map { results.median($0, key).shown(2) }
            table.rows.append(
                [
                    subject, "\(size)",
                    results.median("cpu", key).shown(2), results.ratio("cpu", key, to: base).shown(2),
                    results.median("wall", key).shown(2), results.ratio("wall", key, to: base).shown(2),
                ] + parts + [results.spread("cpu", key).map { $0 * 100 }.shown(1)])
        }
        for key in results.values.keys where key.subject == Self.neverRun {
            table.rows.append([
                key.subject, "\(key.size)", results.median("cpu", key).shown(2), "-",
                results.median("wall", key).shown(2), "-", results.median("make", key).shown(2), "-",
                results.median("release", key).shown(2), "-",
            ])
        }
        return [table]
    }

    func targets(_ results: Results) -> [Target] {
        let base = key(Self.network + Shape.independent.rawValue, 10_000)
        return [Shape.fan, .chain].flatMap { shape in
            ["cpu", "wall"].map { quantity in
                Target(
                    text: "\(quantity) of 10,000 against independent ones: \(shape.rawValue)",
                    value: results.ratio(quantity, key(Self.network + shape.rawValue, 10_000), to: base), limit: 3)
            }
        }
    }

    private func key(_ subject: String, _ size: Int) -> Key { Key(suite: name, subject: subject, size: size) }

    /// A chain that nobody ran is let go; that happens on a queue, so its first link is watched.
    private static func releaseUnrun(_ count: Int) -> [String: Double] {
        let start = Usage.now
        var operations = DependencyBench.network.make(count, Countdown(count))
        DependencyBench.link(operations, as: .chain)
        let made = start.elapsed
        weak let first = operations.first
        operations = []
        while first != nil { usleep(200) }
        let all = start.elapsed
        let scale = 1e6 / Double(count)
        return [
            "cpu": all.cpu * scale, "wall": all.wall * scale, "make": made.wall * scale,
            "release": (all.wall - made.wall) * scale,
        ]
    }
}

/// Makes operations, links them, runs them on a queue and lets go of them.
private struct DependencyBench {
    let queue: OperationQueue
    let make: (Int, Countdown) -> [Operation]

    static var plain: DependencyBench {
        DependencyBench(queue: OperationQueue()) { count, countdown in
            (0..<count).map { _ in EmptyOperation(countdown: countdown) }
        }
    }

    static var network: DependencyBench {
        let session = NetworkSession(configuration: .ephemeral)
        session.invalidateAndCancel()
        let request = URLRequest(url: StubProtocol.url)
        return DependencyBench(queue: NetworkQueue(session: session)) { count, countdown in
            (0..<count).map { _ in
                let operation = NetworkOperation(request)
                operation.requiresDependencySuccess = false
                operation.onCompletion { _ in countdown.count() }
                return operation
            }
        }
    }

    static func link(_ operations: [Operation], as shape: Dependencies.Shape) {
        for index in operations.indices.dropFirst() {
            switch shape {
            case .independent: break
            case .fan: operations[index].addDependency(operations[0])
            case .chain: operations[index].addDependency(operations[index - 1])
            }
        }
    }

    /// Microseconds an operation, all of it.
    func run(_ shape: Dependencies.Shape, _ count: Int) -> [String: Double] {
        let countdown = Countdown(count)
        let start = Usage.now
        var operations = make(count, countdown)
        Self.link(operations, as: shape)
        let made = start.elapsed
        // The first comes last: until then everyone else waits.
        queue.addOperations(operations.reversed(), waitUntilFinished: false)
        countdown.wait()
        queue.waitUntilAllOperationsAreFinished()
        let ran = start.elapsed
        operations = []
        let all = start.elapsed
        let scale = 1e6 / Double(count)
        return [
            "cpu": all.cpu * scale, "wall": all.wall * scale, "make": made.wall * scale,
            "run": (ran.wall - made.wall) * scale, "release": (all.wall - ran.wall) * scale,
        ]
    }
}
