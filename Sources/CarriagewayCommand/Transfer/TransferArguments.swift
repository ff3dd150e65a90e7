import Foundation

/// What is to be downloaded, and how.
struct DownloadPlan: Equatable, Sendable {
    /// The URLs of the command line, the directory, and what holds for every request.
    var fetch = FetchPlan()
    /// Files with further URLs, one a line; "-" is standard input.
    var inputs: [String] = []
    /// Whether files that are there are left alone.
    var resumes = false
    /// A file with digests, as `sha256sum` writes it.
    var digests: String?
    /// Bytes a second of all transfers together.
    var rateLimit: Int64?
}

/// What is to be uploaded, and how.
struct UploadPlan: Equatable, Sendable {
    var file: String
    /// The target, and what holds for the request.
    var fetch: FetchPlan
    var method = "PUT"
    /// The name of the field of a form that the file is sent in; nil for the file as the body.
    var field: String?
    var rateLimit: Int64?
}

/// Reads the words after "download" or "upload".
struct TransferArgumentReader {
    private enum Option: String {
        case concurrency = "--concurrency"
        case perHost = "--per-host"
        case retries = "--retries"
        case timeout = "--timeout"
        case header = "--header"
        case json = "--json"
        case limitRate = "--limit-rate"
        case input = "--input"
        case directory = "--directory"
        case resume = "--resume"
        case digests = "--sha256sums"
        case method = "--method"
        case form = "--form"
        case help = "--help"

        /// Short names, and whether it belongs to one of the two only.
        static let short = ["-i": input, "-d": directory, "-h": help]
        static let ofDownload: Set<Option> = [.input, .directory, .resume, .digests, .concurrency, .perHost]
        static let ofUpload: Set<Option> = [.method, .form]
    }

    private var words: OptionWords
    private var plan = DownloadPlan()
    private var operands: [String] = []
    private var method = "PUT"
    private var field: String?
    private let isUpload: Bool

    private init(_ words: [String], isUpload: Bool) {
        self.words = OptionWords(rest: words[...])
        self.isUpload = isUpload
        plan.fetch.output = "."
    }

    static func download(_ words: [String]) throws(UsageError) -> Arguments {
        var reader = TransferArgumentReader(words, isUpload: false)
        guard try reader.read() else { return .help }
        for operand in reader.operands {
            let number = reader.plan.fetch.targets.count + 1
            reader.plan.fetch.targets.append(try FetchTarget(operand, number: number))
        }
        guard !reader.operands.isEmpty || !reader.plan.inputs.isEmpty else {
            throw UsageError("no URL and no file of URLs is given")
        }
        return .download(reader.plan)
    }

    static func upload(_ words: [String]) throws(UsageError) -> Arguments {
        var reader = TransferArgumentReader(words, isUpload: true)
        guard try reader.read() else { return .help }
        guard reader.operands.count == 2, !reader.operands[0].isEmpty else {
            throw UsageError("upload needs a file and a URL")
        }
        var fetch = reader.plan.fetch
        fetch.output = nil
        fetch.targets = [try FetchTarget(reader.operands[1], number: 1)]
        return .upload(
            UploadPlan(
                file: reader.operands[0], fetch: fetch, method: reader.method, field: reader.field,
                rateLimit: reader.plan.rateLimit))
    }

    /// - Returns: whether there is something to do; not if help is asked for.
    private mutating func read() throws(UsageError) -> Bool {
        while let word = words.rest.popFirst() {
            if word == "--" {
                operands += words.rest
                return true
            } else if word.hasPrefix("-"), word != "-" {
                let (name, attached) = OptionWords.parts(of: word)
                guard let option = Option.short[name] ?? Option(rawValue: name),
                    !(isUpload ? Option.ofDownload : Option.ofUpload).contains(option)
                else { throw UsageError("unknown option \(OptionWords.shown(name))") }
                if option == .help { return false }
                try take(option, name, attached)
            } else {
                operands.append(word)
            }
        }
        return true
    }

    private mutating func take(_ option: Option, _ name: String, _ attached: String?) throws(UsageError) {
        switch option {
        case .concurrency: plan.fetch.concurrency = try words.number(1...1_000, for: name, attached)
        case .perHost: plan.fetch.perHost = try words.number(1...1_000, for: name, attached)
        case .retries: plan.fetch.retries = try words.number(0...1_000, for: name, attached)
        case .timeout: plan.fetch.timeout = try words.seconds(for: name, attached)
        case .header: plan.fetch.headers.append(try words.header(for: name, attached))
        case .limitRate: plan.rateLimit = try words.bytes(for: name, attached)
        case .input: plan.inputs.append(try words.path(for: name, attached, "a file"))
        case .directory: plan.fetch.output = try words.path(for: name, attached, "a directory")
        case .digests: plan.digests = try words.path(for: name, attached, "a file")
        case .method:
            let text = try words.value(for: name, attached)
            guard OptionWords.isToken(text[...]) else { throw UsageError("\(name) needs a method such as PUT") }
            method = text
        case .form:
            field = try words.value(for: name, attached)
            method = "POST"
        case .resume, .json, .help:
            guard attached == nil else { throw UsageError("\(name) takes no value") }
            if option == .json { plan.fetch.printsJSON = true } else { plan.resumes = true }
        }
    }
}
