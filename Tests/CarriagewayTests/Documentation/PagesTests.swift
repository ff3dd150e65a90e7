import Foundation
import Testing

/// What the pages of the documentation show is code of the tests beside this one.
struct PagesTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let package = root.deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let catalogue = package.appendingPathComponent("Sources/Carriageway/Carriageway.docc")

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

    /// The tests in a text, one by one.
    private static func bodies(of text: String) -> [String] {
        text.components(separatedBy: "@Test(").map { packed($0) }
    }

    /// Whether one of the tests has all lines of the block in their order, whatever it has between them.
    private static func stands(_ block: [String], in bodies: [String]) -> Bool {
        bodies.contains { body in
            var rest = body[...]
            return block.allSatisfy { line in
                guard let found = rest.range(of: packed(line)) else { return false }
                rest = rest[found.upperBound...]
                return true
            }
        }
    }

    @Test("every line of code in the README stands in one of its tests, in the same order")
    func readme() throws {
        let tests = Self.root.deletingLastPathComponent().appendingPathComponent("ReadmeTests.swift")
        let bodies = Self.bodies(of: try String(contentsOf: tests, encoding: .utf8))
        let parts = try String(contentsOf: Self.package.appendingPathComponent("README.md"), encoding: .utf8)
            .components(separatedBy: "```")
        var count = 0
        for (index, part) in parts.enumerated() where index % 2 == 1 && part.hasPrefix("swift\n") {
            let block = Self.lines(part.dropFirst(6))
            // The manifest, and what a file begins with.
            if ["let package", "import "].contains(where: { block[0].hasPrefix($0) }) { continue }
            #expect(Self.stands(block, in: bodies), "README.md: \(part)")
            count += 1
        }
        #expect(count > 15)
    }

    @Test("every line of code in the comments of the sources stands in a test, in the same order")
    func comments() throws {
        let bodies = try Self.files(in: Self.root, ".swift").flatMap { Self.bodies(of: $0.text) }
        var count = 0
        for folder in ["Carriageway", "CarriagewayTesting"] {
            let sources = Self.package.appendingPathComponent("Sources/\(folder)")
            for case let file as URL in FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
                ?? .init()
            where file.pathExtension == "swift" {
                let comments = Self.lines(try String(contentsOf: file, encoding: .utf8))
                    .filter { $0.hasPrefix("///") }.map { String($0.dropFirst(3)) }
                let parts = comments.joined(separator: "\n").components(separatedBy: "```")
                for (index, part) in parts.enumerated() where index % 2 == 1 && part.hasPrefix("swift\n") {
                    let block = Self.lines(part.dropFirst(6))
                    #expect(!block.isEmpty && Self.stands(block, in: bodies), "\(file.lastPathComponent): \(part)")
                    count += 1
                }
            }
        }
        #expect(count > 25)
    }

    @Test("what remains on Linux is the same in the article and in the README")
    func linux() throws {
        func table(_ file: URL) throws -> [String] {
            let lines = Self.lines(
                try String(contentsOf: file, encoding: .utf8).replacingOccurrences(of: " (`.ci/soak`)", with: ""))
            return Array(lines.drop { !$0.hasPrefix("| on Linux") }.prefix { $0.hasPrefix("|") })
        }
        let article = try table(Self.catalogue.appendingPathComponent("Linux.md"))
        #expect(try article.count > 10 && article == table(Self.package.appendingPathComponent("README.md")))
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
