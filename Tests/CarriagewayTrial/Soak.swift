import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A day of traffic in minutes: many requests with mixed faults, always as many in flight; memory, file descriptors and
/// threads are flat, and no slot is lost.
struct Soak {
    private static let inFlight = 64
    /// What `URLSession` on Linux keeps of each request, in bytes: 250 by itself, at 40,000 plain requests without this
    /// package. Not held against what is above it; over libcurl nothing is allowed for.
    private static let keptByFoundation = 250.0
    private let requests: Int
    private let seed: Int
    /// Only this kind of request, to find out which one keeps something.
    private let only: String?
    private let isOverCurl: Bool

    init(_ arguments: TrialArguments) {
        requests = max(1_000, arguments.number("requests", default: 200_000))
        seed = arguments.number("seed", default: Int.random(in: 0..<1_000_000_000))
        only = arguments.text("only")
        isOverCurl = arguments.text("transport") == "curl"
    }

    func run() async throws {
        say("soak: \(requests) requests, \(Self.inFlight) in flight, seed \(seed)")
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        SoakServer.install(on: server, other: other)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = Self.inFlight
        let queue = NetworkQueue(session: session(configuration)) {
            $0.maxConcurrentRequests = Self.inFlight
            $0.maxConcurrentRequestsPerHost = Self.inFlight
            $0.retryPolicy = .fixed(interval: .milliseconds(1), maxRetries: 1)
            $0.retryBudget = nil
            $0.attemptTimeout = .milliseconds(500)
            $0.timeout = .seconds(60)
            $0.maxResponseSize = 50_000
        }
        let tally = Locked(SoakTally())
        var samples: [SoakSample] = []
        let started = ContinuousClock.now
        for part in 0..<100 {
            await run(part: part, server, queue, tally)
            samples.append(try SoakSample.now())
            if part % 10 == 9 { say("\(part + 1) %  \(samples[part])") }
        }
        say("\(tally.withLock { $0 }) in \(ContinuousClock.now - started)")
        try judge(samples)
        // No slot is lost: as many as there are can be on the wire at once.
        let gate = LoopbackServer.Gate()
        server.on("/gate", LoopbackServer.Response.text("x").held(by: gate))
        let last = (0..<Self.inFlight).map { _ in
            let operation = NetworkOperation(URLRequest(url: server.url("/gate")))
            operation.attemptTimeout = .seconds(60)
            queue.addOperation(operation)
            return operation
        }
        try await gate.waitForArrivals(Self.inFlight)
        gate.open()
        for operation in last { _ = try await operation.response }
        let calls = tally.withLock { $0 }
        try Fault.unless(calls.sent == calls.ended, "\(calls.sent) requests, \(calls.ended) handlers")
    }

    private func run(part: Int, _ server: LoopbackServer, _ queue: NetworkQueue, _ tally: Locked<SoakTally>) async {
        let count = requests / 100
        await withTaskGroup(of: Void.self) { group in
            for slot in 0..<Self.inFlight {
                group.addTask {
                    for number in stride(from: slot, to: count, by: Self.inFlight) {
                        var random = SplitMix(state: UInt64(seed &+ part &* count &+ number))
                        await SoakServer.ask(only, server, queue, &random, tally)
                    }
                }
            }
        }
    }

    private func session(_ configuration: URLSessionConfiguration) -> NetworkSession {
        #if os(Linux)
            if isOverCurl { return NetworkSession(configuration: configuration, transport: .curl) }
        #endif
        return NetworkSession(configuration: configuration)
    }

    /// The first tenth is the warming up; the last must not be higher than the second.
    private func judge(_ samples: [SoakSample]) throws {
        let early = samples[10..<20]
        let late = samples[90...]
        func mean(_ part: ArraySlice<SoakSample>, _ value: (SoakSample) -> Int) -> Double {
            Double(part.map(value).reduce(0, +)) / Double(part.count)
        }
        for (name, value, allowance) in [
            ("memory", { $0.memory }, isOverCurl ? 0 : 0.8 * Double(requests) * Self.keptByFoundation / 1_024),
            ("file descriptors", { $0.descriptors }, 8.0),
            ("threads", { $0.threads }, 4.0),
        ] as [(String, (SoakSample) -> Int, Double)] {
            let (before, after) = (mean(early, value), mean(late, value))
            say("\(name): second tenth \(Int(before)), last tenth \(Int(after))")
            try Fault.unless(after <= before * 1.05 + allowance, "\(name) grew from \(Int(before)) to \(Int(after))")
        }
    }
}

struct SoakTally: CustomStringConvertible {
    var sent = 0
    var ended = 0
    var succeeded = 0
    var cancelled = 0

    var description: String {
        "\(sent) sent, \(succeeded) responses, \(ended - succeeded - cancelled) errors, \(cancelled) cancelled"
    }
}

/// What the process uses.
struct SoakSample: CustomStringConvertible {
    /// Resident, in KB.
    let memory: Int
    let descriptors: Int
    let threads: Int

    var description: String { "\(memory) KB, \(descriptors) file descriptors, \(threads) threads" }

    static func now() throws -> SoakSample {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        func number(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
            return Int(line.filter(\.isNumber)) ?? 0
        }
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        return SoakSample(memory: number("VmRSS:"), descriptors: descriptors, threads: number("Threads:"))
    }
}
