import Foundation
import Testing

@testable import CarriagewayCommand

@Suite("The command line")
struct ArgumentsTests {
    private func plan(_ words: String...) throws -> FetchPlan {
        guard case .fetch(let plan) = try Arguments.parse(words) else { throw UsageError("not a fetch") }
        return plan
    }

    @Test("no words ask for the story")
    func story() throws {
        #expect(try Arguments.parse([]) == .story)
    }

    @Test("help and version settle everything that comes after them")
    func settled() throws {
        #expect(try Arguments.parse(["--help"]) == .help)
        #expect(try Arguments.parse(["-h"]) == .help)
        #expect(try Arguments.parse(["--json", "--help", "--nonsense"]) == .help)
        #expect(try Arguments.parse(["--version", "nonsense"]) == .version)
    }

    @Test("a URL alone is fetched with the defaults")
    func defaults() throws {
        let plan = try plan("https://example.com/a?b#c")
        #expect(plan.targets.map(\.url.absoluteString) == ["https://example.com/a?b#c"])
        #expect(plan.concurrency == 8)
        #expect(plan.perHost == 6)
        #expect(plan.retries == 3)
        #expect(plan.timeout == nil)
        #expect(plan.headers.isEmpty)
        #expect(plan.output == nil)
        #expect(!plan.printsJSON)
    }

    @Test("options stand anywhere, their value in the next word or after an equals sign")
    func options() throws {
        let plan = try plan(
            "--concurrency", "3", "http://a/", "--per-host=2", "--retries=0", "--timeout", "1.5", "HTTP://b",
            "--header", "Accept:  text/html ", "--header=X-Key: a=b: c", "--output=--odd", "--json")
        #expect(plan.targets.map(\.shown) == ["http://a/", "HTTP://b"])
        #expect(plan.concurrency == 3)
        #expect(plan.perHost == 2)
        #expect(plan.retries == 0)
        #expect(plan.timeout == .seconds(1.5))
        #expect(
            plan.headers == [
                FetchPlan.Header(name: "Accept", value: "text/html"), FetchPlan.Header(name: "X-Key", value: "a=b: c"),
            ])
        #expect(plan.output == "--odd")
        #expect(plan.printsJSON)
    }

    @Test("after two dashes nothing is an option")
    func endOfOptions() throws {
        #expect(try plan("--json", "--", "http://a").targets.count == 1)
        #expect(usageFault(["--", "--json"])?.contains("no scheme") == true)
    }

    @Test("a timeout may be as long as a number can be")
    func hugeTimeout() throws {
        #expect(try plan("--timeout", "1e300", "http://a").timeout == .seconds(1e9))
    }

    @Test(
        "what cannot be followed is named",
        arguments: [
            (["--bogus", "http://a"], "unknown option '--bogus'"),
            (["-x"], "unknown option '-x'"),
            (["--concurrency"], "--concurrency needs a value"),
            (["--output", "--json", "http://a"], "--output needs a value"),
            (["--concurrency", "0", "http://a"], "--concurrency needs a whole number from 1 to 1000, not '0'"),
            (["--per-host", "-2", "http://a"], "--per-host needs a whole number from 1 to 1000, not '-2'"),
            (["--retries", "-1", "http://a"], "--retries needs a whole number from 0 to 1000, not '-1'"),
            (["--retries=1.5"], "--retries needs a whole number from 0 to 1000, not '1.5'"),
            (["--retries=99999999999999999999"], "'99999999999999999999'"),
            (["--timeout", "soon"], "--timeout needs a number of seconds above 0, not 'soon'"),
            (["--timeout", "-1"], "--timeout needs a number of seconds above 0, not '-1'"),
            (["--timeout", "0"], "not '0'"),
            (["--timeout", "nan"], "not 'nan'"),
            (["--timeout", "inf"], "not 'inf'"),
            (["--timeout="], "not ''"),
            (["--json=yes"], "--json takes no value"),
            (["--output="], "--output needs a directory"),
            (["--json"], "no URL is given"),
            (["--"], "no URL is given"),
            ([""], "URL 1 is empty"),
            (["example.com"], "'example.com' is no option and has no scheme"),
            (["localhost:8080/x"], "'localhost' is no option and has no scheme"),
            (["-"], "'-' is no option and has no scheme"),
            (["://host"], "no scheme"),
            (["ftp://host/"], "the scheme 'ftp' is not http or https"),
            (["http://"], "'http://' is not a URL with a host"),
            (["http:///path"], "is not a URL with a host"),
            (["http://host:99999/"], "a port that exists"),
            (["http://host:x/"], "a port that exists"),
            (["http://a", "http://b c/"], "URL 2 has spaces or control characters"),
        ] as [([String], String)])
    func faults(words: [String], text: String) {
        #expect(usageFault(words)?.contains(text) == true, "\(usageFault(words) ?? "no fault")")
    }

    @Test(
        "the value of a header is never shown",
        arguments: [
            ["--header", "secret"], ["--header", ": secret"], ["--header", "Na me: secret"],
            ["--header", "Name: secret\r\nX: secret"], ["--header=Näme: secret"], ["--heder=Name: secret"],
            ["--heder Name: secret"], ["-HName: secret"], ["Name: secret"], ["Name:secret"],
            ["http://user:secret@host:99999/"],
        ])
    func secrets(words: [String]) throws {
        let text = try #require(usageFault(words))
        #expect(!text.contains("secret"))
    }

    @Test("a message is one short line, whatever was given")
    func oneLine() throws {
        let text = try #require(
            usageFault(["--retries", "a\nb\u{2028}c\u{1B}[31m" + String(repeating: "x", count: 500)]))
        #expect(!text.contains { $0.isNewline })
        #expect(!text.contains("\u{1B}"))
        #expect(text.count < 200)
    }

    @Test("the password of a URL is used, but not shown")
    func password() throws {
        let target = try #require(try plan("http://user:pa:ss@host/@x:y").targets.first)
        #expect(target.shown == "http://user:***@host/@x:y")
        #expect(target.url.password == "pa:ss")
        #expect(try plan("http://host/a:b@c").targets.first?.shown == "http://host/a:b@c")
    }
}
