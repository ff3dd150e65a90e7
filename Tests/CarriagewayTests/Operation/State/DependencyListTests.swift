import Foundation
import Testing

@testable import Carriageway

@Suite("DependencyList")
struct DependencyListTests {
    @Test("an empty list has finished, and has no gate")
    func empty() {
        var list = DependencyList()
        #expect(list.areFinished && list.operations.isEmpty)
        let gate = list.settle(ObjectIdentifier(Operation()), isRemoved: false)
        #expect(gate == nil)
    }

    @Test("the first unfinished dependency puts a gate before the dependent, and the last one opens it")
    func gate() throws {
        var list = DependencyList()
        let (first, second) = (Operation(), Operation())
        let (isFirstWatched, newGate) = list.add(first, isFinished: false)
        let (isSecondWatched, noGate) = list.add(second, isFinished: false)
        #expect(isFirstWatched && isSecondWatched && noGate == nil)
        let gate = try #require(newGate)
        let early = list.settle(ObjectIdentifier(second), isRemoved: false)
        #expect(early == nil && !list.areFinished)
        let opened = list.settle(ObjectIdentifier(first), isRemoved: false)
        #expect(opened === gate && list.areFinished)
        let again = list.settle(ObjectIdentifier(first), isRemoved: false)
        #expect(again == nil)
        #expect(list.operations == [first, second])
    }

    @Test("a dependency that has finished is listed, and neither watched nor waited for")
    func finishedBefore() {
        var list = DependencyList()
        let operation = Operation()
        let (isWatched, gate) = list.add(operation, isFinished: true)
        #expect(!isWatched && gate == nil && list.areFinished)
        #expect(list.operations == [operation])
    }

    @Test("adding one twice counts once, finished or not", arguments: [true, false])
    func twice(isFinished: Bool) {
        var list = DependencyList()
        let operation = Operation()
        _ = list.add(operation, isFinished: isFinished)
        let (isWatched, gate) = list.add(operation, isFinished: false)
        #expect(!isWatched && gate == nil && list.areFinished == isFinished)
        #expect(list.operations.count == 1)
    }

    @Test("removing the last unfinished one opens the gate; a finished one is only taken off the list")
    func removed() throws {
        var list = DependencyList()
        let (first, second) = (Operation(), Operation())
        let gate = try #require(list.add(first, isFinished: false).newGate)
        _ = list.add(second, isFinished: true)
        let nothing = list.settle(ObjectIdentifier(second), isRemoved: true)
        #expect(nothing == nil && list.operations == [first])
        let opened = list.settle(ObjectIdentifier(first), isRemoved: true)
        #expect(opened === gate && list.operations.isEmpty)
    }

    @Test("one added after the gate has opened brings a gate of its own")
    func secondGate() throws {
        var list = DependencyList()
        let (first, second) = (Operation(), Operation())
        let firstGate = try #require(list.add(first, isFinished: false).newGate)
        _ = list.settle(ObjectIdentifier(first), isRemoved: false)
        let secondGate = try #require(list.add(second, isFinished: false).newGate)
        #expect(firstGate !== secondGate && !list.areFinished)
        let opened = list.settle(ObjectIdentifier(second), isRemoved: false)
        #expect(opened === secondGate)
    }

    @Test("what is taken leaves the list empty, and who is unfinished is still known")
    func taken() {
        var list = DependencyList()
        let operation = Operation()
        _ = list.add(operation, isFinished: false)
        let taken = list.takeAll()
        #expect(taken == [operation] && list.operations.isEmpty && !list.areFinished)
        let again = list.takeAll()
        #expect(again.isEmpty)
    }

    @Test("walked at random, the gate is there exactly while something is unfinished")
    func randomWalk() {
        RandomWalk.run("dependencies") { steps, random in
            let operations = (0..<8).map { _ in Operation() }
            var list = DependencyList()
            var listed: [Int] = []
            var unfinished: Set<Int> = []
            var gate: Operation?
            for _ in 0..<steps {
                let index = random.below(operations.count)
                let identifier = ObjectIdentifier(operations[index])
                switch random.below(5) {
                case 0, 1:
                    let isFinished = random.once(in: 3)
                    let isNew = !listed.contains(index)
                    let (isWatched, newGate) = list.add(operations[index], isFinished: isFinished)
                    try demand(isWatched == (isNew && !isFinished), "watched: \(isWatched)")
                    try demand((newGate != nil) == (isWatched && gate == nil), "gate: \(newGate != nil)")
                    if isNew { listed.append(index) }
                    if isWatched { unfinished.insert(index) }
                    gate = newGate ?? gate
                default:
                    let isRemoved = random.once(in: 2)
                    let opened = list.settle(identifier, isRemoved: isRemoved)
                    if isRemoved { listed.removeAll { $0 == index } }
                    let isLast = unfinished.remove(index) != nil && unfinished.isEmpty
                    try demand(isLast ? opened === gate : opened == nil, "opened: \(opened != nil)")
                    if isLast { gate = nil }
                }
                try demand(list.areFinished == unfinished.isEmpty, "finished: \(list.areFinished)")
                try demand(list.operations == listed.map { operations[$0] }, "listed")
            }
        }
    }
}
