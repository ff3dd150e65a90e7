import Foundation

extension LoopbackServer {
    /// Holds responses until the test lets them go. One gate can hold any number of responses of any number of servers.
    ///
    /// ```swift
    /// let gate = LoopbackServer.Gate()
    /// server.on("/slow", .text("at last").held(by: gate))
    /// try await gate.waitForArrivals(1)
    /// gate.open()
    /// ```
    public final class Gate: @unchecked Sendable {
        // All state is guarded by `lock`; nobody is resumed under it.
        private let lock = NSLock()
        private var state = State()

        /// A closed gate.
        public init() {}

        /// Lets all waiting responses pass, first come first served, and every later one.
        public func open() {
            lock.withLock { state.open() }.forEach { $0() }
        }

        /// Lets one response pass: the one that has waited longest or, when none waits, the next to come.
        public func openOne() {
            lock.withLock { state.openOne() }?()
        }

        /// How many responses wait now.
        public var waitingCount: Int {
            lock.withLock { state.waiting.count }
        }

        /// How many responses have come to the gate in all, those included that passed without waiting.
        public var arrivalCount: Int {
            lock.withLock { state.arrivals }
        }

        /// Returns once that many responses in all have come to the gate. Throws `CancellationError` when cancelled.
        public func waitForArrivals(_ count: Int) async throws {
            try await suspendUntilResumed { identifier, resume in
                let met = lock.withLock { state.await(count, as: identifier, resume: resume) }
                met.forEach { $0(.success(())) }
            } withdraw: { identifier in
                let resume = self.lock.withLock { self.state.observers.take(identifier) }
                resume?(.failure(CancellationError()))
            }
        }

        /// A response comes to the gate. Nil: it may pass at once. Otherwise `pass` is called once when it may, on
        /// whichever thread opens the gate, unless the ticket is given back before.
        func arrive(pass: @escaping @Sendable () -> Void) -> Int? {
            let (ticket, met) = lock.withLock { state.arrive(pass: pass) }
            met.forEach { $0(.success(())) }
            return ticket
        }

        /// Gives a ticket back: its client has left.
        func withdraw(_ ticket: Int) {
            lock.withLock { state.waiting.removeAll { $0.ticket == ticket } }
        }
    }
}

extension LoopbackServer.Gate {
    /// The gate without its lock: every method says whom to let go.
    struct State {
        typealias Pass = @Sendable () -> Void

        var waiting: [(ticket: Int, pass: Pass)] = []
        var arrivals = 0
        var observers = WaitList<Int>()
        private var isOpen = false
        private var permits = 0

        mutating func open() -> [Pass] {
            isOpen = true
            defer { waiting = [] }
            return waiting.map(\.pass)
        }

        mutating func openOne() -> Pass? {
            guard !waiting.isEmpty else {
                permits += 1
                return nil
            }
            return waiting.removeFirst().pass
        }

        mutating func arrive(pass: @escaping Pass) -> (ticket: Int?, met: [WaitList<Int>.Resume]) {
            arrivals += 1
            let met = observers.take { $0 <= arrivals }
            if isOpen { return (nil, met) }
            if permits > 0 {
                permits -= 1
                return (nil, met)
            }
            waiting.append((arrivals, pass))
            return (arrivals, met)
        }

        mutating func await(
            _ count: Int, as identifier: WaitIdentifier, resume: @escaping WaitList<Int>.Resume
        ) -> [WaitList<Int>.Resume] {
            observers.add(identifier, for: count, resume: resume)
            return observers.take { $0 <= arrivals }
        }
    }
}
