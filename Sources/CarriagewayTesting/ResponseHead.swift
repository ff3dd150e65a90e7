import Foundation

/// The status line and the header fields of a response, and what follows from them.
struct ResponseHead {
    enum Framing {
        /// No body may follow: HEAD, 1xx, 204, 304.
        case none
        case length
        case chunked
        case untilClose
    }

    let framing: Framing
    let closes: Bool
    let bytes: Data

    init(_ response: LoopbackServer.Response, to context: Answer.Context) {
        let wantsChunks = response.wantsChunks
        let cannotChunk = wantsChunks && context.minorVersion == 0
        let askedToClose = response.value(of: "Connection")?.hasListToken("close") ?? false
        closes = response.closesConnection || !context.keepsAlive || askedToClose || cannotChunk
        if context.isHead || response.forbidsBody {
            framing = .none
        } else {
            framing = cannotChunk ? .untilClose : wantsChunks ? .chunked : .length
        }
        var text = "HTTP/1.1 \(response.status) \(Self.reason(response.status))\r\n"
        text += Self.fields(response.headers)
        if response.value(of: "Date") == nil { text += "Date: \(context.date)\r\n" }
        if let line = Self.framingField(response, wantsChunks: wantsChunks, cannotChunk: cannotChunk) { text += line }
        if response.value(of: "Connection") == nil {
            if closes {
                text += "Connection: close\r\n"
            } else if context.minorVersion == 0 {
                text += "Connection: keep-alive\r\n"
            }
        }
        text += "\r\n"
        bytes = Data(text.utf8)
    }

    /// A 1xx response before the final one: a head without `Date` and without length.
    static func informational(_ status: Int, headers: [(name: String, value: String)]) -> Data {
        Data("HTTP/1.1 \(status) \(reason(status))\r\n\(fields(headers))\r\n".utf8)
    }

    static func fields(_ fields: [(name: String, value: String)]) -> String {
        var text = ""
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        return text
    }

    private static func framingField(
        _ response: LoopbackServer.Response, wantsChunks: Bool, cannotChunk: Bool
    ) -> String? {
        guard response.value(of: "Content-Length") == nil, response.value(of: "Transfer-Encoding") == nil else {
            return nil
        }
        // RFC 9110, section 8.6, and RFC 9112, section 6.1: 1xx and 204 say nothing about a body. A 304 could give the
        // length that a 200 would have; only the user can know that one.
        guard !response.forbidsBody, !cannotChunk else { return nil }
        return wantsChunks ? "Transfer-Encoding: chunked\r\n" : "Content-Length: \(response.length)\r\n"
    }

    /// The usual phrase for a status code; empty for one that has none.
    static func reason(_ status: Int) -> String {
        reasons[status] ?? ""
    }

    private static let reasons: [Int: String] = [
        100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
        205: "Reset Content", 206: "Partial Content",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict",
        410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
        414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        418: "I'm a Teapot", 421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked",
        425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 507: "Insufficient Storage",
    ]
}

extension LoopbackServer.Response {
    fileprivate var forbidsBody: Bool {
        (100..<200).contains(status) || status == 204 || status == 304
    }

    fileprivate var wantsChunks: Bool {
        if case .chunked = pacing { return true }
        return !trailingFields.isEmpty
    }

    func value(of name: String) -> String? {
        headers.first { $0.name.caseInsensitiveEquals(name) }?.value
    }
}

/// Dates as HTTP writes them, "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7), formatted once a second.
struct HTTPDate {
    private var second = Int.min
    private var text = ""

    /// The text for a time in seconds since 1970.
    mutating func string(at second: Int) -> String {
        if second != self.second {
            self.second = second
            text = Self.format(second)
        }
        return text
    }

    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func format(_ second: Int) -> String {
        let days = Int((Double(second) / 86400).rounded(.down))
        let time = second - days * 86400
        let (year, month, day) = civil(days)
        let clock = [time / 3600, time / 60 % 60, time % 60].map(twoDigits).joined(separator: ":")
        let weekday = weekdays[((days % 7) + 7) % 7]
        return "\(weekday), \(twoDigits(day)) \(months[month - 1]) \(year) \(clock) GMT"
    }

    private static func twoDigits(_ value: Int) -> String {
        value < 10 ? "0\(value)" : "\(value)"
    }

    /// The date of a day counted from 1 January 1970, in years that begin in March so that the leap day comes last.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}
