import Foundation

/// What the command line asks for: pure, made from the words alone.
enum Arguments: Equatable {
    /// No words at all: show what the library does.
    case story
    case help
    case version
    case fetch(FetchPlan)

    /// Reads the words that follow the program's name.
    static func parse(_ words: [String]) throws(UsageError) -> Arguments {
        guard !words.isEmpty else { return .story }
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

    var words: ArraySlice<String>
    private var plan = FetchPlan()
    private var token = TokenWords()

    init(words: ArraySlice<String>) {
        self.words = words
    }

    mutating func read() throws(UsageError) -> Arguments {
        while let word = words.popFirst() {
            if word == "--" {
                while let target = words.popFirst() { try addTarget(target) }
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
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = word == "-h" ? Option.help.rawValue : String(parts[0])
        if let option = TokenWords.Option(rawValue: name) {
            try token.set(option, to: try value(for: name, parts.count == 2 ? String(parts[1]) : nil))
            return nil
        }
        guard let option = Option(rawValue: name) else { throw UsageError("unknown option \(Self.shown(name))") }
        let attached = parts.count == 2 ? String(parts[1]) : nil
        switch option {
        case .concurrency: plan.concurrency = try number(1...1_000, for: option, attached)
        case .perHost: plan.perHost = try number(1...1_000, for: option, attached)
        case .retries: plan.retries = try number(0...1_000, for: option, attached)
        case .timeout: plan.timeout = try seconds(for: option, attached)
        case .header: plan.headers.append(try header(for: option, attached))
        case .output: plan.output = try directory(for: option, attached)
        case .json, .help, .version:
            guard attached == nil else { throw UsageError("\(name) takes no value") }
            if option == .help { return .help }
            if option == .version { return .version }
            plan.printsJSON = true
        }
        return nil
    }

    /// The start of a word that is no option. What comes after its name could be a value that nobody should see.
    private static func shown(_ word: String) -> String {
        UsageError.quoted(word.prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
    }

    // MARK: Values

    private mutating func value(for option: Option, _ attached: String?) throws(UsageError) -> String {
        try value(for: option.rawValue, attached)
    }

    private mutating func value(for name: String, _ attached: String?) throws(UsageError) -> String {
        if let attached { return attached }
        // A value that looks like an option is one that was forgotten; "--option=--value" says that it is meant.
        guard let value = words.first, !value.hasPrefix("--") else { throw UsageError("\(name) needs a value") }
        words.removeFirst()
        return value
    }

    private mutating func number(
        _ range: ClosedRange<Int>, for option: Option, _ attached: String?
    ) throws(UsageError) -> Int {
        let text = try value(for: option, attached)
        guard let number = Int(text), range.contains(number) else {
            let bounds = "\(range.lowerBound) to \(range.upperBound)"
            throw UsageError(
                "\(option.rawValue) needs a whole number from \(bounds), not \(UsageError.quoted(text))")
        }
        return number
    }

    private mutating func seconds(for option: Option, _ attached: String?) throws(UsageError) -> Duration {
        let text = try value(for: option, attached)
        guard let seconds = Double(text), seconds.isFinite, seconds > 0 else {
            throw UsageError("\(option.rawValue) needs a number of seconds above 0, not \(UsageError.quoted(text))")
        }
        // A Duration of more than 64 bits of seconds traps; thirty years are long enough.
        return .seconds(min(seconds, 1e9))
    }

    private mutating func header(for option: Option, _ attached: String?) throws(UsageError) -> FetchPlan.Header {
        let text = try value(for: option, attached)
        let malformed = UsageError("\(option.rawValue) needs 'Name: value'; what was given is not shown")
        guard let colon = text.firstIndex(of: ":") else { throw malformed }
        let name = text[..<colon]
        let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        let isClean = value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
        guard Self.isToken(name), isClean else { throw malformed }
        return FetchPlan.Header(name: String(name), value: value)
    }

    private mutating func directory(for option: Option, _ attached: String?) throws(UsageError) -> String {
        let text = try value(for: option, attached)
        guard !text.isEmpty, !text.utf8.contains(0) else { throw UsageError("\(option.rawValue) needs a directory") }
        return text
    }

    /// Whether the text can be the name of a header field (RFC 9110, section 5.6.2).
    private static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                let character = Character(Unicode.Scalar(byte))
                guard byte < 0x80 else { return false }
                return character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character)
            }
    }
}
