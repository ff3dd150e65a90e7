#if canImport(FoundationNetworking)
    import Synchronization
#endif

/// How many observe, to be asked at each step of each request: one relaxed load where the platform has it.
final class ObserverCount: Sendable {
    #if canImport(FoundationNetworking)
        private let count = Atomic<Int>(0)

        var isZero: Bool { count.load(ordering: .relaxed) == 0 }

        func change(by difference: Int) { count.add(difference, ordering: .relaxed) }
    #else
        // `Atomic` is there from iOS 18 and macOS 15 only.
        private let count = Locked(0)

        var isZero: Bool { count.withLock { $0 == 0 } }

        func change(by difference: Int) { count.withLock { $0 += difference } }
    #endif
}
