import Foundation
import Testing

@testable import Carriageway

@Suite("ResultDelivery")
struct ResultDeliveryTests {
    /// Notes which handlers were called, in order.
    private final class Calls: Sendable {
        let numbers = Locked<[Int]>([])
        func handler(_ number: Int) -> ResultDelivery.Handler {
            { _ in self.numbers.withLock { $0.append(number) } }
        }
    }

    private static let result = Result<NetworkResponse, NetworkError>.failure(.cancelled)

    @Test("handlers wait for the result, and then run in order, once")
    func inOrder() {
        var delivery = ResultDelivery()
        let calls = Calls()
        let isDueEarly = (0..<3).map { delivery.add(calls.handler($0)) }
        #expect(isDueEarly == [false, false, false])
        let isDue = delivery.deliver()
        #expect(isDue)
        for handler in delivery.next() { handler(Self.result) }
        let rest = delivery.next()
        #expect(rest.isEmpty)
        #expect(calls.numbers.withLock { $0 } == [0, 1, 2])
    }

    @Test("one that is added before the result has been delivered does not run ahead of that")
    func addedBeforeDelivery() {
        var delivery = ResultDelivery()
        let isDueEarly = delivery.add(Calls().handler(0))
        let isDue = delivery.deliver()
        #expect(!isDueEarly && isDue)
    }

    @Test("nothing is scheduled where nobody waits, or a run is under way")
    func scheduling() {
        var delivery = ResultDelivery()
        let calls = Calls()
        let empty = delivery.deliver()
        #expect(!empty)
        let first = delivery.add(calls.handler(0))
        let second = delivery.add(calls.handler(1))
        #expect(first && !second)
    }

    @Test("a handler added while the others run is called by the same run, after them")
    func addedMeanwhile() {
        var delivery = ResultDelivery()
        let calls = Calls()
        _ = delivery.deliver()
        _ = delivery.add(calls.handler(0))
        let first = delivery.next()
        let isDue = delivery.add(calls.handler(1))
        #expect(!isDue)
        let second = delivery.next()
        #expect(first.count == 1 && second.count == 1)
        let third = delivery.next()
        #expect(third.isEmpty)
    }

    @Test("a handler added after the run has ended schedules another")
    func addedAfter() {
        var delivery = ResultDelivery()
        let calls = Calls()
        _ = delivery.deliver()
        _ = delivery.add(calls.handler(0))
        _ = delivery.next()
        _ = delivery.next()
        let isDue = delivery.add(calls.handler(1))
        #expect(isDue)
    }

    @Test("those who await are taken once")
    func waiters() {
        var delivery = ResultDelivery()
        let calls = Calls()
        delivery.add(waiter: calls.handler(0))
        delivery.add(waiter: calls.handler(1))
        for waiter in delivery.takeWaiters() { waiter(Self.result) }
        let rest = delivery.takeWaiters()
        #expect(rest.isEmpty)
        #expect(calls.numbers.withLock { $0 } == [0, 1])
    }

    @Test("walked at random, each handler is called once, in the order of adding, and at most one run is under way")
    func randomWalk() {
        RandomWalk.run("delivery") { steps, random in
            let calls = Calls()
            var delivery = ResultDelivery()
            var (added, runs, called, inLife, hasResult) = (0, 0, 0, 0, false)
            for _ in 0..<steps {
                inLife += 1
                switch random.below(4) {
                case 0, 1:
                    if delivery.add(calls.handler(added)) { runs += 1 }
                    added += 1
                case 2 where !hasResult:
                    hasResult = true
                    if delivery.deliver() { runs += 1 }
                default:
                    guard runs > 0 else { continue }
                    let handlers = delivery.next()
                    if handlers.isEmpty { runs -= 1 }
                    for handler in handlers { handler(Self.result) }
                    let numbers = calls.numbers.withLock { numbers in
                        defer { numbers = [] }
                        return numbers
                    }
                    try demand(numbers == Array(called..<called + numbers.count), "called \(numbers)")
                    called += numbers.count
                }
                try demand(runs <= 1, "two runs")
                try demand(called == added || runs == 1 || !hasResult, "a handler waits for nobody")
                if inLife > 100, runs == 0, hasResult {
                    delivery = ResultDelivery()
                    (added, called, inLife, hasResult) = (0, 0, 0, false)
                }
            }
        }
    }
}
