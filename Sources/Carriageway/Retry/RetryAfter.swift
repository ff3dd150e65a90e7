import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The `Retry-After` header (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// How long the server asks to wait; nil if it does not, or if it is nonsense, or for a status without that use.
    ///
    /// A date is read against the response's own `Date`, so that a wrong clock here does no harm, else against `now`.
    static func delay(in response: HTTPURLResponse, now: Date) -> Duration? {
        switch response.statusCode {
        case 408, 413, 425, 429, 503, 300..<400: break
        default: return nil
        }
        guard let text = response.value(forHTTPHeaderField: "Retry-After") else { return nil }
        let sent = response.value(forHTTPHeaderField: "Date").flatMap(HTTPDate.parse) ?? now
        return delay(text, sent: sent)
    }

    static func delay(_ text: String, sent: Date) -> Duration? {
        let text = text.trimmingCharacters(in: .whitespaces)
        guard !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) {
            return Int64(text).map { Duration.seconds($0).saturated } ?? .longest
        }
        return HTTPDate.parse(text).map { .saturating(seconds: $0.timeIntervalSince(sent)) }
    }
}

/// The three forms of a date in HTTP (RFC 9110, section 5.6.7).
enum HTTPDate {
    private static let formats = [
        "EEE, dd MMM yyyy HH:mm:ss 'GMT'",
        "EEEE, dd-MMM-yy HH:mm:ss 'GMT'",
        "EEE MMM d HH:mm:ss yyyy",
    ]

    private static let formatters = formats.map { format in
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = format
        formatter.isLenient = false
        // A year of two digits is never more than fifty years ahead.
        formatter.twoDigitStartDate = Date(timeIntervalSinceNow: -50 * 365.25 * 86_400)
        return formatter
    }

    static func parse(_ text: String) -> Date? {
        // The third form pads the day with a second blank.
        let text = text.split(separator: " ").joined(separator: " ")
        return formatters.lazy.compactMap { $0.date(from: text) }.first
    }
}
