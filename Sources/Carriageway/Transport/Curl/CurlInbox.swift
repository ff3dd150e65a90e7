#if os(Linux)
    import CarriagewayCurl
    import Foundation
    import Glibc

    /// What other threads want of a session's event thread, in order, with the means to wake it.
    ///
    /// A thread that is awake looks in by itself before it sleeps, so under load nothing is written to the descriptor.
    final class CurlInbox: Sendable {
        enum Message {
            case start(CurlRequest)
            case cancel(Int)
            case pause(Int)
            case unpause(Int)
            /// The body has bytes for a transfer that waits for them.
            case bodyIsReady(Int)
        }

        private struct State {
            var messages: [Message] = []
            var nextIdentifier = 0
            var isAsleep = false
            var isInvalidated = false
            var hasThread = false
        }

        /// What a request that is to be started meets.
        enum Admission {
            case refused
            case accepted(needsThread: Bool)
            case invalidated
        }

        /// Becomes readable when the thread is to wake; watched for the edge, so that nobody has to read it.
        let descriptor: Int32
        /// Where the thread waits.
        let poll: Int32
        private let state = Locked(State())

        /// - Throws: `POSIXError` if there are no descriptors left.
        init() throws {
            let descriptor = cwcurl_wake_make()
            let poll = descriptor < 0 ? -1 : cwcurl_poll_make()
            guard poll >= 0 else {
                let code = errno
                if descriptor >= 0 { close(descriptor) }
                throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EMFILE)
            }
            self.descriptor = descriptor
            self.poll = poll
        }

        deinit {
            close(descriptor)
            close(poll)
        }

        func start(_ request: CurlRequest, claim: (_ identifier: Int) -> Bool) -> Admission {
            let (admission, isAsleep): (Admission, Bool) = state.withLock { state in
                guard !state.isInvalidated else { return (.invalidated, false) }
                state.nextIdentifier += 1
                guard claim(state.nextIdentifier) else { return (.refused, false) }
                request.identifier = state.nextIdentifier
                defer { state.hasThread = true }
                return (.accepted(needsThread: !state.hasThread), Self.add(.start(request), to: &state))
            }
            if isAsleep { cwcurl_wake(descriptor) }
            return admission
        }

        func post(_ message: Message) {
            if state.withLock({ Self.add(message, to: &$0) }) { cwcurl_wake(descriptor) }
        }

        /// No request is started from now on.
        ///
        /// - Returns: whether there is a thread, which will end by itself.
        func invalidate() -> Bool {
            let (hasThread, isAsleep) = state.withLock { state in
                state.isInvalidated = true
                defer { state.isAsleep = false }
                return (state.hasThread, state.isAsleep)
            }
            if isAsleep { cwcurl_wake(descriptor) }
            return hasThread
        }

        /// What has come since the last time, in place of what is in `messages`.
        ///
        /// - Returns: whether no request can come any more.
        func take(into messages: inout [Message]) -> Bool {
            messages.removeAll(keepingCapacity: true)
            return state.withLock { state in
                state.isAsleep = false
                swap(&state.messages, &messages)
                return state.isInvalidated
            }
        }

        /// Whether a task is to be paused or cancelled, by what has come since the last ``take(into:)``.
        func holdsBack(_ identifier: Int) -> Bool {
            state.withLock { state in
                for message in state.messages.reversed() {
                    switch message {
                    case .pause(identifier), .cancel(identifier): return true
                    case .unpause(identifier): return false
                    default: continue
                    }
                }
                return false
            }
        }

        /// The thread is about to sleep: it will be woken from now on. False if there is something to do first.
        func fallAsleep(isLast: Bool) -> Bool {
            state.withLock { state in
                guard state.messages.isEmpty, !(isLast && state.isInvalidated) else { return false }
                state.isAsleep = true
                return true
            }
        }

        private static func add(_ message: Message, to state: inout State) -> Bool {
            state.messages.append(message)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
    }
#endif
