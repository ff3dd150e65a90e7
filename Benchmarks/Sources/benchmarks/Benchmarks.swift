import Foundation

/// Measures Carriageway against `URLSession` and `OperationQueue`, and prints tables.
///
/// Each measurement runs in a process of its own, which is this program again: so its memory is its own, and what one
/// leaves behind does not slow the next.
@main
enum Benchmarks {
    static let suites: [any Suite] = [
        Throughput(), Curl(.get), Curl(.post), Curl(.http2), Curl(.handshake), Waiting(), OperationCost(),
        Dependencies(), Idle(), Transfers(),
    ]

    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.first == ChildProcess.flag {
                try await runChild(Array(arguments.dropFirst()))
            } else if let options = try Options(arguments, suites: suites.map(\.name)) {
                try run(options)
            } else {
                print(Options.help)
            }
        } catch let error as Options.Mistake {
            Console.complain(error.text)
            exit(64)
        } catch {
            Console.complain("\(error)")
            exit(1)
        }
    }

    private static func run(_ options: Options) throws {
        let chosen = suites.filter { options.only.isEmpty || options.only.contains($0.name) }
        var results = Results()
        var targets: [Target] = []
        for suite in chosen {
            guard try Runner(options: options).run(suite, into: &results) else { continue }
            targets += suite.targets(results)
            guard !options.json else { continue }
            for table in suite.tables(results) { print(table.text) }
        }
        if options.json {
            print(try Report(results: results, targets: targets).json())
        } else if !targets.isEmpty {
            print(Target.table(of: targets).text)
        }
    }

    private static func runChild(_ arguments: [String]) async throws {
        if arguments == [ServerProcess.command] { return try ServerProcess.serve() }
        if arguments == [BulkServer.command] { return try BulkServer.serve() }
        guard let job = Job(arguments: arguments), let suite = suites.first(where: { $0.name == job.key.suite }) else {
            throw Options.Mistake(text: "not a measurement: \(arguments.joined(separator: " "))")
        }
        let values = try await suite.measure(job)
        print(String(decoding: try JSONEncoder().encode(values), as: UTF8.self))
    }
}
