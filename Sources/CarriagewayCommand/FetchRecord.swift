import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// How the fetch of one URL ended, as it is printed.
struct FetchRecord: Encodable, Equatable {
    let url: String
    /// The last response's; nil if there was none.
    var status: Int?
    /// Of the last response's body.
    var bytes = 0
    var attempts = 0
    /// From the first attempt to the end, its waits included; waiting in line before is not part of it.
    var seconds = 0.0
    /// Why it failed; nil for a success.
    var error: String?
    var file: String?
    /// Whether it was given up before it could succeed or fail.
    var isCancelled = false

    private enum CodingKeys: CodingKey {
        case url, status, bytes, attempts, seconds, error, file
    }

    /// Every key is there, also where the value is null: a reader needs no cases.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(url, forKey: .url)
        try container.encode(status, forKey: .status)
        try container.encode(bytes, forKey: .bytes)
        try container.encode(attempts, forKey: .attempts)
        try container.encode(seconds.inMilliseconds, forKey: .seconds)
        try container.encode(error, forKey: .error)
        try container.encode(file, forKey: .file)
    }

    /// One line for people: status, bytes, attempts, time, URL, and what is to be said besides.
    var line: String {
        let tries = attempts == 1 ? "1 attempt " : "\(attempts) attempts"
        let time = String(format: "%.3f s", seconds)
        let columns = [
            (status.map(String.init) ?? "---").padded(to: 3), "\(bytes) bytes".padded(to: 14, .right),
            tries.padded(to: 11, .right), time.padded(to: 10, .right), url,
        ]
        return columns.joined(separator: "  ") + (remark.map { "  \($0)" } ?? "")
    }

    private var remark: String? {
        if let file { return "-> \(file)" }
        // Of 400 and above the status itself says what happened.
        return status.map { $0 < 400 } ?? true ? error : nil
    }
}

extension FetchRecord {
    /// - Parameter ended: when the result came, on the calendar that the attempts are recorded by.
    init(
        of target: FetchTarget, result: Result<NetworkResponse, NetworkError>?, attempts: [NetworkAttempt], ended: Date
    ) {
        url = target.shown
        self.attempts = attempts.count
        seconds = attempts.first.map { max(0, ended.timeIntervalSince($0.started)) } ?? 0
        switch result {
        case nil: break
        case .success(let response):
            status = response.statusCode
            bytes = response.data.count
        case .failure(let failure):
            status = failure.response?.statusCode
            bytes = failure.body?.count ?? 0
            error = failure.description
            if case .cancelled = failure { isCancelled = true }
        }
    }
}

extension FetchRecord {
    /// Of a download to a file.
    ///
    /// - Parameters:
    ///   - file: the path to be shown.
    ///   - url: where the file is.
    init(of target: FetchTarget, _ ended: Fetcher.Ended, file: String, at url: URL) {
        self.init(of: target, result: ended.result, attempts: ended.attempts, ended: ended.date)
        guard error == nil else { return }
        self.file = file
        bytes = (try? url.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0
    }
}

extension NetworkError {
    /// The body that came with the failure, if one came.
    fileprivate var body: Data? {
        switch self {
        case .endpointError(_, let data), .unacceptableResponse(_, let data, _): data
        case .decodingFailed(_, let response): response.data
        case .inaccessible(_, let last): last.body
        case .cancelled, .urlError, .generalError, .invalidRequest, .invalidResponseType, .noResponseData,
            .responseTooLarge, .deadlineExceeded, .dependencyFailed, .authenticationFailed, .sessionInvalidated,
            .fileError:
            nil
        }
    }
}

/// All fetches together.
struct FetchSummary: Encodable, Equatable {
    var urls = 0
    var succeeded = 0
    var failed = 0
    var notFetched = 0
    var attempts = 0
    /// Of the bodies of the successes.
    var bytes = 0
    var seconds = 0.0

    mutating func add(_ record: FetchRecord) {
        urls += 1
        attempts += record.attempts
        if record.isCancelled {
            notFetched += 1
        } else if record.error != nil {
            failed += 1
        } else {
            succeeded += 1
            bytes += record.bytes
        }
    }

    /// What the whole is encoded as, so that it is not taken for a URL's.
    struct Line: Encodable {
        let summary: FetchSummary
    }
}

extension Encodable {
    /// JSON on one line.
    func jsonLine() -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Numbers that are finite, and text: there is nothing that could fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

extension Double {
    /// Rounded to a thousandth: more digits would claim more than the clock can say.
    var inMilliseconds: Double { (self * 1_000).rounded() / 1_000 }
}
