import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What there is of a download, and by what the server's copy is known to be the same.
struct ResumePoint: Equatable {
    /// How many bytes there are.
    var offset: Int64
    var state: PartState

    /// Asks for the rest, if the copy is the same. One byte less than there is: of a part that is complete there would be
    /// no rest, which is an error (RFC 9110, section 15.5.17).
    func apply(to request: inout URLRequest) {
        request.setValue("bytes=\(start)-", forHTTPHeaderField: "Range")
        request.setValue(state.validator, forHTTPHeaderField: "If-Range")
    }

    /// The first byte that is asked for.
    var start: Int64 { max(offset - 1, 0) }
}

/// What is kept beside a part: all that a later run needs to go on.
struct PartState: Codable, Equatable {
    /// What is sent as `If-Range`: a strong entity tag or a date.
    var validator: String
    /// The length of the whole, if known.
    var total: Int64?
}

/// What becomes of the body of a response to a download: a pure decision.
enum DownloadIntake: Equatable {
    /// Into the file from `start` on. `total` is the length that the whole must have, `state` what makes it possible to go
    /// on later; nil where nothing does.
    case take(start: Int64, total: Int64?, state: PartState?)
    /// It is not the file, but what the server says of it: into memory.
    case memory
    /// What there is does not fit: the request is to be sent once more, for the whole.
    case startOver
    /// It cannot be the file.
    case reject(String)

    /// - Parameters:
    ///   - resume: what was asked to go on from; nil if the whole was asked for.
    ///   - hasOwnRange: whether the caller asked for a range, which then is all that there is to have.
    ///   - isAccepted: whether validation accepts the status.
    init(of response: HTTPURLResponse, resume: ResumePoint?, hasOwnRange: Bool, isAccepted: Bool) {
        let status = response.statusCode
        if let resume, status == 416 || status == 206 {
            self = status == 206 ? Self.rest(in: response, after: resume) : .startOver
        } else if !isAccepted {
            self = .memory
        } else if status == 206, !hasOwnRange {
            self = .reject("a part of the file that was not asked for")
        } else if (300...399).contains(status) {
            self = .reject("status \(status)")
        } else {
            let length = response.bodyLength
            let total = length >= 0 ? length : nil
            let validator = hasOwnRange ? nil : response.strongValidator
            self = .take(start: 0, total: total, state: validator.map { PartState(validator: $0, total: total) })
        }
    }

    private static func rest(in response: HTTPURLResponse, after resume: ResumePoint) -> DownloadIntake {
        guard let range = ContentRange(response.value(forHTTPHeaderField: "Content-Range")),
            range.start == resume.start, !response.isEncoded,
            resume.state.total == nil || range.total == nil || range.total == resume.state.total,
            resume.state.validator.isSame(as: response)
        else { return .startOver }
        let total = range.total ?? resume.state.total
        return .take(
            start: range.start, total: total ?? range.end + 1,
            state: PartState(validator: resume.state.validator, total: total))
    }
}

extension String {
    /// Whether a response that names its entity tag or date names this one; without a name it is taken at its word, that
    /// `If-Range` held.
    fileprivate func isSame(as response: HTTPURLResponse) -> Bool {
        let name = hasPrefix("\"") ? "ETag" : "Last-Modified"
        guard let value = response.value(forHTTPHeaderField: name) else { return true }
        return value.trimmingCharacters(in: .whitespaces) == self
    }
}

extension HTTPURLResponse {
    /// Whether the bytes on the wire are not those that arrive.
    fileprivate var isEncoded: Bool {
        let coding = value(forHTTPHeaderField: "Content-Encoding") ?? "identity"
        return coding.lowercased() != "identity" && !coding.isEmpty
    }

    /// What can be sent as `If-Range` (RFC 9110, section 13.1.5): a strong entity tag, or a date that is a second or more
    /// before the response's own, so that no second change can have got the same one. Nil if there is neither, or if the
    /// bytes are encoded or the server takes no ranges.
    fileprivate var strongValidator: String? {
        guard statusCode == 200, !isEncoded, value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() != "none" else {
            return nil
        }
        if let tag = value(forHTTPHeaderField: "ETag")?.trimmingCharacters(in: .whitespaces) {
            let isStrong = tag.count >= 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"")
            if isStrong { return tag }
        }
        guard let modified = value(forHTTPHeaderField: "Last-Modified")?.trimmingCharacters(in: .whitespaces),
            let changed = HTTPDate.parse(modified),
            let sent = value(forHTTPHeaderField: "Date").flatMap({ HTTPDate.parse($0) }),
            sent.timeIntervalSince(changed) >= 1
        else { return nil }
        return modified
    }
}
