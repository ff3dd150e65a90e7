import Foundation

/// Scheme, host and port of a URL, if they are as nearly all are: "http" or "https", a host of small letters, digits, points and
/// hyphens, no user, and a port without zeros in front, if any.
///
/// Read in one pass: `URL` takes its text apart anew for each of its parts, and each request is asked for several.
struct PlainAddress {
    private let text: String
    private let host: Range<Int>
    /// Empty if there is none.
    private let port: Range<Int>
    private let isSecure: Bool

    init?(_ url: URL) {
        text = url.absoluteString
        isSecure = url.isSecure
        guard isSecure || text.utf8.starts(with: "http:".utf8) else { return nil }
        let start = isSecure ? 8 : 7
        let found: (host: Range<Int>, port: Range<Int>)?? = text.utf8.withContiguousStorageIfAvailable { bytes in
            guard bytes.count > start, bytes[start - 2] == UInt8(ascii: "/"), bytes[start - 1] == UInt8(ascii: "/")
            else {
                return nil
            }
            let hostEnd = bytes[start...].firstIndex { !Self.isOfHost($0) } ?? bytes.count
            guard hostEnd > start else { return nil }
            func isEnd(_ index: Int) -> Bool { index == bytes.count || Self.endsAuthority(bytes[index]) }
            if isEnd(hostEnd) { return (start..<hostEnd, hostEnd..<hostEnd) }
            guard bytes[hostEnd] == UInt8(ascii: ":") else { return nil }
            let portStart = hostEnd + 1
            var (portEnd, number) = (portStart, 0)
            while portEnd < bytes.count, (0x30...0x39).contains(bytes[portEnd]), number < 65_536 {
                number = number * 10 + Int(bytes[portEnd] - 0x30)
                portEnd += 1
            }
            guard 1...65_535 ~= number, bytes[portStart] != 0x30, isEnd(portEnd) else { return nil }
            return (start..<hostEnd, portStart..<portEnd)
        }
        guard let found, let found else { return nil }
        (host, port) = found
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool { "/?#".utf8.contains(byte) }

    private static func isOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7A, 0x30...0x39, 0x2D, 0x2E: true
        default: false
        }
    }

    /// Host and port, the port also where it is the usual one.
    var key: String {
        let utf8 = text.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: host.lowerBound)
        let end = utf8.index(start, offsetBy: (port.isEmpty ? host.upperBound : port.upperBound) - host.lowerBound)
        return port.isEmpty ? "\(text[start..<end])\(isSecure ? ":443" : ":80")" : String(text[start..<end])
    }
}

extension URL {
    /// Whether the scheme is https, in small letters, as it is in every request that has been checked.
    var isSecure: Bool { absoluteString.utf8.starts(with: "https:".utf8) }
}
