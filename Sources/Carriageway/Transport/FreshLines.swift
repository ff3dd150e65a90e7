#if canImport(FoundationNetworking)
    import Foundation
    import FoundationNetworking

    /// What goes over a connection of its own on Linux: a line for each such request that is on the wire.
    ///
    /// libcurl sends a request again by itself, up to five times, when a connection that it reused ends without a byte: a
    /// POST too, though the server may have done what it asked, and a request with a body without the body, so that both
    /// sides wait for ever. `Connection: close` asks the server to end the connection; but a server may keep it, or end it
    /// without having said so, and libcurl then takes it for the next request. Only a session without connections is sure.
    ///
    /// A line is used again once its server has said that it ends the connection: libcurl then does so itself. Any other is
    /// let go of. To make one costs a fifteenth of a request, and each holds two descriptors beside its connection's.
    ///
    /// Requests that no lane holds back may be any number: what is more than ``mostBusy`` shares one line, which has as many
    /// connections as any session, so that the process does not run out of descriptors.
    final class FreshLines: Sendable {
        private struct State {
            /// Without a connection.
            var idle: [URLSessionLine] = []
            var busy: [Int: URLSessionLine] = [:]
            /// For what is more; kept once it is made.
            var shared: URLSessionLine?
            var lastNumber = 0
            var isInvalidated = false

            var all: [URLSessionLine] { idle + busy.values + [shared].compactMap { $0 } }

            /// The number of a line that is to be made.
            mutating func nextNumber() -> Int {
                repeat {
                    lastNumber = lastNumber % URLSessionTasks.highestLineNumber + 1
                } while all.contains { $0.number == lastNumber }
                return lastNumber
            }
        }

        private static let mostIdle = 16
        /// How many requests have lines of their own at once.
        private let mostBusy: Int

        private let state = Locked(State())
        private let make: @Sendable (_ number: Int, _ ended: @escaping URLSessionTasks.Ended) -> URLSessionLine

        /// - Parameter make: makes a line that says when its task has ended.
        init(
            mostBusy: Int = 64,
            make: @escaping @Sendable (_ number: Int, _ ended: @escaping URLSessionTasks.Ended) -> URLSessionLine
        ) {
            self.mostBusy = mostBusy
            self.make = make
        }

        func start(_ message: URLSessionMessage, claim: (_ identifier: Int) -> Bool) -> Bool {
            guard let line = take() else { return false }
            var isClaimed = false
            let isValid = line.start(message) { identifier in
                isClaimed = claim(identifier)
                return isClaimed
            }
            // Without a task it has no connection either.
            if !isClaimed { ended(line.number, isClosed: true) }
            return isValid
        }

        /// The line that has the task, while it has.
        subscript(identifier: Int) -> URLSessionLine? {
            let number = URLSessionTasks.lineNumber(of: identifier)
            return state.withLock { state in
                state.busy[number] ?? state.shared.flatMap { $0.number == number ? $0 : nil }
            }
        }

        func invalidate() {
            let lines = state.withLock { state in
                state.isInvalidated = true
                defer { state.idle = [] }
                return state.all
            }
            for line in lines { line.invalidate() }
        }

        /// A line for one task; nil once there are none any more.
        private func take() -> URLSessionLine? {
            let (known, number): (URLSessionLine?, Int?) = state.withLock { state in
                guard !state.isInvalidated else { return (nil, nil) }
                if state.busy.count >= mostBusy {
                    if let shared = state.shared { return (shared, nil) }
                } else if let line = state.idle.popLast() {
                    state.busy[line.number] = line
                    return (line, nil)
                }
                return (nil, state.nextNumber())
            }
            guard let number else { return known }
            let made = make(number) { [weak self] isClosed in self?.ended(number, isClosed: isClosed) }
            let line: URLSessionLine? = state.withLock { state in
                guard !state.isInvalidated else { return nil }
                if state.busy.count < mostBusy {
                    state.busy[number] = made
                    return made
                }
                // Another thread may have made it meanwhile.
                state.shared = state.shared ?? made
                return state.shared
            }
            if line !== made { made.invalidate() }
            return line
        }

        /// A task has ended; nothing changes if that was on the shared line.
        ///
        /// - Parameter isClosed: whether the connection has been closed by what was done last.
        private func ended(_ number: Int, isClosed: Bool) {
            let unwanted = state.withLock { state -> URLSessionLine? in
                guard let line = state.busy.removeValue(forKey: number) else { return nil }
                guard isClosed, !state.isInvalidated, state.idle.count < Self.mostIdle else { return line }
                state.idle.append(line)
                return nil
            }
            unwanted?.invalidate()
        }
    }

    extension HTTPURLResponse {
        /// Whether the server says that it ends the connection after this (RFC 9112, 9.6), and nothing else of it.
        ///
        /// Beside `keep-alive`, also of a proxy, libcurl keeps the connection of a server of HTTP/1.0. And a value of more
        /// than one line, where `close` is the last, is one to Foundation only.
        var endsConnection: Bool {
            guard let said = value(forHTTPHeaderField: "Connection"), said.lowercased() == "close" else { return false }
            return value(forHTTPHeaderField: "Proxy-Connection").map { $0.lowercased() == "close" } ?? true
        }
    }
#endif
