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
        let sent = response.value(forHTTPHeaderField: "Date").flatMap { HTTPDate.parse($0) } ?? now
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
