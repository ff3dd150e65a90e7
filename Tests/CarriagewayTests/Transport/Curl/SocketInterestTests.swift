#if os(Linux)
    import Testing

    @testable import Carriageway

    @Suite("SocketInterest")
    struct SocketInterestTests {
        @Test("a connection stays watched between two requests, at no cost")
        func keptAlive() {
            var interest = SocketInterest()
            interest.opened(7)
            #expect(interest.want(.write, on: 7) == .watch(.write))
            #expect(interest.want(.read, on: 7) == .watch(.read))
            for _ in 0..<3 {
                #expect(interest.want([], on: 7) == .none)
                #expect(interest.want(.read, on: 7) == .none)
                #expect(interest.fired(.read, on: 7) == (.read, .none))
            }
        }

        @Test("what happens on a connection that nobody waits for ends the watch; the next request begins it anew")
        func unwanted() {
            var interest = SocketInterest()
            interest.opened(3)
            _ = interest.want(.read, on: 3)
            _ = interest.want([], on: 3)
            #expect(interest.fired([.read, .write], on: 3) == ([], .watch([])))
            #expect(interest.fired(.read, on: 3) == ([], .none))
            #expect(interest.want(.read, on: 3) == .watch(.read))
        }

        @Test("being writable is never watched without need: it would wake the thread without end")
        func writable() {
            var interest = SocketInterest()
            interest.opened(4)
            #expect(interest.want([.read, .write], on: 4) == .watch([.read, .write]))
            #expect(interest.want(.read, on: 4) == .watch(.read))
            #expect(interest.want([.read, .write], on: 4) == .watch([.read, .write]))
            #expect(interest.want([], on: 4) == .watch([]))
        }

        @Test("a paused upload that could be read ends the watch for reading only")
        func partly() {
            var interest = SocketInterest()
            interest.opened(4)
            _ = interest.want([.read, .write], on: 4)
            #expect(interest.want(.write, on: 4) == .none)
            #expect(interest.fired(.read, on: 4) == ([], .watch(.write)))
            #expect(interest.fired(.write, on: 4) == (.write, .none))
        }

        @Test("sockets that are none of the connections' are followed to the letter")
        func others() {
            var interest = SocketInterest()
            #expect(interest.want(.read, on: 9) == .watch(.read))
            #expect(interest.want(.read, on: 9) == .none)
            #expect(interest.want([], on: 9) == .watch([]))
            #expect(interest.want(.read, on: 9) == .watch(.read))
        }

        @Test("a number that is used again begins afresh, and unknown ones do no harm")
        func reused() {
            var interest = SocketInterest()
            interest.closed(1_000)
            #expect(interest.fired(.read, on: 1_000) == ([], .none))
            interest.opened(5)
            _ = interest.want(.read, on: 5)
            _ = interest.want([], on: 5)
            interest.closed(5)
            interest.opened(5)
            #expect(interest.want(.read, on: 5) == .watch(.read))
        }
    }
#endif
