import Foundation
import Testing

@testable import CarriagewayTesting

@Suite("The parts of the server")
struct PartsTests {
    @Test("a target is taken apart into path and query")
    func targets() {
        #expect(RequestTarget("/a").path == "/a")
        #expect(RequestTarget("/a%20b/%C3%BC?x").path == "/a b/ü")
        #expect(RequestTarget("/bad%zz").path == "/bad%zz")
        #expect(RequestTarget("http://host:80/a?b=c").path == "/a")
        #expect(RequestTarget("http://host").path == "/")
        #expect(RequestTarget("http://host?b=c").path == "/")
        #expect(RequestTarget("*").path == "*")
        #expect(RequestTarget("/a#b").path == "/a")
        #expect(RequestTarget("/?").query == [:])
        let query = RequestTarget("/?a=1&b=x+y%26&a=2&flag&=empty&c=d=e&bad=%zz").query
        #expect(query == ["a": "2", "b": "x y&", "flag": "", "": "empty", "c": "d=e", "bad": "%zz"])
    }

    @Test("dates are written as HTTP has them, leap years included")
    func dates() {
        var date = HTTPDate()
        #expect(date.string(at: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(date.string(at: 0) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(date.string(at: 951_782_400) == "Tue, 29 Feb 2000 00:00:00 GMT")
        #expect(date.string(at: 4_107_542_399) == "Sun, 28 Feb 2100 23:59:59 GMT")
        #expect(date.string(at: -1) == "Wed, 31 Dec 1969 23:59:59 GMT")
    }

    @Test("timers come out in the order of their deadlines, equal ones in the order they went in")
    func timers() {
        let start = ContinuousClock.now
        var random = SplitMix(state: 1)
        var timers = TimerQueue<(seconds: Int, order: Int)>()
        for order in 0..<500 {
            let seconds = Int.random(in: 0..<50, using: &random)
            timers.add((seconds, order), at: start + .seconds(seconds))
        }
        #expect(timers.popDue(at: start - .seconds(1)) == nil)
        var out: [(seconds: Int, order: Int)] = []
        while let next = timers.popDue(at: start + .seconds(25)) { out.append(next) }
        #expect(out.allSatisfy { $0.seconds <= 25 })
        while let next = timers.popDue(at: start + .seconds(100)) { out.append(next) }
        #expect(out.count == 500)
        #expect(zip(out, out.dropFirst()).allSatisfy { $0 < $1 })
        #expect(timers.nextDeadline == nil)
    }

    @Test("the most specific route wins, and HEAD takes that of GET")
    func routes() {
        var table = RouteTable()
        func name(_ method: String, _ path: String) -> String? {
            guard case .response(let response) = table.match(method: method, path: path) else { return nil }
            return String(decoding: response.body, as: UTF8.self)
        }
        func add(_ method: String?, _ pattern: String, _ name: String) {
            _ = table.add(.script([.text(name)]), method: method, pattern: pattern)
        }
        #expect(name("GET", "/") == nil)
        add(nil, "*", "all")
        add(nil, "/users/*", "users")
        add(nil, "/users/admin/*", "admin")
        add("GET", "/users/*", "get users")
        add("POST", "/users/1", "post one")
        add("GET", "/head", "get")
        add(nil, "/sp%20ace", "space")
        #expect(name("GET", "/") == "all")
        #expect(name("PUT", "/users/1") == "users")
        #expect(name("GET", "/users/1") == "get users")
        #expect(name("GET", "/users/admin/x") == "admin")
        #expect(name("POST", "/users/1") == "post one")
        #expect(name("HEAD", "/head") == "get")
        #expect(name("GET", "/sp ace") == "space")
        add("GET", "/users/*", "replaced")
        add("HEAD", "/head", "head")
        #expect(name("GET", "/users/") == "replaced")
        #expect(name("HEAD", "/head") == "head")
    }

    @Test("a wait that is cancelled before or after it began throws CancellationError")
    func cancelledWaits() async throws {
        let gate = LoopbackServer.Gate()
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await gate.waitForArrivals(1)
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        let late = Task { try await gate.waitForArrivals(1) }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
    }

    @Test("an answer cut in chunks announces the chunk that it cuts")
    func truncatedChunks() {
        func bytes(_ response: LoopbackServer.Response) -> String {
            var answer = Answer(response, to: .init(date: "now"))
            var text = ""
            while true {
                switch answer.next() {
                case .send(let data): text += String(decoding: data, as: UTF8.self)
                case .wait: text += "~"
                case .hold: text += "|"
                case .end(let ending): return String(text.split(separator: "\r\n\r\n", maxSplits: 1)[1]) + "\(ending)"
                }
            }
        }
        let response = LoopbackServer.Response.text("abcdef").chunked(interval: .seconds(1), size: 3)
        #expect(bytes(response) == "3\r\nabc\r\n~3\r\ndef\r\n0\r\n\r\nkeepAlive")
        #expect(bytes(response.truncated(after: 4, then: .stall)) == "3\r\nabc\r\n~3\r\ndstall")
        #expect(bytes(response.truncated(after: 3, then: .close)) == "3\r\nabc\r\nclose")
        #expect(bytes(.text("abc").truncated(after: 1, then: .reset)) == "areset")
        #expect(bytes(.text("abcd").dripped(size: 3, interval: .seconds(1))) == "abc~dkeepAlive")
    }
}
