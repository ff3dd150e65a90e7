import Foundation
import Testing

@testable import Carriageway

/// The part of a file that has come.
struct PartFileTests {
    private let folder: TemporaryFolder

    @Test("a state that cannot be put in place leaves nothing")
    func noState() throws {
        let target = folder.url.appendingPathComponent("f")
        let state = PartFile.urls(for: target).state
        try FileManager.default.createDirectory(at: state, withIntermediateDirectories: false)
        var part = try PartFile(for: target)
        #expect(throws: POSIXError.self) { try part.begin(at: 0, state: PartState(validator: "\"v1\"")) }
        part.letGo(keeping: false)
        #expect(folder.names == [state.lastPathComponent])
    }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func digest(_ text: String) -> String {
        var hash = SHA256()
        hash.update(Data(text.utf8))
        return hash.hexDigest()
    }

    @Test("the digest is made while bytes come; one that is gone on with is read, and one that starts over begins anew")
    func digest() throws {
        var part = try PartFile(for: folder.url.appendingPathComponent("f"), digests: true)
        defer { part.letGo(keeping: false) }
        try part.begin(at: 0, state: nil)
        try part.append(Data("first ".utf8))
        try part.append(Data("second".utf8))
        // What is on the disk is not looked at.
        let other = try FileHandle(forWritingTo: part.url)
        try other.write(contentsOf: Data("FIRST ".utf8))
        #expect(try part.hexDigest() == digest("first second"))
        try part.begin(at: 6, state: nil)
        try part.append(Data("other".utf8))
        #expect(try part.hexDigest() == digest("FIRST other"))
        try part.begin(at: 0, state: nil)
        try part.append(Data("third".utf8))
        #expect(try part.hexDigest() == digest("third"))
    }
}
