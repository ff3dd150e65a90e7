/// What is waited for on each socket: what libcurl wants beside what the kernel has been told: pure.
///
/// Between two requests libcurl takes its interest in a connection back, and declares it again with the next request.
/// For the sockets of connections, whose opening and closing we are told of, the kernel is left to watch meanwhile: that
/// saves two system calls a request. Others, as those of the resolver, are followed to the letter.
struct SocketInterest {
    struct Events: OptionSet {
        let rawValue: UInt8
        static let read = Events(rawValue: 1)
        static let write = Events(rawValue: 2)
    }

    /// What the kernel is to be told.
    enum Change: Equatable {
        case none
        /// To watch for these from now on; for none, to watch no longer.
        case watch(Events)
    }

    private struct Entry {
        var wanted: Events = []
        var watched: Events = []
        var isConnection = false
    }

    private var entries: [Entry] = []

    /// The socket of a connection has been opened.
    mutating func opened(_ socket: Int) {
        reserve(socket)
        entries[socket] = Entry(isConnection: true)
    }

    /// The socket is about to be closed; the kernel forgets it by itself.
    mutating func closed(_ socket: Int) {
        guard entries.indices.contains(socket) else { return }
        entries[socket] = Entry()
    }

    /// libcurl wants to know of these events from now on.
    mutating func want(_ events: Events, on socket: Int) -> Change {
        reserve(socket)
        entries[socket].wanted = events
        let entry = entries[socket]
        // To be writable is the usual state: watching for it without need would wake the thread without end.
        let isEnough = entry.watched.isSuperset(of: events) && !entry.watched.subtracting(events).contains(.write)
        return entry.isConnection && isEnough ? .none : watchWanted(on: socket)
    }

    /// Something has happened on a socket: what of it libcurl wants, and what the kernel is to be told.
    mutating func fired(_ events: Events, on socket: Int) -> (wanted: Events, change: Change) {
        guard entries.indices.contains(socket) else { return ([], .none) }
        let wanted = entries[socket].wanted.intersection(events)
        return wanted.isEmpty ? ([], watchWanted(on: socket)) : (wanted, .none)
    }

    private mutating func watchWanted(on socket: Int) -> Change {
        let entry = entries[socket]
        entries[socket].watched = entry.wanted
        return entry.wanted == entry.watched ? .none : .watch(entry.wanted)
    }

    private mutating func reserve(_ socket: Int) {
        while entries.count <= socket { entries.append(Entry()) }
    }
}
