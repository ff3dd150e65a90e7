import Foundation

/// Makes the measurements of a suite, interleaved: a whole round of all, then the next.
struct Runner {
    let options: Options

    /// - Returns: false if there is no such server as the suite needs.
    func run(_ suite: some Suite, into results: inout Results) throws -> Bool {
        let isOwn = suite.server == .own || suite.server == .plain && options.server == nil
        let server = isOwn ? try ServerProcess() : nil
        defer { server?.stop() }
        guard let address = server?.address ?? given(suite.server) else {
            Console.complain("\(suite.name) is left out: there is no server with TLS for it; see --help")
            return false
        }
        let jobs = suite.jobs(isQuick: options.isQuick)
        let rounds = jobs.map(rounds(of:))
        for round in 0..<(rounds.max() ?? 0) {
            // Every other round backwards: what warms up, or slows down, meets each alike.
            let order = round.isMultiple(of: 2) ? Array(jobs.indices) : jobs.indices.reversed()
            for index in order where round < rounds[index] {
                var job = jobs[index]
                (job.server, job.authority) = (address, options.authority)
                Console.say("\(suite.name) \(round + 1)/\(rounds[index]): \(job.key.subject), \(job.key.size)")
                results.add(try ChildProcess.measure(job), for: job.key)
            }
        }
        Console.clear()
        return true
    }

    /// The address of a server that is not ours to start.
    private func given(_ need: ServerNeed) -> String? {
        switch need {
        case .none: "none"
        case .own, .plain: options.server?.absoluteString
        case .multiplexed: options.secureServer?.absoluteString
        case .closing: options.closingServer?.absoluteString
        }
    }

    private func rounds(of job: Job) -> Int {
        options.rounds.map { min($0, job.rounds == 1 ? 1 : $0) } ?? (options.isQuick ? 1 : job.rounds)
    }
}

/// Progress and complaints; both go to the standard error, which is not part of the report.
enum Console {
    private static let isTerminal = isatty(STDERR_FILENO) == 1

    static func say(_ text: String) {
        if isTerminal { write("\r\u{1B}[K\(text)") }
    }

    static func clear() {
        if isTerminal { write("\r\u{1B}[K") }
    }

    static func complain(_ text: String) {
        write("benchmarks: \(text)\n")
    }

    private static func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
