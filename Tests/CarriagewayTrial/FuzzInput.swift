import Foundation

/// The random bytes that a server answers with: made from good responses by a few random changes, the same for the same seed
/// and number.
struct FuzzInput {
    let bytes: [UInt8]

    init(seed: Int, number: Int) {
        var random = SplitMix(state: UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(number))
        if random.below(20) == 0 {
            bytes = (0..<random.below(400)).map { _ in UInt8(random.below(256)) }
            return
        }
        var bytes = Self.good[random.below(Self.good.count)]
        for _ in 0..<random.below(6) { Self.mutate(&bytes, &random) }
        self.bytes = bytes
    }

    /// Whether `URLSession` on Linux can be expected to trap: trailers after chunks, or an end between two lines of a head.
    var isOfDeadlyShape: Bool {
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        var rest = text[...]
        // The last head counts, after those with a status of 1xx.
        while true {
            guard let end = rest.range(of: "\r\n\r\n") ?? rest.range(of: "\n\n") else { return rest.contains("\n") }
            let head = rest[..<end.lowerBound]
            rest = rest[end.upperBound...]
            guard head.hasPrefix("http/1.1 1") || head.hasPrefix("http/1.0 1") else {
                return head.contains("chunked") && Self.mayHaveTrailers(rest)
            }
        }
    }

    private static func mayHaveTrailers(_ body: Substring) -> Bool {
        guard let last = body.range(of: "0\r\n") ?? body.range(of: "0\n") else { return false }
        return !body[last.upperBound...].hasPrefix("\r\n")
    }

    // MARK: Mutations

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SplitMix) {
        guard !bytes.isEmpty else { return }
        let place = random.below(bytes.count)
        let length = min(1 + random.below(12), bytes.count - place)
        switch random.below(9) {
        case 0: bytes[place] = UInt8(random.below(256))
        case 1: bytes[place] ^= UInt8(1 << random.below(8))
        case 2: bytes.removeSubrange(place..<place + length)
        case 3: bytes.insert(contentsOf: bytes[place..<place + length], at: random.below(bytes.count))
        case 4: bytes.insert(contentsOf: (0..<length).map { _ in UInt8(random.below(256)) }, at: place)
        case 5: bytes.removeSubrange(place...)
        case 6: bytes.insert(contentsOf: Array(oddities[random.below(oddities.count)].utf8), at: place)
        case 7: bytes = Array(bytes[..<place]) + good[random.below(good.count)]
        default: replaceNumber(in: &bytes, &random)
        }
    }

    private static func replaceNumber(in bytes: inout [UInt8], _ random: inout SplitMix) {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let places = bytes.indices.filter { digits.contains(bytes[$0]) }
        guard !places.isEmpty else { return }
        let place = places[random.below(places.count)]
        let end = bytes[place...].firstIndex { !digits.contains($0) } ?? bytes.count
        bytes.replaceSubrange(place..<end, with: Array(numbers[random.below(numbers.count)].utf8))
    }

    private static let numbers = [
        "", "-1", "0", "1", "00", "4294967296", "9223372036854775808", "99999999999999999999", "1e9", "0x10", " 5",
        "+5",
    ]
    private static let oddities = [
        "\r\n", "\n", "\r", "\0", ":", " ", "\t", "\r\n\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\n",
        "Content-Encoding: gzip\r\n", "HTTP/1.1 200 OK\r\n", "Location: /r\r\n", "Connection: close\r\n", "%00", "é",
        "\"",
        "WWW-Authenticate: Basic realm=\"\r\n", "Retry-After: -1\r\n", "Set-Cookie: a=b; Max-Age=x\r\n",
        String(repeating: "x", count: 5_000), "\r\n folded", "HTTP/1.1 103 Early Hints\r\n\r\n",
    ]

    private static let good: [[UInt8]] =
        [
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n",
            "HTTP/1.0 200 OK\r\nServer: old\r\n\r\nuntil the end",
            "HTTP/1.1 204 No Content\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n",
            "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\n",
            "HTTP/1.1 302 Found\r\nLocation: /r?x=1#y\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: r/../s\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a, b\", Bearer error=\"x\"\r\nContent-Length: 2\r\n\r\nno",
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 4\r\n\r\nbusy",
            "HTTP/1.1 429 Too Many\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/; HttpOnly\r\nSet-Cookie: c=d; Expires=Wed, 21 Oct 2099 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 \r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 3\r\nConnection: close\r\n\r\nerr",
        ].map { Array($0.utf8) } + [gzip]

    /// "hello" in gzip.
    private static let gzip =
        Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\n\r\n".utf8) + [
            0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0x02, 0xFF, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x86, 0xA6, 0x10,
            0x36,
            0x05, 0, 0, 0,
        ]
}

/// A small generator that gives the same numbers for the same state.
struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    mutating func below(_ bound: Int) -> Int { bound > 0 ? Int(next() % UInt64(bound)) : 0 }
}
