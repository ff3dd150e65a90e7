import Dispatch
import Foundation
import Testing

@testable import Carriageway

@Suite("SystemTime")
struct SystemTimeTests {
    /// Notes what has fired, and tells when something with a given number has.
    private final class Fired: Sendable {
        private let numbers = Locked<[Int]>([])

        var all: [Int] { numbers.withLock { $0 } }
        func note(_ number: Int) { numbers.withLock { $0.append(number) } }
    }

    /// Waits until a timer at `instant` has fired, and with it all that were due before.
    private func passing(_ instant: ContinuousClock.Instant, on time: SystemTime) async {
        await withCheckedContinuation { continuation in
            _ = time.schedule(at: instant) { continuation.resume() }
        }
    }

    /// Keeps the timers from firing until `body` has set them all.
    private func withTimersHeld(of time: SystemTime, _ body: () -> Void) async {
        let gate = DispatchSemaphore(value: 0)
        await withCheckedContinuation { continuation in
            _ = time.schedule(at: time.now) {
                continuation.resume()
                gate.wait()
            }
        }
        body()
        gate.signal()
    }

    @Test("a timer fires once, at its instant or after, and not inside schedule")
    func firesOnce() async {
        let time = SystemTime()
        let fired = Fired()
        let instant = time.now.advanced(by: .milliseconds(5))
        await withCheckedContinuation { continuation in
            _ = time.schedule(at: instant) {
                fired.note(time.now >= instant ? 1 : 0)
                continuation.resume()
            }
        }
        await passing(time.now.advanced(by: .milliseconds(5)), on: time)
        #expect(fired.all == [1])
    }

    @Test("an instant that is past fires as soon as possible")
    func past() async {
        let time = SystemTime()
        await passing(time.now.advanced(by: .seconds(-1_000_000)), on: time)
    }

    @Test("timers fire in order of their instants, and of their setting within one")
    func order() async {
        let time = SystemTime()
        let fired = Fired()
        var random = SeededRandom(seed: 3)
        let start = time.now
        let delays = (0..<2_000).map { _ in random.below(40) }
        await withTimersHeld(of: time) {
            for (number, delay) in delays.enumerated() {
                _ = time.schedule(at: start.advanced(by: .milliseconds(delay))) { fired.note(number) }
            }
        }
        await passing(start.advanced(by: .milliseconds(41)), on: time)
        let expected = delays.indices.sorted { (delays[$0], $0) < (delays[$1], $1) }
        #expect(fired.all == expected)
    }

    @Test("a timer that is set for earlier than the one that is awaited fires first")
    func earlier() async {
        let time = SystemTime()
        let fired = Fired()
        let late = time.schedule(at: time.now.advanced(by: .seconds(3_600))) { fired.note(0) }
        await passing(time.now.advanced(by: .milliseconds(2)), on: time)
        #expect(fired.all.isEmpty)
        late.cancel()
    }

    @Test("a timer that is cancelled does not fire, and cancelling again is harmless")
    func cancelled() async {
        let time = SystemTime()
        let fired = Fired()
        var timers: [ScheduledTimer] = []
        let instant = time.now.advanced(by: .milliseconds(1))
        await withTimersHeld(of: time) {
            timers = (0..<1_000).map { number in time.schedule(at: instant) { fired.note(number) } }
            for number in 0..<1_000 where number % 3 != 0 {
                timers[number].cancel()
                timers[number].cancel()
            }
        }
        await passing(instant, on: time)
        #expect(fired.all == (0..<1_000).filter { $0 % 3 == 0 })
        for timer in timers { timer.cancel() }
    }

    @Test("a timer that is cancelled lets go of what its action holds, though its instant is far")
    func releases() {
        final class Held: Sendable {}
        let time = SystemTime()
        weak var weakHeld: Held?
        let timer: ScheduledTimer
        do {
            let held = Held()
            weakHeld = held
            timer = time.schedule(at: time.now.advanced(by: .seconds(86_400))) { _ = held }
        }
        #expect(weakHeld != nil)
        timer.cancel()
        #expect(weakHeld == nil)
    }

    @Test("an instant a hundred years away does no harm")
    func farAway() async {
        let time = SystemTime()
        let timers = (0..<100).map { time.schedule(at: time.now.advanced(by: .longest - .seconds($0))) {} }
        await passing(time.now, on: time)
        for timer in timers { timer.cancel() }
    }

    @Test("an action may set the next timer, and cancel another that is due with it")
    func nested() async {
        let time = SystemTime()
        let fired = Fired()
        await withCheckedContinuation { continuation in
            _ = time.schedule(at: time.now) {
                fired.note(1)
                _ = time.schedule(at: time.now) {
                    fired.note(2)
                    continuation.resume()
                }
            }
        }
        #expect(fired.all == [1, 2])
    }

    @Test("many threads set and cancel timers; those that are left all fire")
    func manyThreads() async {
        let time = SystemTime()
        let fired = Fired()
        let start = time.now
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for index in 0..<500 {
                        let number = worker * 500 + index
                        let isFar = number % 2 == 0
                        let instant = start.advanced(by: isFar ? .seconds(3_600) : .milliseconds(index % 20))
                        let timer = time.schedule(at: instant) { fired.note(number) }
                        if isFar { timer.cancel() }
                    }
                }
            }
        }
        await passing(start.advanced(by: .milliseconds(21)), on: time)
        #expect(fired.all.sorted() == (0..<4_000).filter { $0 % 2 == 1 })
    }
}
