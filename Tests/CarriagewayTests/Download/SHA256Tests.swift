import Foundation
import Testing

@testable import Carriageway

struct SHA256Tests {
    private func digest(_ data: Data, piece: Int = .max) -> String {
        var hash = SHA256()
        var rest = data
        while !rest.isEmpty {
            hash.update(rest.prefix(piece))
            rest = rest.dropFirst(piece)
        }
        return hash.hexDigest()
    }

    @Test(
        "the vectors of FIPS 180-4",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
                "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
            ),
        ])
    func vectors(text: String, expected: String) {
        #expect(digest(Data(text.utf8)) == expected)
    }

    @Test("a million times the letter a, in pieces of any size", arguments: [1_000, 63, 64, 65, 4_097])
    func million(piece: Int) {
        #expect(
            digest(Data(repeating: 0x61, count: 1_000_000), piece: piece)
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test("every length around the block's end is padded right: equal however it is cut")
    func padding() {
        for count in 0...130 {
            let data = Data.pattern(count)
            #expect(digest(data) == digest(data, piece: 1))
        }
    }

    @Test("the digest may be asked for in between")
    func inBetween() {
        var hash = SHA256()
        hash.update(Data("a".utf8))
        #expect(hash.hexDigest() == hash.hexDigest())
        hash.update(Data("bc".utf8))
        #expect(hash.hexDigest() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test("of a file, and of one that is not there")
    func file() throws {
        let folder = try TemporaryFolder()
        let data = Data.pattern(600_000)
        #expect(try SHA256.hexDigest(of: folder.file("f", data)) == digest(data))
        #expect(throws: POSIXError.self) { try SHA256.hexDigest(of: folder.url.appendingPathComponent("none")) }
    }
}
