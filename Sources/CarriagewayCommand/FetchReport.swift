import Carriageway
import Foundation

/// Writes what was fetched and prints how each URL ended.
struct FetchReport {
    private let plan: FetchPlan
    private let directory: OutputDirectory?
    /// In the order of the URLs, so that a run gives the same names whatever ends first.
    private let names: [String]
    private var summary = FetchSummary()
    private var notFetched: [Int] = []
    private var outputFailure: Console.Failure?

    init(plan: FetchPlan, directory: OutputDirectory?) {
        self.plan = plan
        self.directory = directory
        var fileNames = FileNames()
        names = directory == nil ? [] : plan.targets.map { fileNames.next(for: $0.url) }
    }

    /// A fetch has ended.
    ///
    /// - Parameter body: nil for a failure.
    /// - Returns: whether there is any use in going on.
    mutating func add(_ record: FetchRecord, index: Int, body: Data?) -> Bool {
        var record = record
        if let body, let directory {
            do {
                record.file = try directory.write(body, as: names[index])
            } catch {
                record.error = "The file \(UsageError.quoted(names[index])) could not be written: \(error.inWords)."
            }
        }
        summary.add(record)
        if record.isCancelled { notFetched.append(index) }
        // Said at the end, of all together.
        if !record.isCancelled || plan.printsJSON { print(plan.printsJSON ? record.jsonLine() : record.line) }
        return outputFailure == nil
    }

    /// Everything has ended.
    ///
    /// - Returns: the exit status.
    mutating func end(interruptedBy signal: Int32?, after duration: Duration) -> Int32 {
        if plan.printsJSON {
            summary.seconds = duration.inSeconds.inMilliseconds
            print(FetchSummary.Line(summary: summary).jsonLine())
        }
        if case .failed(let reason) = outputFailure { Console.complain("cannot write to standard output: \(reason)") }
        if let signal, !notFetched.isEmpty {
            Console.complain(
                "interrupted; not fetched (\(notFetched.count) of \(summary.urls)):",
                details: notFetched.sorted().map { plan.targets[$0].shown })
            return Interrupts.status(of: signal)
        }
        if summary.failed > 0, !plan.printsJSON {
            Console.complain("\(summary.failed) of \(summary.urls) failed")
        }
        return summary.succeeded == summary.urls && outputFailure == nil ? 0 : 1
    }

    private mutating func print(_ line: String) {
        guard outputFailure == nil else { return }
        do throws(Console.Failure) {
            try Console.print(line)
        } catch {
            outputFailure = error
        }
    }
}

extension Duration {
    /// The duration in seconds.
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
