import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Retry-After")
struct RetryAfterTests {
    private func delay(_ status: Int, _ headers: [String: String]) -> Duration? {
        RetryAfter.delay(in: Made.response(status, headers), now: Made.date)
    }

    @Test("it counts on 408, 413, 425, 429, 503 and 3xx", arguments: [408, 413, 425, 429, 503, 300, 302, 307, 399])
    func statuses(status: Int) {
        #expect(delay(status, ["Retry-After": "7"]) == .seconds(7))
        #expect(delay(status, [:]) == nil)
    }

    @Test("on other statuses it has no meaning", arguments: [200, 400, 404, 421, 444, 500, 502, 504, 599])
    func otherStatuses(status: Int) {
        #expect(delay(status, ["Retry-After": "7"]) == nil)
    }

    @Test(
        "digits are seconds, and saturate",
        arguments: [
            ("0", .zero), ("120", .seconds(120)), (" 5 ", .seconds(5)), ("007", .seconds(7)),
            ("9223372036854775807", .longest), ("99999999999999999999", .longest),
            (String(repeating: "9", count: 5_000), .longest),
        ] as [(String, Duration)])
    func digits(text: String, expected: Duration) {
        #expect(RetryAfter.delay(text, sent: Made.date) == expected)
    }

    @Test(
        "nonsense is ignored",
        arguments: [
            "", "   ", "soon", "-5", "+5", "5.5", "5s", "1e3", "0x10", "120, 120", "٣", "５", "Sun, 06 Nov 1994",
            "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 PST",
            "1994-11-06T08:49:37Z", "\u{0}", "5\u{0}",
        ])
    func nonsense(text: String) {
        #expect(RetryAfter.delay(text, sent: Made.date) == nil)
    }

    @Test(
        "each of the three forms of a date is read",
        arguments: [
            "Sun, 06 Nov 1994 08:49:47 GMT", "Sunday, 06-Nov-94 08:49:47 GMT", "Sun Nov  6 08:49:47 1994",
        ])
    func dates(text: String) {
        #expect(HTTPDate.parse(text) == Made.date.addingTimeInterval(10))
        #expect(RetryAfter.delay(text, sent: Made.date) == .seconds(10))
        #expect(delay(503, ["Retry-After": text]) == .seconds(10))
    }

    @Test("the third form has one blank before a day of two digits, two before one of one")
    func dayOfThirdForm() {
        #expect(HTTPDate.parse("Wed Nov 16 08:49:37 1994") == Made.date.addingTimeInterval(10 * 86_400))
        #expect(HTTPDate.parse("Sun Nov  6 08:49:37 1994") == Made.date)
    }

    @Test("a year of two digits is never more than fifty years ahead")
    func twoDigits() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        let year = calendar.component(.year, from: Date())
        for offset in [-45, -20, 0, 20, 45] {
            let digits = String(format: "%02d", (year + offset) % 100)
            let date = try #require(HTTPDate.parse("Sunday, 06-Nov-\(digits) 08:49:37 GMT"))
            #expect(calendar.component(.year, from: date) == year + offset)
        }
        let far = try #require(HTTPDate.parse(String(format: "Sunday, 06-Nov-%02d 08:49:37 GMT", (year + 55) % 100)))
        #expect(calendar.component(.year, from: far) == year - 45)
    }

    @Test("a date counts from the response's own Date, so a wrong clock does no harm")
    func ownDate() {
        let headers = ["Retry-After": "Sun, 06 Nov 1994 09:00:00 GMT", "Date": "Sun, 06 Nov 1994 08:59:30 GMT"]
        #expect(delay(503, headers) == .seconds(30))
    }

    @Test("without a Date, or with one that is nonsense, it counts from now")
    func noDate() {
        let text = "Sun, 06 Nov 1994 08:50:37 GMT"
        #expect(delay(429, ["Retry-After": text]) == .seconds(60))
        #expect(delay(429, ["Retry-After": text, "Date": "today"]) == .seconds(60))
    }

    @Test("the past is 0, and a far future saturates")
    func pastAndFuture() {
        #expect(delay(503, ["Retry-After": "Sun, 06 Nov 1994 08:49:36 GMT"]) == .zero)
        #expect(delay(503, ["Retry-After": "Sat, 01 Jan 1000 00:00:00 GMT"]) == .zero)
        #expect(delay(503, ["Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"]) == .longest)
    }

    @Test("no text whatever makes it trap")
    func randomTexts() {
        var random = SeededRandom(seed: .random(in: 0...UInt64.max))
        let pieces = [
            "Sun", "Sunday", ",", " ", "  ", "-", ":", "06", "6", "Nov", "94", "1994", "08:49:37", "GMT", "\u{0}", "é",
            "日",
            "99999999999999999999", "-1", "\u{202E}", "\r\n", "'", "%s", "🕰️", "e\u{301}",
        ]
        for _ in 0..<2_000 {
            let text = (0..<random.below(14)).map { _ in pieces[random.below(pieces.count)] }.joined()
            let answer = RetryAfter.delay(text, sent: Made.date)
            #expect(answer.map { $0 >= .zero && $0 <= .longest } ?? true)
        }
    }

    @Test("many threads read dates at the same time")
    func manyThreads() async {
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<200).allSatisfy { _ in
                        HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT") == Made.date
                            && HTTPDate.parse("Sun Nov  6 08:49:37 1994") == Made.date
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
