import Foundation
import Testing

@testable import Carriageway

@Suite("WaitingRoom")
struct WaitingRoomTests {
    private func request() -> NetworkOperation { NetworkOperation(Made.request()) }

    @Test("a request waits here and leaves once; another operation does not wait")
    func oneLeave() {
        var room = WaitingRoom()
        let (request, other) = (request(), Operation())
        let isRequestIn = room.enter(request), isOtherIn = room.enter(other)
        #expect(isRequestIn && !isOtherIn)
        #expect(room.operations == [request])
        let first = room.take(request, isCancelled: false)
        let second = room.take(request, isCancelled: true)
        #expect(first && !second && room.operations.isEmpty)
    }

    @Test("one that never came does not leave")
    func stranger() {
        var room = WaitingRoom()
        let left = room.take(request(), isCancelled: true)
        #expect(!left)
    }

    @Test("guests are told in order of arrival")
    func order() {
        var room = WaitingRoom()
        let requests = (0..<50).map { _ in request() }
        for request in requests { _ = room.enter(request) }
        #expect(room.operations == requests)
    }

    @Test("behind a barrier everything waits, in order, until it has run")
    func barrier() {
        var room = WaitingRoom()
        let (before, request, other) = (request(), request(), Operation())
        _ = room.enter(before)
        let isFirst = room.addBarrier(BlockOperation {})
        #expect(isFirst)
        let isOtherIn = room.enter(other)
        _ = room.enter(request)
        #expect(isOtherIn)
        let beforeLeft = room.take(before, isCancelled: false)
        let early = room.take(request, isCancelled: false)
        #expect(beforeLeft && !early)
        let (passed, next) = room.barrierEnded()
        #expect(passed == [other, request] && next == nil)
        #expect(room.operations == [other, request])
        room.forget(other)
        let late = room.take(request, isCancelled: false)
        #expect(late && room.operations.isEmpty)
        let afterwards = room.enter(Operation())
        #expect(!afterwards)
    }

    @Test("a cancelled request passes the barrier, and is not passed a second time")
    func cancelledBehindBarrier() {
        var room = WaitingRoom()
        let request = request()
        _ = room.addBarrier(BlockOperation {})
        _ = room.enter(request)
        let left = room.take(request, isCancelled: true)
        #expect(left)
        let (passed, _) = room.barrierEnded()
        #expect(passed.isEmpty)
    }

    @Test("barriers run one after the other, each with what was added before the next")
    func twoBarriers() {
        var room = WaitingRoom()
        let (first, second, third) = (request(), request(), request())
        let barrier = BlockOperation {}
        _ = room.addBarrier(BlockOperation {})
        _ = room.enter(first)
        let isFirst = room.addBarrier(barrier)
        #expect(!isFirst)
        _ = room.enter(second)
        _ = room.enter(third)
        let (firstPassed, next) = room.barrierEnded()
        #expect(firstPassed == [first] && next === barrier)
        let early = room.take(second, isCancelled: false)
        #expect(!early)
        let (secondPassed, none) = room.barrierEnded()
        #expect(secondPassed == [second, third] && none == nil)
    }

    @Test("one that comes with the identifier of one that has left stays behind its own barrier")
    func sameIdentifier() {
        // A new operation may lie where one lay that was cancelled; here the same one comes twice.
        var room = WaitingRoom()
        let request = request()
        _ = room.addBarrier(BlockOperation {})
        _ = room.enter(request)
        _ = room.take(request, isCancelled: true)
        _ = room.addBarrier(BlockOperation {})
        _ = room.enter(request)
        let (passed, next) = room.barrierEnded()
        #expect(passed.isEmpty && next != nil)
        let early = room.take(request, isCancelled: false)
        #expect(!early)
        let (later, _) = room.barrierEnded()
        #expect(later == [request])
    }

    @Test("walked at random, each operation leaves once, and never before the barriers that it came behind")
    func randomWalk() {
        RandomWalk.run("waiting room") { steps, random in
            let operations: [Operation] = (0..<12).map { $0 < 8 ? NetworkOperation(Made.request()) : Operation() }
            var walk = RoomWalk(operations: operations)
            for _ in 0..<steps { try walk.step(&random) }
        }
    }
}

/// The room and what it should do: who is in it, and how many barriers are before each.
private struct RoomWalk {
    let operations: [Operation]
    var room = WaitingRoom()
    var barriersBefore: [Int: Int] = [:]
    var order: [Int] = []
    var barriers: [BlockOperation] = []

    init(operations: [Operation]) { self.operations = operations }

    private func isRequest(_ index: Int) -> Bool { operations[index] is NetworkOperation }

    mutating func step(_ random: inout SeededRandom) throws {
        let index = random.below(operations.count)
        switch random.below(8) {
        case 0..<3:
            guard barriersBefore[index] == nil else { return }
            let isIn = room.enter(operations[index])
            try demand(isIn == (isRequest(index) || !barriers.isEmpty), "enters: \(isIn)")
            guard isIn else { return }
            barriersBefore[index] = barriers.count
            order.append(index)
        case 3..<6:
            guard isRequest(index) else { return }
            let isCancelled = random.once(in: 3)
            let left = room.take(operations[index], isCancelled: isCancelled)
            let mayLeave = barriersBefore[index].map { $0 == 0 || isCancelled } ?? false
            try demand(left == mayLeave, "leaves: \(left)")
            if left { forget(index) }
        case 6:
            guard barriers.count < 4 else { return }
            let barrier = BlockOperation {}
            barriers.append(barrier)
            let isFirst = room.addBarrier(barrier)
            try demand(isFirst == (barriers.count == 1), "first barrier: \(isFirst)")
        default:
            try endBarrier()
        }
        let guests = room.operations
        let isBarrier = { [barriers] (guest: Operation) in barriers.contains { $0 === guest } }
        try demand(guests.filter { !isBarrier($0) } == order.map { operations[$0] }, "guests")
        try demand(guests.filter(isBarrier) == Array(barriers.dropFirst()) as [Operation], "barriers that wait")
    }

    private mutating func endBarrier() throws {
        guard !barriers.isEmpty else { return }
        barriers.removeFirst()
        let (passed, next) = room.barrierEnded()
        try demand(next === barriers.first, "next barrier")
        let freed = order.filter { barriersBefore[$0] == 1 }
        try demand(passed == freed.map { operations[$0] }, "passed")
        // Foundation gets them.
        for operation in passed where !(operation is NetworkOperation) { room.forget(operation) }
        if let next { room.forget(next) }
        for index in order { barriersBefore[index] = max(0, (barriersBefore[index] ?? 0) - 1) }
        for index in freed where !isRequest(index) { forget(index) }
    }

    private mutating func forget(_ index: Int) {
        barriersBefore[index] = nil
        order.removeAll { $0 == index }
    }
}

extension WaitingRoom {
    /// An operation is taken out and handed over at once.
    fileprivate mutating func take(_ operation: Operation, isCancelled: Bool) -> Bool {
        guard leave(operation, isCancelled: isCancelled) else { return false }
        forget(operation)
        return true
    }
}
