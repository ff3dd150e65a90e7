import Foundation

extension LoopbackServer {
    /// A request as it came over the wire, body included.
    public struct Request: Sendable {
        /// The method as sent, "GET" for example.
        public let method: String
        /// The request target as sent, not decoded: "/path?x=a%20b".
        public let target: String
        /// The path without its query, percent-decoded: what routes are compared with.
        public let path: String
        /// The header fields in the order they were sent, duplicates included.
        public let headers: [(name: String, value: String)]
        /// The whole body, with any chunked coding removed.
        public let body: Data
        /// The number of the connection that carried the request, from 1 in this server.
        public let connection: Int
        /// When the last byte of the request had been read.
        public let arrived: ContinuousClock.Instant
        /// The number of the request, from 1 in this server, in order of arrival.
        public let number: Int

        /// The value of the first field of that name, whatever its case; nil when there is none.
        public func header(_ name: String) -> String? {
            headers.first { $0.name.caseInsensitiveEquals(name) }?.value
        }

        /// The query decoded as forms are: percent sequences, and "+" for a space. The last of equal names wins.
        public var query: [String: String] {
            RequestTarget(target).query
        }
    }
}

/// Takes a request target (RFC 9112, section 3.2) apart.
struct RequestTarget {
    let path: String
    private let rawQuery: Substring?

    init(_ target: String) {
        // Nearly every target: nothing to decode, nothing to cut off.
        if target.utf8.first == UInt8(ascii: "/"), !target.utf8.contains(where: Self.needsWork) {
            path = target
            rawQuery = nil
            return
        }
        let local = Self.withoutAuthority(target)
        let parts = local.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let raw = String(parts[0])
        path = raw.isEmpty ? "/" : Self.decoded(raw)
        rawQuery = parts.count == 2 ? parts[1] : nil
    }

    var query: [String: String] {
        var result: [String: String] = [:]
        for item in (rawQuery ?? "").split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            result[Self.formDecoded(pair[0])] = pair.count == 2 ? Self.formDecoded(pair[1]) : ""
        }
        return result
    }

    /// Percent-decodes; a sequence that is no UTF-8 or no hexadecimal leaves the text as it is.
    static func decoded(_ text: String) -> String {
        text.utf8.contains(UInt8(ascii: "%")) ? text.removingPercentEncoding ?? text : text
    }

    private static func formDecoded(_ text: Substring) -> String {
        decoded(String(text.map { $0 == "+" ? " " : $0 }))
    }

    private static func needsWork(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "?") || byte == UInt8(ascii: "%") || byte == UInt8(ascii: "#")
    }

    /// What a proxy would be sent, "http://host/path", without scheme and host, and without a fragment.
    private static func withoutAuthority(_ target: String) -> Substring {
        let target = target.prefix { $0 != "#" }
        guard !target.hasPrefix("/"), let scheme = target.range(of: "://") else { return target }
        let rest = target[scheme.upperBound...]
        return rest.firstIndex { $0 == "/" || $0 == "?" }.map { rest[$0...] } ?? "/"
    }
}

extension StringProtocol {
    /// Compares as HTTP compares header names: ASCII letters without regard to case, the rest exactly.
    func caseInsensitiveEquals(_ other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }
}

extension UInt8 {
    /// An ASCII capital made small; any other byte itself.
    var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
