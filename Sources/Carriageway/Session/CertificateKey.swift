import Foundation

/// Finds the public key in a certificate, so that pins are hashes of what RFC 7469 says: the whole SubjectPublicKeyInfo, which
/// no system gives as it stands.
enum CertificateKey {
    /// The SubjectPublicKeyInfo of a certificate in DER (RFC 5280, section 4.1), as it stands there; nil if that cannot be
    /// read.
    static func subjectPublicKeyInfo(of certificate: Data) -> Data? {
        // Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { … } … }
        var outer = DERReader(certificate)
        guard var certificate = outer.enter(0x30), var body = certificate.enter(0x30) else { return nil }
        // [0] version, which old certificates do not have.
        if body.nextTag == 0xA0 { guard body.skip() != nil else { return nil } }
        // serialNumber, signature, issuer, validity, subject.
        for _ in 0..<5 { guard body.skip() != nil else { return nil } }
        guard body.nextTag == 0x30 else { return nil }
        return body.skip()
    }
}

/// Walks over values in DER, one after the other.
private struct DERReader {
    private var rest: Data

    init(_ data: Data) {
        rest = Data(data)
    }

    var nextTag: UInt8? { rest.first }

    /// The value that comes next, with tag and length, which is behind afterwards.
    mutating func skip() -> Data? {
        guard let header = header() else { return nil }
        let value = rest.prefix(header.length + header.content)
        rest = Data(rest.dropFirst(value.count))
        return Data(value)
    }

    /// The inside of the value that comes next, if it has this tag.
    mutating func enter(_ tag: UInt8) -> DERReader? {
        guard nextTag == tag, let header = header(), let value = skip() else { return nil }
        return DERReader(value.dropFirst(header.length))
    }

    /// How many bytes tag and length have, and how many come after them; nil if there are fewer.
    private func header() -> (length: Int, content: Int)? {
        guard rest.count >= 2 else { return nil }
        let first = rest[rest.startIndex + 1]
        var (length, content) = (2, Int(first))
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            // Four bytes are four gigabytes; a length of no bytes is not DER.
            guard 1...4 ~= count, rest.count >= 2 + count else { return nil }
            length += count
            content = rest.dropFirst(2).prefix(count).reduce(0) { $0 << 8 | Int($1) }
        }
        guard content <= rest.count - length else { return nil }
        return (length, content)
    }
}
