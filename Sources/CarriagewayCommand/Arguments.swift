import Foundation

/// What the command line asks for: pure, made from the words alone.
enum Arguments: Equatable {
    /// No words at all: show what the library does.
    case story
    case help
    case version
    case fetch(FetchPlan)
    case download(DownloadPlan)
    case upload(UploadPlan)

    /// Reads the words that follow the program's name.
    static func parse(_ words: [String]) throws(UsageError) -> Arguments {
        guard let first = words.first else { return .story }
        if first == "download" { return try TransferArgumentReader.download(Array(words.dropFirst())) }
        if first == "upload" { return try TransferArgumentReader.upload(Array(words.dropFirst())) }
        var reader = ArgumentReader(words: words[...])
        return try reader.read()
    }
}

/// What is to be fetched, and how.
struct FetchPlan: Equatable, Sendable {
    /// A header field for every request.
    struct Header: Equatable, Sendable {
        let name: String
        let value: String
    }

    var targets: [FetchTarget] = []
    var concurrency = 8
    var perHost = 6
    var retries = 3
    /// For each URL, its retries and waits included; nil for ever.
    var timeout: Duration?
    var headers: [Header] = []
    /// Nil for requests without a token.
    var token: TokenPlan?
    /// The directory for the bodies; nil to discard them.
    var output: String?
    var printsJSON = false
}

/// Why the command line cannot be followed: one line, without the value of any header.
struct UsageError: Error, Equatable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    /// A word of the command line inside a message: short, and on one line whatever it holds.
    static func quoted(_ word: some StringProtocol) -> String {
        let visible = word.unicodeScalars.prefix(80).map { $0.properties.isVisible ? Character($0) : "?" }
        return "'\(String(visible))\(word.unicodeScalars.count > 80 ? "..." : "")'"
    }
}

extension Unicode.Scalar.Properties {
    /// Neither a control character nor one that ends a line or turns the direction of the text.
    fileprivate var isVisible: Bool {
        switch generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
        default: true
        }
    }
}

/// Reads the words from left to right.
private struct ArgumentReader {
    private enum Option: String {
        case concurrency = "--concurrency"
        case perHost = "--per-host"
        case retries = "--retries"
        case timeout = "--timeout"
        case header = "--header"
        case output = "--output"
        case json = "--json"
        case help = "--help"
        case version = "--version"
    }

    private var words: OptionWords
    private var plan = FetchPlan()
    private var token = TokenWords()

    init(words: ArraySlice<String>) {
        self.words = OptionWords(rest: words)
    }

    mutating func read() throws(UsageError) -> Arguments {
        while let word = words.rest.popFirst() {
            if word == "--" {
                while let target = words.rest.popFirst() { try addTarget(target) }
            } else if word.hasPrefix("-"), word != "-" {
                if let answer = try readOption(word) { return answer }
            } else {
                try addTarget(word)
            }
        }
        guard !plan.targets.isEmpty else { throw UsageError("no URL is given") }
        plan.token = try token.plan()
        if plan.token != nil, plan.headers.contains(where: { $0.name.lowercased() == "authorization" }) {
            throw UsageError("an Authorization header and --token-url exclude each other")
        }
        return .fetch(plan)
    }

    private mutating func addTarget(_ word: String) throws(UsageError) {
        plan.targets.append(try FetchTarget(word, number: plan.targets.count + 1))
    }

    /// - Returns: the answer, if the option is one that settles everything.
    private mutating func readOption(_ word: String) throws(UsageError) -> Arguments? {
        let (given, attached) = OptionWords.parts(of: word)
        let name = word == "-h" ? Option.help.rawValue : given
        if let option = TokenWords.Option(rawValue: name) {
            try token.set(option, to: try words.value(for: name, attached))
            return nil
        }
        guard let option = Option(rawValue: name) else { throw UsageError("unknown option \(OptionWords.shown(name))") }
        switch option {
        case .concurrency: plan.concurrency = try words.number(1...1_000, for: name, attached)
        case .perHost: plan.perHost = try words.number(1...1_000, for: name, attached)
        case .retries: plan.retries = try words.number(0...1_000, for: name, attached)
        case .timeout: plan.timeout = try words.seconds(for: name, attached)
        case .header: plan.headers.append(try words.header(for: name, attached))
        case .output: plan.output = try words.path(for: name, attached, "a directory")
        case .json, .help, .version:
            guard attached == nil else { throw UsageError("\(name) takes no value") }
            if option == .help { return .help }
            if option == .version { return .version }
            plan.printsJSON = true
        }
        return nil
    }
}
