#if canImport(FoundationNetworking)
    import CarriagewayTesting
    import Foundation
    import FoundationNetworking
    import Testing

    @testable import Carriageway

    /// The sessions of Foundation for what goes over a connection of its own.
    struct FreshLinesTests {
        private let server: LoopbackServer
        private let ends = TaskEnds()
        private let made = Counter()
        private let lines: FreshLines
        private let few: FreshLines

        init() throws {
            server = try LoopbackServer()
            server.on("/closing", .text("x").closing)
            server.on("/kept", .text("x"))
            let (ends, made) = (ends, made)
            let make: @Sendable (Int, @escaping URLSessionTasks.Ended) -> URLSessionLine = { number, ended in
                made.increment()
                return URLSessionLine(
                    number: number, configuration: .ephemeral, serverTrust: .system, events: ends, ended: ended)
            }
            lines = FreshLines(make: make)
            few = FreshLines(mostBusy: 2, make: make)
        }

        private func message(_ path: String) -> URLSessionMessage {
            var request = URLRequest(url: server.url(path))
            request.timeoutInterval = 600
            request.httpMethod = "POST"
            return URLSessionMessage(request: request, body: .data(Data("x".utf8)))
        }

        @Test("a line is used again once the server has said that it ends the connection, and no other is")
        func reuse() async throws {
            for (index, path) in ["/closing", "/closing", "/kept", "/closing", "/closing"].enumerated() {
                #expect(lines.start(message(path)) { _ in true })
                await ends.count.wait(for: index + 1)
                #expect(made.value == (index < 3 ? 1 : 2))
            }
            #expect(Set(server.requests.map(\.connection)).count == 5)
            lines.invalidate()
        }

        @Test(
            "a line is not used again where libcurl takes what a server says for the wish to keep the connection",
            arguments: [
                "1.0 200 OK\r\nConnection: close, keep-alive",
                "1.0 200 OK\r\nConnection: close\r\nConnection: keep-alive",
                "1.1 200 OK\r\nConnection: x,\r\n close",
            ])
        func keptAfterAll(head: String) async throws {
            let answer = "HTTP/\(head)\r\nContent-Length: 2\r\n\r\nok"
            server.on("/said", .raw(Data(answer.utf8), thenClose: false))
            for count in 1...3 {
                #expect(lines.start(message("/said")) { _ in true })
                await ends.count.wait(for: count)
            }
            #expect(Set(server.requests.map(\.connection)).count == 3)
            lines.invalidate()
        }

        @Test("each that is on the wire has its own, and an identifier of its own; one that is refused leaves its line")
        func together() async throws {
            let gate = LoopbackServer.Gate()
            server.on("/held", .text("x").closing.held(by: gate))
            #expect(lines.start(message("/held")) { _ in false })
            let identifiers = Locked<Set<Int>>([])
            for _ in 0..<5 {
                let isStarted = lines.start(message("/held")) { identifier in
                    identifiers.withLock { $0.insert(identifier).inserted }
                }
                #expect(isStarted)
            }
            try await server.waitForRequests(5)
            #expect(made.value == 5)
            for identifier in identifiers.withLock({ $0 }) { #expect(lines[identifier] != nil) }
            gate.open()
            await ends.count.wait(for: 5)
            #expect(ends.errors.withLock { $0.allSatisfy { $0 == nil } })
            for identifier in identifiers.withLock({ $0 }) { #expect(lines[identifier] == nil) }
            lines.invalidate()
        }

        @Test(
            "what is more than there may be lines shares one, and each ends; later requests have lines of their own again"
        )
        func many() async throws {
            let gate = LoopbackServer.Gate()
            server.on("/held", .text("x").closing.held(by: gate))
            let identifiers = Locked<Set<Int>>([])
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                let isStarted = few.start(message("/held")) { identifier in
                    identifiers.withLock { $0.insert(identifier).inserted }
                }
                #expect(isStarted)
            }
            #expect(!identifiers.withLock { $0.contains { few[$0] == nil } })
            #expect(Set(identifiers.withLock { $0.map { few[$0]?.number } }).count == 3)
            gate.open()
            await ends.count.wait(for: 8)
            #expect(ends.errors.withLock { $0.allSatisfy { $0 == nil } })
            let before = made.value
            for count in 9...10 {
                #expect(few.start(message("/closing")) { _ in true })
                await ends.count.wait(for: count)
            }
            #expect(made.value == before)
            few.invalidate()
            #expect(!few.start(message("/closing")) { _ in true })
        }

        @Test("once invalidated there are none; what is on the wire ends as it does")
        func invalidated() async throws {
            let gate = LoopbackServer.Gate()
            server.on("/held", .text("x").held(by: gate))
            #expect(lines.start(message("/held")) { _ in true })
            try await server.waitForRequests(1)
            lines.invalidate()
            #expect(!lines.start(message("/kept")) { _ in true })
            gate.open()
            await ends.count.wait(for: 1)
            #expect(ends.errors.withLock { $0.count == 1 && $0[0] == nil })
        }

        @Test("starting against invalidating: a task that was started ends, one that was not has no end")
        func race() async throws {
            for _ in 0..<200 {
                let test = try FreshLinesTests()
                let started = Locked(0)
                DispatchQueue.concurrentPerform(iterations: 3) { index in
                    if index == 1 { return test.lines.invalidate() }
                    if test.lines.start(test.message("/closing"), claim: { _ in true }) { started.withLock { $0 += 1 } }
                }
                let count = started.withLock { $0 }
                await test.ends.count.wait(for: count)
                #expect(test.ends.errors.withLock { $0.count } == count)
                #expect(!test.lines.start(test.message("/closing")) { _ in true })
            }
        }
    }
#endif
