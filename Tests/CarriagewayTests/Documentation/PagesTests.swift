import Foundation
import Testing

/// What the pages of the documentation show is code of the tests beside this one.
struct PagesTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let catalogue = root.deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/Carriageway/Carriageway.docc")

    private static func files(in folder: URL, _ suffix: String) throws -> [(name: String, text: String)] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(suffix) }.sorted().map {
            ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8))
        }
    }

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    @Test("every block of code in an article compiles and runs in a test")
    func blocks() throws {
        let tests = try Self.files(in: Self.root, ".swift").map { Self.lines($0.text) }
        var count = 0
        for page in try Self.files(in: Self.catalogue, ".md") {
            let parts = page.text.components(separatedBy: "```")
            for (index, part) in parts.enumerated() where index % 2 == 1 && part.hasPrefix("swift\n") {
                let block = Self.lines(part.dropFirst(6))
                let isThere = tests.contains { lines in
                    lines.indices.contains { lines[$0...].starts(with: block) }
                }
                #expect(isThere, "\(page.name): \(part)")
                count += 1
            }
        }
        #expect(count > 20)
    }

    @Test("every right side of a page for those who come from elsewhere compiles and runs in a test")
    func rightSides() throws {
        let tests = try Self.files(in: Self.root, "Tests.swift").filter { $0.name.hasPrefix("ComingFrom") }
        var count = 0
        for page in try Self.files(in: Self.catalogue, ".md") where page.name.hasPrefix("ComingFrom") {
            for line in Self.lines(page.text) where line.hasPrefix("| ") && line.hasSuffix("` |") {
                let code = line.dropLast(3).split(separator: "`").last.map(String.init) ?? ""
                let isThere = tests.contains { $0.text.contains(code) }
                #expect(!code.isEmpty && isThere, "\(page.name): \(code)")
                count += 1
            }
        }
        #expect(count > 45)
    }
}
