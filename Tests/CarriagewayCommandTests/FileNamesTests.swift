import Foundation
import Testing

@testable import Carriageway
@testable import CarriagewayCommand

@Suite("Names of files")
struct FileNamesTests {
    private func names(_ urls: String...) throws -> [String] {
        var names = FileNames()
        return try urls.map { names.next(for: try #require(URL(string: $0))) }
    }

    @Test(
        "the last part of the path is the name",
        arguments: [
            ("http://h/a/report.pdf", "report.pdf"),
            ("http://h/a/report.pdf?x=../../y#z", "report.pdf"),
            ("http://h/a%20b%C3%BC.txt", "a bü.txt"),
            ("http://h", "index"),
            ("http://h/", "index"),
            ("http://h/a/", "index"),
            ("http://h/?q", "index"),
        ])
    func last(url: String, name: String) throws {
        #expect(try names(url) == [name])
    }

    @Test(
        "no path leads out of the directory, and no name is hidden",
        arguments: [
            ("http://h/..%2f..%2fetc", "_._.._etc"),
            ("http://h/..%2F..%2Fetc%2Fpasswd", "_._.._etc_passwd"),
            ("http://h/..%5c..%5cetc", "_._.._etc"),
            ("http://h/..", "index"),
            ("http://h/.", "index"),
            ("http://h/%2e%2e", "index"),
            ("http://h/%2e%2e/%2e%2e/etc", "etc"),
            ("http://h/%2fetc", "_etc"),
            ("http://h/a%00b%0Ac", "a_b_c"),
            ("http://h/.bashrc", "_bashrc"),
            ("http://h/-rf", "_rf"),
            ("http://h/a.txt.%20", "a.txt"),
            ("http://h/C:%5Cx", "C__x"),
            ("http://h/%FF%FE", "%FF%FE"),
        ])
    func hostile(url: String, name: String) throws {
        #expect(try names(url) == [name])
    }

    @Test("equal names are numbered before the extension, also where only case or Unicode form differs")
    func numbered() throws {
        #expect(
            try names("http://h/a.txt", "http://i/a.txt", "http://h/A.TXT", "http://h/a-2.txt", "http://h/x/a.txt")
                == ["a.txt", "a-2.txt", "A-3.TXT", "a-2-2.txt", "a-4.txt"])
        #expect(try names("http://h/%C3%BC", "http://h/u%CC%88").last == "ü-2")
        #expect(try names("http://h", "http://h/") == ["index", "index-2"])
    }

    @Test("a long name is cut, keeps its extension and stays apart from others")
    func long() throws {
        let long = String(repeating: "%C3%BC", count: 3_000)
        let names = try names("http://h/\(long).html", "http://h/\(long)x.html", "http://h/a.\(long)")
        #expect(names.allSatisfy { $0.utf8.count <= 200 })
        #expect(names[0].hasSuffix("ü.html"))
        #expect(names[1].hasSuffix("ü-2.html"))
        #expect(names[2].hasPrefix("a.ü"))
    }

    @Test("a thousand URLs of any bytes have a thousand safe names")
    func random() throws {
        var generator = SystemRandomNumberGenerator()
        var names = FileNames()
        var seen: Set<String> = []
        for _ in 0..<1_000 {
            let bytes = (0..<Int.random(in: 0...3)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let path = bytes.map { String(format: "%%%02x", $0) }.joined()
            let name = names.next(for: try #require(URL(string: "http://h/\(path)")))
            #expect(seen.insert(name.lowercased()).inserted)
            #expect(!name.isEmpty && !name.hasPrefix(".") && !name.contains("/") && !name.utf8.contains(0))
            #expect(name.utf8.count <= 200)
        }
    }
}
