import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Requests a second, CPU a request and peak memory: `URLSession` by hand against Carriageway in its forms.
struct Throughput: Suite {
    enum Subject: String, CaseIterable {
        case raw = "URLSession"
        case handlers = "send"
        case tasks = "response(for:)"
        case batch = "send, all at once"
    }

    private static let widths = [1, 16, 64]

    let name = "throughput"
    let server = ServerNeed.plain

    func jobs(isQuick: Bool) -> [Job] {
        Self.widths.flatMap { width in
            let count = isQuick ? 300 : width == 1 ? 2_000 : 5_000
            return Subject.allCases.map { Job(name, $0.rawValue, width, rounds: 7, count: count) }
        }
    }

    func measure(_ job: Job) async throws -> [String: Double] {
        guard let subject = Subject(rawValue: job.key.subject), let url = URL(string: job.server) else { return [:] }
        let width = job.key.size
        let configuration = URLSessionConfiguration.bare(connectionsPerHost: width)
        let send: (Countdown) async -> Void
        if subject == .raw {
            let client = RawClient(URLRequest(url: url))
            let session = URLSession(configuration: configuration, delegate: client, delegateQueue: nil)
            send = { RawClient.run($0, width: width, over: session, client: client) }
        } else {
            let client = CarriagewayClient(URLRequest(url: url), width: width, configuration: configuration)
            send = { countdown in
                switch subject {
                case .raw, .handlers: client.runHandlers(countdown, width: width)
                case .tasks: await client.runTasks(countdown, width: width)
                case .batch: client.runBatch(countdown)
                }
            }
        }
        return try await Self.measure(job.count, send)
    }

    /// Sends so many requests, after some to warm up.
    static func measure(_ count: Int, _ send: (Countdown) async -> Void) async throws -> [String: Double] {
        await send(Countdown(200))
        let countdown = Countdown(count, keepsTimes: true)
        let start = Usage.now
        await send(countdown)
        let (cpu, wall) = start.elapsed
        let failures = countdown.wait()
        guard failures == 0 else {
            throw ChildProcess.Failure(description: "\(failures) of \(count) requests failed")
        }
        let measured = [
            "rate": Double(count) / wall, "cpu": cpu / Double(count) * 1e6, "peak": Memory.peak / 1_048_576,
        ]
        return measured.merging(countdown.percentiles) { $1 }
    }

    func tables(_ results: Results) -> [Table] {
        Self.widths.map { width in
            var table = Table(
                title: "Throughput, small GET, \(width) in flight",
                columns: [
                    "", "requests/s", "ratio", "CPU us/request", "ratio", "peak MB", "ratio", "p50 us", "p95",
                    "p99", "+-rate %", "+-CPU %",
                ])
            let base = key(.raw, width)
            for subject in Subject.allCases {
                let key = key(subject, width)
                table.rows.append([
                    subject.rawValue,
                    results.median("rate", key).shown(), results.ratio("rate", key, to: base).shown(2),
                    results.median("cpu", key).shown(1), results.ratio("cpu", key, to: base).shown(2),
                    results.median("peak", key).shown(1), results.ratio("peak", key, to: base).shown(2),
                    results.median("p50", key).shown(), results.median("p95", key).shown(),
                    results.median("p99", key).shown(),
                    results.spread("rate", key).map { $0 * 100 }.shown(1),
                    results.spread("cpu", key).map { $0 * 100 }.shown(1),
                ])
            }
            return table
        }
    }

    func targets(_ results: Results) -> [Target] {
        Self.widths.flatMap { width in
            [Subject.handlers, .tasks].flatMap { subject in
                let (key, base) = (key(subject, width), key(.raw, width))
                let text = "\(subject.rawValue), \(width) in flight"
                return [
                    Target(
                        text: "throughput of URLSession's: \(text)", value: results.ratio("rate", key, to: base),
                        limit: 0.9, isAtLeast: true),
                    Target(
                        text: "CPU a request of URLSession's: \(text)", value: results.ratio("cpu", key, to: base),
                        limit: 1.15),
                ]
            }
        }
    }

    private func key(_ subject: Subject, _ width: Int) -> Key {
        Key(suite: name, subject: subject.rawValue, size: width)
    }
}
