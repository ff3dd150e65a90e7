import Foundation
import Testing

@testable import Carriageway

struct ContentDispositionTests {
    @Test(
        "the name is found (RFC 6266)",
        arguments: [
            ("attachment; filename=report.pdf", "report.pdf"),
            ("attachment; filename=\"a; b=\\\"c\\\".txt\"", "a; b=\"c\".txt"),
            ("inline;FILENAME = \"x.txt\" ; size=3", "x.txt"),
            ("attachment; filename=\"fallback\"; filename*=UTF-8''na%C3%AFve%20file", "naïve file"),
            ("attachment; filename*=utf-8'de'%e2%82%ac.txt; filename=e.txt", "€.txt"),
            ("attachment; filename*=ISO-8859-1''%E4.txt; filename=plain.txt", "plain.txt"),
            ("attachment; filename*=UTF-8''%FF; filename=plain.txt", "plain.txt"),
            ("attachment; filename=\"gr\u{C3}\u{B6}\u{C3}\u{9F}e\"", "größe"),
            ("attachment; filename=one; filename=two", "one"),
        ])
    func names(header: String, name: String) {
        #expect(ContentDisposition.fileName(in: header) == name)
    }

    @Test(
        "where there is none there is none",
        arguments: [nil, "", "attachment", "attachment; filename=\"\"", "inline; x=y"])
    func none(header: String?) {
        #expect(ContentDisposition.fileName(in: header) == nil)
    }

    @Test("no random header makes it trap")
    func random() {
        var generator = SystemRandomNumberGenerator()
        let letters = Array("filename*=\";'%\\ utf-8a\u{E4}")
        for _ in 0..<5_000 {
            let length = Int.random(in: 0...40, using: &generator)
            _ = ContentDisposition.fileName(in: String((0..<length).map { _ in letters.randomElement() ?? "a" }))
        }
    }
}
