import Foundation

/// The file name in a `Content-Disposition` (RFC 6266), as the server gives it: not yet safe to use.
enum ContentDisposition {
    /// `filename*` goes first, as it says its characters; nil if there is neither.
    static func fileName(in header: String?) -> String? {
        guard let header else { return nil }
        let parameters = parameters(of: header)
        if let extended = parameters["filename*"].flatMap(decoded), !extended.isEmpty { return extended }
        guard let plain = parameters["filename"], !plain.isEmpty else { return nil }
        return readable(plain)
    }

    /// Names in small letters with their values, quotes and backslashes taken away; the first of equal names counts.
    private static func parameters(of header: String) -> [String: String] {
        var parameters: [String: String] = [:]
        for part in split(header).dropFirst() {
            guard let equals = part.firstIndex(of: "=") else { continue }
            let name = part[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
            let value = part[part.index(after: equals)...].trimmingCharacters(in: .whitespaces)
            if parameters[name] == nil { parameters[name] = unquoted(value) }
        }
        return parameters
    }

    /// Splits at semicolons that are not within quotes.
    private static func split(_ header: String) -> [String] {
        var parts = [""]
        var isQuoted = false
        var isEscaped = false
        for character in header {
            if character == ";", !isQuoted {
                parts.append("")
                continue
            }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && character == "\\" && !isEscaped
            parts[parts.count - 1].append(character)
        }
        return parts
    }

    private static func unquoted(_ value: String) -> String {
        guard value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") else { return value }
        var text = ""
        var isEscaped = false
        for character in value.dropFirst().dropLast() {
            if character == "\\", !isEscaped {
                isEscaped = true
                continue
            }
            isEscaped = false
            text.append(character)
        }
        return text
    }

    /// `UTF-8'en'na%C3%AFve` (RFC 8187); nil for other character sets and what is no percent encoding.
    private static func decoded(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        return parts[2].removingPercentEncoding
    }

    /// Many servers put UTF-8 into the plain form too, which the platform reads as Latin 1.
    private static func readable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.value >= 0x80 }),
            text.unicodeScalars.allSatisfy({ $0.value < 0x100 }),
            let utf8 = String(bytes: text.unicodeScalars.map { UInt8($0.value) }, encoding: .utf8)
        else { return text }
        return utf8
    }
}
