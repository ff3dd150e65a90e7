import Carriageway
import CarriagewayTesting
import Foundation

/// Sends requests to a server that answers with random bytes, in child processes, and tells what becomes of them.
///
/// The known death of `URLSession` on Linux (K1: trailers, a head that breaks off) is told from others by what it says.
/// Inputs of its shape are mostly left out, since each costs a process; one in fifty is tried.
struct Fuzzer {
    private static let batch = 4_000
    private let inputs: Int
    private let seed: Int
    private let transport: String

    init(_ arguments: TrialArguments) {
        transport = arguments.text("transport") ?? "urlSession"
        inputs = arguments.number("inputs", default: 200_000)
        seed = arguments.number("seed", default: Int.random(in: 0..<1_000_000_000))
    }

    func run() async throws {
        say("fuzz: \(inputs) inputs, seed \(seed), over \(transport)")
        let journal = FileManager.default.temporaryDirectory.appendingPathComponent("fuzz-\(UUID()).journal")
        defer { try? FileManager.default.removeItem(at: journal) }
        var tally = Tally()
        var next = 0
        var skipped: Set<Int> = []
        // Until so many have been answered: those left out do not count.
        while tally.answered < inputs {
            next = try runBatch(next..<next + min(Self.batch, inputs), journal, &skipped, &tally)
        }
        say(tally)
        try Fault.unless(tally.findings.isEmpty, tally.findings.joined(separator: "\n"))
    }

    /// Runs inputs until the end or a death; gives the first that has not been tried.
    private func runBatch(_ range: Range<Int>, _ journal: URL, _ skipped: inout Set<Int>, _ tally: inout Tally) throws
        -> Int
    {
        try? FileManager.default.removeItem(at: journal)
        let child = try runChild(range, journal, skipped)
        tally.read(child.text, seed)
        let record = try FuzzJournal(path: journal.path)
        tally.add(record.counts)
        guard child.status != 0 else { return range.upperBound }
        // Which of those that were on their way was it? All before them have ended.
        let suspects = record.numbers.sorted()
        let known = skipped
        for suspect in suspects {
            let alone = try runChild(suspect..<suspect + 1, URL(fileURLWithPath: "/dev/null"), [])
            guard alone.status != 0 else { continue }
            skipped.insert(suspect)
            tally.note(death: alone, of: suspect, seed, over: transport)
        }
        if skipped == known {
            tally.findings.append("a death that comes of no single input: \(suspects), seed \(seed)\n\(child.text)")
            skipped.formUnion(suspects)
        }
        return suspects.first ?? range.upperBound
    }

    private func runChild(_ range: Range<Int>, _ journal: URL, _ skipped: Set<Int>) throws -> Child {
        let process = ChildProcess()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            "fuzz-child", "--seed", "\(seed)", "--from", "\(range.lowerBound)", "--to", "\(range.upperBound)",
            "--journal",
            journal.path, "--transport", transport, "--skip",
            skipped.filter(range.contains).map(String.init).joined(separator: ","),
        ]
        process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Child(status: process.terminationStatus, text: text)
    }
}

extension Fuzzer {
    struct Child {
        let status: Int32
        let text: String
    }

    struct Tally: CustomStringConvertible {
        var succeeded = 0
        var failed = 0
        var knownDeaths = 0
        var findings: [String] = []

        var answered: Int { succeeded + failed + knownDeaths + findings.count }

        var description: String {
            "fuzz: \(succeeded) responses, \(failed) errors, \(knownDeaths) known deaths (K1), \(findings.count) findings"
        }

        mutating func read(_ text: String, _ seed: Int) {
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ")
                if ["hang", "wrong", "slow"].contains(words.first) { findings.append("\(line), seed \(seed)") }
            }
        }

        mutating func add(_ counts: (succeeded: Int, failed: Int)) {
            succeeded += counts.succeeded
            failed += counts.failed
        }

        mutating func note(death: Child, of number: Int, _ seed: Int, over transport: String) {
            // What Foundation says when the lines that followed took the response away that it had made.
            if transport != "curl", death.text.contains("NativeProtocol.swift:240"),
                death.text.contains("there's no response")
            {
                knownDeaths += 1
            } else {
                findings.append("death by input \(number), seed \(seed), status \(death.status)\n\(death.text)")
            }
        }
    }
}
