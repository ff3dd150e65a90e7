import Foundation

/// The `carriageway` command.
@main
struct Command {
    static func main() async {
        Console.prepare()
        do throws(UsageError) {
            exit(await run(try Arguments.parse(Array(CommandLine.arguments.dropFirst()))))
        } catch {
            Console.complain("\(error.text) (see carriageway --help)")
            exit(EX_USAGE)
        }
    }

    /// - Returns: the exit status.
    private static func run(_ arguments: Arguments) async -> Int32 {
        switch arguments {
        case .story: await Demo().run()
        case .help: show(Help.text)
        case .version: show("carriageway \(Help.version)")
        case .fetch(let plan): await Fetcher(plan: plan).run()
        case .download(let plan): await Downloader(plan: plan).run()
        case .upload(let plan): await Uploader(plan: plan).run()
        }
    }

    private static func show(_ text: String) -> Int32 {
        do throws(Console.Failure) {
            try Console.print(text)
            return 0
        } catch {
            return 1
        }
    }
}
