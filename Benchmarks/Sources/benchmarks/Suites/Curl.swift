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

    private let requests: CurlRequests

    init(_ requests: CurlRequests) {
        self.requests = requests
    }

    var name: String { requests.rawValue }
    var server: ServerNeed { requests.server }

    func jobs(isQuick: Bool) -> [Job] {
        #if os(Linux)
            requests.widths.flatMap { width in
                Subject.allCases.map { subject in
                    let count = isQuick ? 300 : requests.count(width: width, isRaw: subject == .raw)
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
            let request = requests.request(url)
            if subject == .plain {
                guard runPlain(Countdown(1), job) else { return [:] }
                return try await Throughput.measure(job.count) { _ = runPlain($0, job) }
            }
            if subject == .raw {
                let client = RawClient(request)
                let session = URLSession(configuration: configuration, delegate: client, delegateQueue: nil)
                let send = { RawClient.run($0, width: width, over: session, client: client) }
                if requests.isSecure {
                    // Whom it trusts is the system's affair: there may be no way to this server.
                    let first = Countdown(1)
                    send(first)
                    guard first.wait() == 0 else { return [:] }
                }
                return try await Throughput.measure(job.count, send)
            }
            let client = CarriagewayClient(
                request, width: width, configuration: configuration, serverTrust: try trust(job), transport: .curl)
            return try await Throughput.measure(job.count) { countdown in
                switch subject {
                case .raw, .plain, .handlers: client.runHandlers(countdown, width: width)
                case .tasks: await client.runTasks(countdown, width: width)
                case .session: await client.runSession(countdown, width: width)
                }
            }
        #else
            return [:]
        #endif
    }

    /// - Returns: false where there is none.
    private func runPlain(_ countdown: Countdown, _ job: Job) -> Bool {
        var isThere = true
        let authority = requests.isSecure && !job.authority.isEmpty ? job.authority : nil
        countdown.run { times in
            let failures = plain_curl_run(
                job.server, requests.body, authority, requests == .http2 ? 1 : 0, times.count, job.key.size,
                times.baseAddress)
            isThere = failures >= 0
            return failures
        }
        return isThere
    }

    private func trust(_ job: Job) throws -> ServerTrust {
        guard requests.isSecure, !job.authority.isEmpty else { return .system }
        let lines = try String(contentsOfFile: job.authority, encoding: .utf8).split(separator: "\n")
        let certificate = Data(base64Encoded: lines.filter { !$0.hasPrefix("-----") }.joined())
        guard let certificate else { throw ChildProcess.Failure(description: "\(job.authority) is no certificate") }
        return .anchors([certificate])
    }

    func tables(_ results: Results) -> [Table] {
        requests.widths.map { width in
            var table = Table(
                title: "Over libcurl, \(requests.title), \(width) in flight",
                columns: [
                    "", "requests/s", "of URLSession", "of libcurl", "CPU us/request", "of libcurl", "p50 us", "p95",
                    "p99", "peak MB", "+-rate %", "+-CPU %",
                ])
            let (raw, plain) = (key(.raw, width), key(.plain, width))
            for subject in Subject.allCases {
                let key = key(subject, width)
                let isDistrustful = subject == .raw && requests.isSecure && results.values[key] == nil
                table.rows.append([
                    isDistrustful ? "URLSession: trusts only the system's authorities" : subject.rawValue,
                    results.median("rate", key).shown(), results.ratio("rate", key, to: raw).shown(2),
                    results.ratio("rate", key, to: plain).shown(2), results.median("cpu", key).shown(1),
                    results.ratio("cpu", key, to: plain).shown(2), results.median("p50", key).shown(),
                    results.median("p95", key).shown(), results.median("p99", key).shown(),
                    results.median("peak", key).shown(1), results.spread("rate", key).map { $0 * 100 }.shown(1),
                    results.spread("cpu", key).map { $0 * 100 }.shown(1),
                ])
            }
            return table
        }
    }

    /// Nobody has promised anything for the others.
    func targets(_ results: Results) -> [Target] {
        guard requests == .get else { return [] }
        return [Subject.handlers, .tasks].flatMap { subject in
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
