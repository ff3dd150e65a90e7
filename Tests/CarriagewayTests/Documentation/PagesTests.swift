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

    /// The text without blanks and ends of lines.
    private static func packed(_ text: some StringProtocol) -> String { String(text.filter { !$0.isWhitespace }) }

    @Test("every block of code in an article compiles and runs in a test")
    func blocks() throws {
        // A page is narrower than the tests, so lines may end elsewhere.
        let tests = try Self.files(in: Self.root, ".swift").map { Self.packed($0.text) }
        var count = 0
        for page in try Self.files(in: Self.catalogue, ".md") {
            let parts = page.text.components(separatedBy: "```")
            for (index, part) in parts.enumerated() where index % 2 == 1 && part.hasPrefix("swift\n") {
                let block = Self.packed(part.dropFirst(6))
                let isThere = tests.contains { $0.contains(block) }
                #expect(!block.isEmpty && isThere, "\(page.name): \(part)")
                count += 1
            }
        }
        #expect(count > 20)
    }

    @Test("every line of code in the README stands in one of its tests, in the same order")
    func readme() throws {
        let tests = Self.root.deletingLastPathComponent()
        let text = try String(contentsOf: tests.appendingPathComponent("ReadmeTests.swift"), encoding: .utf8)
        let bodies = text.components(separatedBy: "@Test(").map { Self.packed($0) }
        let readme = tests.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("README.md")
        let parts = try String(contentsOf: readme, encoding: .utf8).components(separatedBy: "```")
        var count = 0
        for (index, part) in parts.enumerated() where index % 2 == 1 && part.hasPrefix("swift\n") {
            let block = Self.lines(part.dropFirst(6))
            // The manifest, and what a file begins with.
            if ["let package", "import "].contains(where: { block[0].hasPrefix($0) }) { continue }
            let isThere = bodies.contains { body in
                var rest = body[...]
                return block.allSatisfy { line in
                    guard let found = rest.range(of: Self.packed(line)) else { return false }
                    rest = rest[found.upperBound...]
                    return true
                }
            }
            #expect(isThere, "README.md: \(part)")
            count += 1
        }
        #expect(count > 15)
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
