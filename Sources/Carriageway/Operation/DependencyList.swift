import Foundation

/// What an operation depends on, and whether all of it has finished: pure, without lock.
///
/// `Operation`'s own list is not used, for three faults of Foundation on Linux: removing an unfinished dependency leaves
/// the dependent waiting for ever, a dependent that is released leaves a dangling pointer in its dependency, and releasing
/// a long chain overflows the stack. `Operation` knows a single gate instead, which opens when the list has finished; so
/// a plain `OperationQueue` waits as it should.
struct DependencyList {
    private(set) var operations: [Operation] = []
    private var unfinished: Set<ObjectIdentifier> = []
    private var gate: Operation?

    var areFinished: Bool { unfinished.isEmpty }

    /// Adds a dependency, once.
    ///
    /// - Returns: whether the dependency is to be watched, and the gate to put before the dependent if it has none.
    mutating func add(_ operation: Operation, isFinished: Bool) -> (isWatched: Bool, newGate: Operation?) {
        let identifier = ObjectIdentifier(operation)
        guard !unfinished.contains(identifier), !operations.contains(where: { $0 === operation }) else {
            return (false, nil)
        }
        operations.append(operation)
        guard !isFinished else { return (false, nil) }
        unfinished.insert(identifier)
        guard gate == nil else { return (true, nil) }
        gate = Operation()
        return (true, gate)
    }

    /// A dependency has finished, or is one no longer.
    ///
    /// - Returns: the gate to open, if that was the last one.
    mutating func settle(_ identifier: ObjectIdentifier, isRemoved: Bool) -> Operation? {
        if isRemoved { operations.removeAll { ObjectIdentifier($0) == identifier } }
        guard unfinished.remove(identifier) != nil, unfinished.isEmpty else { return nil }
        defer { gate = nil }
        return gate
    }

    /// Empties the list, for the caller to let go of outside its lock.
    mutating func takeAll() -> [Operation] {
        defer { operations = [] }
        return operations
    }
}
