import Carriageway
import Foundation
import PlainCurl

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transport over libcurl against raw `URLSession`, and against plain libcurl where its headers were there to build
/// it; nothing elsewhere than on Linux.
struct Curl: Suite {
    enum Subject: String, CaseIterable {
        case raw = "URLSession"
        case plain = "libcurl in C"
        case handlers = "send"
        case tasks = "response(for:)"
        case session = "session.response(for:)"
    }

    private static let widths = [1, 16, 64, 256]

    let name = "curl"
    let needsServer = true

    func jobs(isQuick: Bool) -> [Job] {
        #if os(Linux)
            Self.widths.flatMap { width in
                Subject.allCases.map { subject in
                    let count = isQuick ? 300 : subject == .raw ? 3_000 : width == 1 ? 5_000 : 20_000
                    return Job(name, subject.rawValue, width, rounds: 7, count: count)
                }
            }
        #else
            []
        #endif
    }

    func measure(_ job: Job) async throws -> [String: Double] {
        #if os(Linux)
            guard let subject = Subject(rawValue: job.key.subject), let url = URL(string: job.server) else {
                return [:]
            }
            let width = job.key.size
            let configuration = URLSessionConfiguration.bare(connectionsPerHost: width)
            if subject == .plain, plain_curl_run(job.server, 1, 1) < 0 { return [:] }
            if subject == .raw {
                let client = RawClient(url: url)
                let session = URLSession(configuration: configuration, delegate: client, delegateQueue: nil)
                return try await Throughput.measure(job.count) {
                    RawClient.run($0, width: width, over: session, client: client)
                }
            }
            let client = CarriagewayClient(url: url, width: width, configuration: configuration, transport: .curl)
            return try await Throughput.measure(job.count) { count in
                switch subject {
                case .raw, .plain: plain_curl_run(job.server, count, width)
                case .handlers: client.runHandlers(count, width: width)
                case .tasks: await client.runTasks(count, width: width)
                case .session: await client.runSession(count, width: width)
                }
            }
        #else
            return [:]
        #endif
    }

    func tables(_ results: Results) -> [Table] {
        Self.widths.map { width in
            var table = Table(
                title: "Over libcurl, small GET, \(width) in flight",
                columns: [
                    "", "requests/s", "of URLSession", "of libcurl", "CPU us/request", "of libcurl", "peak MB",
                    "+-rate %", "+-CPU %",
                ])
            let (raw, plain) = (key(.raw, width), key(.plain, width))
            for subject in Subject.allCases {
                let key = key(subject, width)
                table.rows.append([
                    subject.rawValue,
                    results.median("rate", key).shown(), results.ratio("rate", key, to: raw).shown(2),
                    results.ratio("rate", key, to: plain).shown(2), results.median("cpu", key).shown(1),
                    results.ratio("cpu", key, to: plain).shown(2), results.median("peak", key).shown(1),
                    results.spread("rate", key).map { $0 * 100 }.shown(1),
                    results.spread("cpu", key).map { $0 * 100 }.shown(1),
                ])
            }
            return table
        }
    }

    func targets(_ results: Results) -> [Target] {
        [Subject.handlers, .tasks].flatMap { subject in
            let one = results.ratio("rate", key(subject, 1), to: key(.plain, 1))
            return [
                Target(
                    text: "time of libcurl's: \(subject.rawValue), 1 in flight", value: one.map { 1 / $0 }, limit: 1.6)
            ]
                + [(16, 8.0), (64, 10.0)].flatMap { width, limit in
                    let (key, text) = (key(subject, width), "\(subject.rawValue), \(width) in flight")
                    return [
                        Target(
                            text: "throughput of URLSession's: \(text)",
                            value: results.ratio("rate", key, to: self.key(.raw, width)), limit: limit,
                            isAtLeast: true),
                        Target(
                            text: "throughput of libcurl's: \(text)",
                            value: results.ratio("rate", key, to: self.key(.plain, width)), limit: 0.75,
                            isAtLeast: true),
                        Target(
                            text: "CPU a request of libcurl's: \(text)",
                            value: results.ratio("cpu", key, to: self.key(.plain, width)), limit: 2),
                    ]
                }
        }
    }

    private func key(_ subject: Subject, _ width: Int) -> Key {
        Key(suite: name, subject: subject.rawValue, size: width)
    }
}
