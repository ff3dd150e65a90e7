import Foundation

/// Measurements that belong together.
protocol Suite: Sendable {
    var name: String { get }
    var server: ServerNeed { get }

    /// What to measure, in the order of one round.
    func jobs(isQuick: Bool) -> [Job]

    /// Makes one measurement; runs in a process of its own.
    func measure(_ job: Job) async throws -> [String: Double]

    func tables(_ results: Results) -> [Table]

    func targets(_ results: Results) -> [Target]
}

/// What the requests of a suite go to.
enum ServerNeed {
    case none
    /// A `LoopbackServer` in a process of its own.
    case own
    /// That of the options, else one of the package's own.
    case plain
    /// One with TLS and HTTP/2, which the options name.
    case multiplexed
    /// One with TLS that closes each connection after one request and resumes no session, which the options name.
    case closing
}

/// One thing to measure: what, and how much of it.
struct Key: Hashable {
    let suite: String
    let subject: String
    let size: Int
}

/// A measurement to be made, as it is handed to a child process.
struct Job {
    let key: Key
    /// How often the whole is done.
    var rounds = 5
    /// How many requests or operations one measurement takes, where that is not `key.size`.
    var count = 0
    var server = ""
    /// The certificate of who signed the server's, a file in PEM; empty for the system's authorities.
    var authority = ""

    init(_ suite: String, _ subject: String, _ size: Int, rounds: Int = 5, count: Int = 0) {
        key = Key(suite: suite, subject: subject, size: size)
        self.rounds = rounds
        self.count = count
    }

    init?(arguments: [String]) {
        guard arguments.count == 6, let size = Int(arguments[2]), let count = Int(arguments[3]) else { return nil }
        self.init(arguments[0], arguments[1], size, count: count)
        (server, authority) = (arguments[4], arguments[5])
    }

    var arguments: [String] { [key.suite, key.subject, "\(key.size)", "\(count)", server, authority] }
}

/// What was measured: for each key and each quantity one value a round.
struct Results {
    private(set) var values: [Key: [String: [Double]]] = [:]

    mutating func add(_ measured: [String: Double], for key: Key) {
        for (name, value) in measured { values[key, default: [:]][name, default: []].append(value) }
    }

    func all(_ name: String, _ key: Key) -> [Double] { values[key]?[name] ?? [] }

    /// The median over the rounds; nil if it was not measured.
    func median(_ name: String, _ key: Key) -> Double? { all(name, key).median }

    /// The median of the ratios of the rounds, for what was measured in the same round is disturbed alike.
    func ratio(_ name: String, _ key: Key, to base: Key) -> Double? {
        zip(all(name, key), all(name, base)).map { $0 / $1 }.median
    }

    /// How far the rounds are apart: half the range between the quartiles, relative to the median.
    func spread(_ name: String, _ key: Key) -> Double? {
        let sorted = all(name, key).sorted()
        guard sorted.count >= 4, let median = sorted.median, median > 0 else { return nil }
        return (sorted[sorted.count * 3 / 4] - sorted[sorted.count / 4]) / 2 / median
    }
}

extension [Double] {
    var median: Double? {
        guard !isEmpty else { return nil }
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}
