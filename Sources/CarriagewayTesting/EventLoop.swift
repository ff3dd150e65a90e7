import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#elseif canImport(Glibc)
    import Glibc
#endif

/// The thread of a server: waits with `poll(2)` for sockets, the clock and the mailbox, and does what they ask for.
///
/// It is made, run and released on that one thread; the rest of the world reaches it through the mailbox. It knows the
/// parts of the server but not the server itself, so that a server nobody holds any more can end it.
final class EventLoop {
    /// How many bytes one connection may send before the others have their turn.
    static let sendAllowance = 1 << 20

    let parts: LoopbackServer.Parts
    var timers = TimerQueue<Wake>()
    var date = HTTPDate()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)

    private let listener: Int32
    private var isStopping = false
    /// The mailbox, the listener, then all connections in the order of `connections`.
    private var polled: [pollfd]
    private var connections: [Connection] = []
    private var connectionsByNumber: [Int: Connection] = [:]

    private static let firstSlot = 2

    /// What a timer is for: one pause of a connection, or the listener.
    enum Wake {
        case connection(number: Int, pause: Int)
        case listener
    }

    init(listener: Int32, parts: LoopbackServer.Parts) {
        self.listener = listener
        self.parts = parts
        polled = [parts.mailbox.readEnd, listener].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    }

    deinit {
        buffer.deallocate()
    }

    /// Serves until told to stop, then closes everything.
    func run() {
        while !isStopping {
            Sockets.wait(for: &polled, milliseconds: millisecondsToNextTimer())
            serveReadyConnections()
            if polled[1].revents != 0 { acceptConnections() }
            if polled[0].revents != 0 { readMailbox() }
            fireTimers()
        }
        Sockets.dispose(of: listener)
        for connection in connections { drop(connection) }
        parts.records.stop()
        parts.routes.removeAll()
        parts.mailbox.finish()
    }

    // MARK: Sockets

    private func serveReadyConnections() {
        // From the end: a connection that closes is replaced by the last one, which has had its turn.
        var slot = polled.count - 1
        while slot >= Self.firstSlot {
            let events = Int32(polled[slot].revents)
            if events != 0 { serve(connections[slot - Self.firstSlot], events: events) }
            slot -= 1
        }
    }

    private func serve(_ connection: Connection, events: Int32) {
        if events & ~POLLOUT != 0, connection.wantsToRead {
            read(connection)
        } else if connection.isPaused {
            // Nothing is asked of the socket now, so this can only be its end.
            drop(connection)
        } else if connection.phase == .serving {
            // Writable, or broken: only an attempt to send tells which.
            proceed(connection)
        }
    }

    private func acceptConnections() {
        while true {
            switch Sockets.accept(from: listener) {
            case .connection(let descriptor): add(descriptor)
            case .lost: continue
            case .none: return
            case .exhausted:
                polled[1].events = 0
                timers.add(.listener, at: .now + .milliseconds(10))
                return
            }
        }
    }

    private func add(_ descriptor: Int32) {
        let number = parts.records.update { $0.connectionOpened() }
        let connection = Connection(number: number, descriptor: descriptor, slot: polled.count)
        polled.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
        connections.append(connection)
        connectionsByNumber[number] = connection
    }

    /// Takes a connection out of the table; its descriptor must be closed by the caller.
    func remove(_ connection: Connection) {
        connection.phase = .closed
        connectionsByNumber[connection.number] = nil
        let slot = connection.slot
        polled.swapAt(slot, polled.count - 1)
        polled.removeLast()
        connections.swapAt(slot - Self.firstSlot, connections.count - 1)
        connections.removeLast()
        if slot < polled.count { connections[slot - Self.firstSlot].slot = slot }
        parts.records.update { $0.connectionClosed() }
    }

    func updateInterest(_ connection: Connection) {
        guard connection.phase != .closed else { return }
        let events = (connection.wantsToRead ? POLLIN : 0) | (connection.wantsToWrite ? POLLOUT : 0)
        polled[connection.slot].events = Int16(events)
    }

    // MARK: Mailbox and clock

    private func readMailbox() {
        for message in parts.mailbox.take() {
            switch message {
            case .resume(let number, let pause): resume(number, pause: pause)
            case .stop: isStopping = true
            }
        }
    }

    private func fireTimers() {
        guard timers.nextDeadline != nil else { return }
        let now = ContinuousClock.now
        while let wake = timers.popDue(at: now) {
            switch wake {
            case .connection(let number, let pause): resume(number, pause: pause)
            case .listener: polled[1].events = Int16(POLLIN)
            }
        }
    }

    private func resume(_ number: Int, pause: Int) {
        guard let connection = connectionsByNumber[number], connection.pauseNumber == pause else { return }
        wake(connection)
    }

    private func millisecondsToNextTimer() -> Int32 {
        guard let deadline = timers.nextDeadline else { return -1 }
        let left = deadline - ContinuousClock.now
        guard left > .zero else { return 0 }
        return Int32(min((left.seconds * 1000).rounded(.up), 60_000))
    }
}
