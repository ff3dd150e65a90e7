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
    /// The same with TLS and HTTP/2; nil if there is none.
    var secureServer: URL?
    /// The same with TLS, where each connection is closed after one request; nil if there is none.
    var closingServer: URL?
    /// The file with the certificate of who signed theirs.
    var authority = ""

    static let help = """
        usage: benchmarks [--only NAME]... [--rounds N] [--quick] [--json] [--server URL]
                          [--secure-server URL] [--closing-server URL] [--authority FILE]

          --only NAME   throughput, curl, post, http2, handshake, waiting, operations, dependencies, idle or
                        transfers; all of them otherwise
          --rounds N    how often each measurement is made; the median is shown
          --quick       small counts, one round: to see that everything works
          --json        one JSON object in place of tables
          --server URL  where requests go: any URL that answers GET and POST with 200 and about 100 bytes;
                        a LoopbackServer in a process of its own otherwise
          --secure-server URL
                        the same with TLS and HTTP/2, for http2; left out otherwise
          --closing-server URL
                        the same with TLS and a connection for each request, for handshake; left out otherwise
          --authority FILE
                        the certificate, in PEM, of who signed those of both
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
            case "--secure-server": secureServer = try Self.value(of: option, &rest) { URL(string: $0) }
            case "--closing-server": closingServer = try Self.value(of: option, &rest) { URL(string: $0) }
            case "--authority": authority = try Self.value(of: option, &rest) { $0.isEmpty ? nil : $0 }
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
