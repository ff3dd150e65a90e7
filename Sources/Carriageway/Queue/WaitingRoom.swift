import Foundation

/// The operations of a queue that Foundation has not been given yet: pure, without lock.
///
/// Requests wait here for their dependencies, and everything waits here while a barrier is pending. Whoever takes an
/// operation out hands it to Foundation; so that happens once, whatever races.
struct WaitingRoom {
    private struct Guest {
        let operation: Operation
        let number: Int
        /// Taken out, but not yet with Foundation.
        var isLeaving = false
    }

    private enum Item {
        /// With the guest's number, since another operation may get the identifier of one that has left.
        case operation(ObjectIdentifier, number: Int)
        case barrier(BlockOperation)
    }

    private var guests: [ObjectIdentifier: Guest] = [:]
    /// Of those that are leaving, who has set out by itself, and whether that was seen at the last look.
    private var underWay: [ObjectIdentifier: Bool] = [:]
    private var isWatched = false
    /// What was added after the barrier that is pending, in order.
    private var behindBarrier: [Item] = []
    private var blocked: Set<ObjectIdentifier> = []
    private var isBarrierPending = false
    private var nextNumber = 0

    /// The guests in order of arrival.
    var operations: [Operation] {
        guests.isEmpty ? [] : guests.values.sorted { $0.number < $1.number }.map(\.operation)
    }

    /// Takes an operation in. False if it need not wait here: it is none of ours, and no barrier is pending.
    mutating func enter(_ operation: Operation) -> Bool {
        guard operation is NetworkOperation || isBarrierPending else { return false }
        let identifier = ObjectIdentifier(operation)
        nextNumber += 1
        guests[identifier] = Guest(operation: operation, number: nextNumber)
        if isBarrierPending {
            behindBarrier.append(.operation(identifier, number: nextNumber))
            blocked.insert(identifier)
        }
        return true
    }

    /// Takes an operation out that may run. False if it is not here, or behind a barrier; a cancelled one passes that.
    ///
    /// It is among `operations` until it is forgotten, so that it is never in no list at all.
    mutating func leave(_ operation: Operation, isCancelled: Bool) -> Bool {
        let identifier = ObjectIdentifier(operation)
        guard isCancelled || !blocked.contains(identifier) else { return false }
        guard guests[identifier]?.isLeaving == false else { return false }
        blocked.remove(identifier)
        guests.change(identifier) { $0.isLeaving = true }
        return true
    }

    /// Foundation has an operation that was taken out, or need not have it any longer.
    mutating func forget(_ operation: Operation) {
        let identifier = ObjectIdentifier(operation)
        if !underWay.isEmpty { underWay[identifier] = nil }
        if guests[identifier]?.isLeaving == true { guests[identifier] = nil }
    }

    /// A request that was taken out has set out by itself. True if the caller is to call ``overdue()`` after a while.
    mutating func setOut(_ operation: Operation) -> Bool {
        let identifier = ObjectIdentifier(operation)
        guard guests[identifier]?.isLeaving == true else { return false }
        underWay[identifier] = false
        return watch()
    }

    /// Whether the caller is to call ``overdue()`` after a while, since nobody else is about to.
    mutating func watch() -> Bool {
        guard !isWatched, !underWay.isEmpty else { return false }
        isWatched = true
        return true
    }

    /// Nobody looks for those under way for now.
    mutating func stopWatching() { isWatched = false }

    /// The requests that were under way at the last look already: they are to be handed to Foundation, in order.
    mutating func overdue() -> [Operation] {
        var late: [Guest] = []
        for (identifier, isLate) in underWay {
            if isLate, let guest = guests[identifier] { late.append(guest) }
        }
        for guest in late { underWay[ObjectIdentifier(guest.operation)] = nil }
        underWay = underWay.mapValues { _ in true }
        return late.sorted { $0.number < $1.number }.map(\.operation)
    }

    /// All requests that are under way: they are to be handed to Foundation, in order.
    mutating func takeUnderWay() -> [Operation] {
        let taken = underWay.keys.compactMap { guests[$0] }.sorted { $0.number < $1.number }
        underWay = [:]
        return taken.map(\.operation)
    }

    /// A barrier is added. True if it is the first, and so may be handed to Foundation.
    mutating func addBarrier(_ barrier: BlockOperation) -> Bool {
        guard isBarrierPending else {
            isBarrierPending = true
            return true
        }
        nextNumber += 1
        guests[ObjectIdentifier(barrier)] = Guest(operation: barrier, number: nextNumber)
        behindBarrier.append(.barrier(barrier))
        return false
    }

    /// The barrier has run: what waited for it may go, up to the next.
    mutating func barrierEnded() -> (passed: [Operation], barrier: BlockOperation?) {
        var passed: [Operation] = []
        for (index, item) in behindBarrier.enumerated() {
            switch item {
            case .barrier(let barrier):
                behindBarrier.removeFirst(index + 1)
                guests[ObjectIdentifier(barrier)]?.isLeaving = true
                return (passed, barrier)
            case .operation(let identifier, let number):
                guard let guest = guests[identifier], guest.number == number, !guest.isLeaving else { continue }
                blocked.remove(identifier)
                if !(guest.operation is NetworkOperation) { guests[identifier]?.isLeaving = true }
                passed.append(guest.operation)
            }
        }
        behindBarrier = []
        isBarrierPending = false
        return (passed, nil)
    }
}
