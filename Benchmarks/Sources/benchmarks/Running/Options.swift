import Foundation

/// What the command line asks for.
struct Options {
    /// A command line that makes no sense.
    struct Mistake: Error {
        let text: String
    }

    /// The suites to run; empty for all.
    var only: [String] = []
    /// How often each measurement is made; nil for what each suite holds to be enough.
    var rounds: Int?
    /// Small counts and a single round: shows that everything works, not how fast.
    var isQuick = false
    var json = false
    /// What to send requests to; nil for a `LoopbackServer`.
    var server: URL?

    static let help = """
        usage: benchmarks [--only NAME]... [--rounds N] [--quick] [--json] [--server URL]

          --only NAME   throughput, curl, waiting, operations, dependencies or idle; all of them otherwise
          --rounds N    how often each measurement is made; the median is shown
          --quick       small counts, one round: to see that everything works
          --json        one JSON object in place of tables
          --server URL  where requests go: any URL that answers GET with 200 and about 100 bytes;
                        a LoopbackServer in a process of its own otherwise
        """

    /// Nil if help was asked for.
    init?(_ arguments: [String], suites: [String]) throws(Mistake) {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--help", "-h": return nil
            case "--quick": isQuick = true
            case "--json": json = true
            case "--only": only.append(try Self.value(of: option, &rest) { suites.contains($0) ? $0 : nil })
            case "--rounds": rounds = try Self.value(of: option, &rest) { Int($0).flatMap { $0 > 0 ? $0 : nil } }
            case "--server": server = try Self.value(of: option, &rest) { URL(string: $0) }
            default: throw Mistake(text: "unknown option \(option)\n\(Self.help)")
            }
        }
    }

    private static func value<Value>(
        of option: String, _ rest: inout ArraySlice<String>, _ read: (String) -> Value?
    ) throws(Mistake) -> Value {
        guard let text = rest.popFirst(), let value = read(text) else {
            throw Mistake(text: "\(option) needs a value that makes sense\n\(help)")
        }
        return value
    }
}
