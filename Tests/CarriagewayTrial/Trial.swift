import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Long runs, and trials that need a process, or a network, of their own. Exits with 0 if all went right.
@main
struct Trial {
    static func main() async {
        let arguments = TrialArguments(Array(CommandLine.arguments.dropFirst()))
        do {
            switch arguments.command {
            case "fuzz": try await Fuzzer(arguments).run()
            case "fuzz-child": try await FuzzChild(arguments).run()
            case "fuzz-show":
                let (seed, number) = (arguments.number("seed", default: 0), arguments.number("input", default: 0))
                say(String(decoding: FuzzInput(seed: seed, number: number).bytes, as: UTF8.self).debugDescription)
            case "soak": try await Soak(arguments).run()
            case "network": try await BadNetwork(arguments).run()
            case "http2": try await HTTP2(arguments).run()
            case "authorities": try await authorities(arguments)
            case "download": try await download(arguments)
            case "slow-reader": try await LittleMemory(arguments).slowReader()
            case "small-files": try await LittleMemory(arguments).smallFiles()
            case "busy-delegate": try await LittleMemory(arguments).busyDelegate()
            case "trailers": try await KnownDeaths.trailers()
            case "cut-head": try await KnownDeaths.cutHead()
            case "protocol-redirect": try await KnownDeaths.protocolRedirect()
            case "late-delegate": try await KnownDeaths.lateDelegate()
            default:
                say(
                    "usage: trial fuzz [--inputs n] [--seed n] [--transport curl] | fuzz-show --seed n --input n | soak [--requests n] | slow-reader [--transport curl] [--chunks n] [--interval ms] | small-files [--transport curl] [--count n] | network | http2 --url … | authorities --url … --other … --bundle … [--transport curl] | download --url … --file … [--transport curl]"
                )
                exit(64)
            }
            exit(0)
        } catch {
            say("\(arguments.command): \(error)")
            exit(1)
        }
    }

    /// Two connections of one session, between which the system's bundle of authorities is emptied: what was read for the
    /// first has to do for the second.
    private static func authorities(_ arguments: TrialArguments) async throws {
        let session = NetworkSession(transport: arguments.transport)
        for name in ["url", "other"] {
            guard let url = arguments.text(name).flatMap({ URL(string: $0) }), let bundle = arguments.text("bundle")
            else {
                throw Fault(description: "authorities --url … --other … --bundle …")
            }
            _ = try await session.data(for: URLRequest(url: url))
            try Data().write(to: URL(fileURLWithPath: bundle))
        }
    }

    /// One file, going on from what is there of it; `.ci/kill9` ends this at any moment.
    private static func download(_ arguments: TrialArguments) async throws {
        guard let url = arguments.text("url").flatMap({ URL(string: $0) }), let file = arguments.text("file") else {
            throw Fault(description: "download --url … --file …")
        }
        let queue = NetworkQueue(session: NetworkSession(transport: arguments.transport))
        try await queue.download(URLRequest(url: url), to: URL(fileURLWithPath: file))
    }
}

/// Writes a line at once: the process may die before a buffer is written.
func say(_ text: Any) {
    FileHandle.standardOutput.write(Data("\(text)\n".utf8))
}

/// What a trial found wrong.
struct Fault: Error, CustomStringConvertible {
    let description: String

    static func unless(_ condition: Bool, _ description: @autoclosure () -> String) throws {
        guard condition else { throw Fault(description: description()) }
    }
}

/// A command and options with values.
struct TrialArguments {
    let command: String
    private let options: [String: String]

    init(_ arguments: [String]) {
        command = arguments.first ?? ""
        var options: [String: String] = [:]
        var rest = arguments.dropFirst()
        while let name = rest.popFirst(), let value = rest.popFirst() { options[name] = value }
        self.options = options
    }

    func text(_ name: String) -> String? { options["--\(name)"] }

    /// By `--transport curl`; else the usual one.
    var transport: NetworkSession.TransportKind {
        #if os(Linux)
            if text("transport") == "curl" { return .curl }
        #endif
        return .urlSession
    }

    func number(_ name: String, default value: Int) -> Int {
        options["--\(name)"].flatMap { Int($0) } ?? value
    }
}
