/// What a lane has to look at again, and when: pure, without timer.
///
/// However many causes there are, one timer serves them all; it is set anew only for an earlier instant.
struct WakeList {
    enum Cause: Hashable {
        /// A host's hold is over, or nothing of it is left to remember.
        case host(Lane.HostID)
        /// A queue may send to a host again.
        case pace(Lane.HostID, Lane.MemberID)
        /// A queue may send again.
        case queue(Lane.MemberID)
    }

    private struct Entry: Comparable {
        let instant: Moment
        let cause: Cause

        static func < (left: Entry, right: Entry) -> Bool { left.instant < right.instant }
    }

    /// With entries that an earlier one for the same cause has replaced, until their time comes.
    private var entries = Heap<Entry>()
    private(set) var instants: [Cause: Moment] = [:]
    /// What the timer is set to.
    private(set) var timer: Moment?

    /// Asks to look again at an instant, unless that happens before anyway.
    mutating func add(_ cause: Cause, at instant: Moment) {
        if let known = instants[cause], known <= instant { return }
        instants[cause] = instant
        entries.insert(Entry(instant: instant, cause: cause))
    }

    /// Takes out what has come due.
    mutating func takeDue(at now: Moment) -> [Cause] {
        if let timer, timer <= now { self.timer = nil }
        var due: [Cause] = []
        while let first = entries.first, first.instant <= now {
            entries.popFirst()
            guard instants[first.cause] == first.instant else { continue }
            instants[first.cause] = nil
            due.append(first.cause)
        }
        return due
    }

    /// The instant to set the timer to, if it is to be set anew.
    mutating func nextTimer() -> Moment? {
        guard let first = entries.first, timer.map({ first.instant < $0 }) ?? true else { return nil }
        timer = first.instant
        return timer
    }
}
