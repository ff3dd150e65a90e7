#if os(Linux)
    import CarriagewayCurl

    /// The sockets of an event thread, watched with `epoll(7)`.
    struct CurlSockets {
        private let inbox: CurlInbox
        private var interest = SocketInterest()
        private var ready = [cwcurl_ready](repeating: cwcurl_ready(), count: 256)

        init(inbox: CurlInbox) {
            self.inbox = inbox
            cwcurl_poll_watch_edge(inbox.poll, inbox.descriptor)
        }

        /// Waits, without limit if there is no time.
        ///
        /// - Returns: how many sockets are ready.
        mutating func wait(nanoseconds: UInt64?) -> Int {
            // Rounded up, so that what is waited for has come; at most an hour at once.
            let milliseconds = nanoseconds.map { Int(min(($0 + 999_999) / 1_000_000, 3_600_000)) } ?? -1
            return max(cwcurl_poll_wait(inbox.poll, &ready, ready.count, milliseconds), 0)
        }

        /// One that is ready, and what libcurl is to be told of it; nil if nothing.
        mutating func ready(at index: Int) -> cwcurl_ready? {
            let found = ready[index]
            guard found.socket != inbox.descriptor else { return nil }
            let fired = SocketInterest.Events(rawValue: UInt8(found.events & 3))
            let (wanted, change) = interest.fired(fired, on: Int(found.socket))
            apply(change, to: found.socket)
            guard !wanted.isEmpty else { return nil }
            return cwcurl_ready(
                socket: found.socket, events: Int(wanted.rawValue) | found.events & CWCURL_SELECT_ERROR)
        }

        mutating func want(_ events: SocketInterest.Events, on socket: Int32) {
            // Apart, since a call that takes `self` would have the table copied for the change.
            let change = interest.want(events, on: Int(socket))
            apply(change, to: socket)
        }

        mutating func opened(_ socket: Int32) { interest.opened(Int(socket)) }
        mutating func closed(_ socket: Int32) { interest.closed(Int(socket)) }

        private func apply(_ change: SocketInterest.Change, to socket: Int32) {
            switch change {
            case .none: break
            case .watch(let wanted): cwcurl_poll_watch(inbox.poll, socket, Int(wanted.rawValue))
            }
        }
    }
#endif
