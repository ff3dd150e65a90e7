import Foundation
import Testing

@testable import CarriagewayCommand

struct TransferArgumentsTests {
    private func download(_ words: String...) throws(UsageError) -> DownloadPlan? {
        guard case .download(let plan) = try Arguments.parse(["download"] + words) else { return nil }
        return plan
    }

    private func upload(_ words: String...) throws(UsageError) -> UploadPlan? {
        guard case .upload(let plan) = try Arguments.parse(["upload"] + words) else { return nil }
        return plan
    }

    @Test("every option of download")
    func downloadOptions() throws {
        let plan = try #require(
            try download(
                "-i", "urls.txt", "--input", "-", "-d", "out", "--concurrency", "3", "--per-host=2", "--retries", "9",
                "--resume", "--sha256sums", "SUMS", "--limit-rate", "2M", "--json", "--header", "A: b", "http://x/1"))
        #expect(plan.inputs == ["urls.txt", "-"] && plan.fetch.output == "out" && plan.digests == "SUMS")
        #expect(plan.fetch.concurrency == 3 && plan.fetch.perHost == 2 && plan.fetch.retries == 9)
        #expect(plan.resumes && plan.rateLimit == 2 << 20 && plan.fetch.printsJSON)
        #expect(plan.fetch.headers.count == 1 && plan.fetch.targets.map(\.shown) == ["http://x/1"])
    }

    @Test("every option of upload")
    func uploadOptions() throws {
        let plan = try #require(
            try upload("--form", "photo", "--method=PATCH", "--limit-rate=500k", "--", "-file-", "http://x/up"))
        #expect(plan.file == "-file-" && plan.field == "photo" && plan.method == "PATCH")
        #expect(plan.rateLimit == 500 << 10 && plan.fetch.targets.map(\.shown) == ["http://x/up"])
        #expect(try upload("f", "http://x/")?.method == "PUT")
    }

    @Test(
        "what cannot be followed is said in one line",
        arguments: [
            ["download"], ["download", "--method", "PUT", "http://x/"], ["download", "-i"],
            ["download", "--limit-rate", "0", "http://x/"], ["download", "--limit-rate", "fast", "http://x/"],
            ["download", "--limit-rate", "99999999999999999999G", "http://x/"],
            ["download", "--resume=yes", "http://x/"], ["upload"], ["upload", "f"], ["upload", "f", "http://x/", "g"],
            ["upload", "", "http://x/"], ["upload", "f", "ftp://x/"], ["upload", "--resume", "f", "http://x/"],
            ["upload", "--method", "a b", "f", "http://x/"],
        ])
    func wrong(words: [String]) {
        #expect(throws: UsageError.self) { try Arguments.parse(words) }
    }

    @Test("help is help")
    func help() throws {
        #expect(try Arguments.parse(["download", "--help"]) == .help)
        #expect(try Arguments.parse(["upload", "-h"]) == .help)
    }

    @Test("digests are read as sha256sum writes them")
    func digests() throws {
        let digest = String(repeating: "aB", count: 32)
        let read = try DownloadList.digests(in: "\(digest)  one.bin\n\(digest) *dir/two words.bin\n\n")
        #expect(read == ["one.bin": digest.lowercased(), "two words.bin": digest.lowercased()])
        for text in ["x", "\(digest)", "\(digest) one", "\(digest.dropLast())  one"] {
            #expect(throws: DownloadList.Fault.self) { try DownloadList.digests(in: text) }
        }
    }

    @Test("sizes are short")
    func sizes() {
        #expect(
            [0, 999, 1_000, 1_234_567, 5_000_000_000].map(TransferScreen.size) == [
                "0 B", "999 B", "1.0 KB", "1.2 MB", "5.0 GB",
            ])
    }
}
