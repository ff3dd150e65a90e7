#if os(Linux)
    import CarriagewayCurl
    import Foundation
    import FoundationNetworking
    import Glibc

    /// The event thread of a session: owns libcurl's multi handle, waits with `epoll(7)`, and does what the inbox says.
    ///
    /// It is made, run and released on that one thread. Nothing in it waits but for the network: bodies are read and
    /// cookies stored elsewhere. It ends when the transport was invalidated and the last transfer has ended.
    final class CurlLoop {
        private let inbox: CurlInbox
        private let settings: CurlSettings
        private let events: any TransportEvents
        /// Where what may write to disk is done, before a task is told to have ended.
        private let storing = DispatchQueue(label: "carriageway.curl.cookies")
        private var sockets: CurlSockets
        /// Nil if there is no memory for one.
        private var multi: OpaquePointer?
        /// The TLS sessions of all transfers.
        private(set) var share: OpaquePointer?
        private let socketObserver = UnsafeMutablePointer<cwcurl_socket_observer>.allocate(capacity: 1)
        private let template: CurlTemplate

        private var active: [Int: CurlHandle] = [:]
        private var spare: [CurlHandle] = []
        /// Those that have something to hand on.
        private var dirty: [CurlHandle] = []
        private var ended: [(CurlHandle, code: Int)] = []
        private var messages: [CurlInbox.Message] = []

        /// The present, in nanoseconds of the monotonic clock; set once in a round.
        private(set) var now = CurlLoop.clock
        /// When libcurl wants to be called.
        private var timerDue = UInt64.max
        /// When a transfer can have been idle for too long, at the earliest.
        private var nextDeadline = UInt64.max

        /// Handles that are kept for later transfers; each takes about 6 KB.
        private static let mostSpare = 64
        /// Connections that are kept open without use.
        private static let mostIdleConnections = 256

        init(inbox: CurlInbox, settings: CurlSettings, events: any TransportEvents) {
            self.inbox = inbox
            self.settings = settings
            self.events = events
            sockets = CurlSockets(inbox: inbox)
            template = CurlTemplate(settings: settings, socketObserver: socketObserver)
            let context = Unmanaged.passUnretained(self).toOpaque()
            socketObserver.initialize(
                to: cwcurl_socket_observer(
                    context: context, opened: CurlCallbacks.opened, closed: CurlCallbacks.closed))
            multi = cwcurl_multi_make(context, CurlCallbacks.socket, CurlCallbacks.timer)
            share = cwcurl_share_make()
            let mostIdle = max(Self.mostIdleConnections, settings.maxConnectionsPerHost)
            if let multi { cwcurl_multi_set_long(multi, CWCURL_MULTI_MAXCONNECTS, mostIdle) }
        }

        deinit {
            socketObserver.deallocate()
        }

        /// Handles first, then the connections, which tell the observer that they close.
        private func tearDown() {
            spare = []
            if let multi { cwcurl_multi_free(multi) }
            if let share { cwcurl_share_free(share) }
            (multi, share) = (nil, nil)
        }

        static var clock: UInt64 {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        }

        func run() {
            cwcurl_prepare_thread("carriageway.net")
            while true {
                let isInvalidated = inbox.take(into: &messages)
                for message in messages { handle(message) }
                actOnTimers()
                finishEnded()
                if isInvalidated, active.isEmpty, messages.isEmpty { return tearDown() }
                let mayWait = inbox.fallAsleep(isLast: active.isEmpty)
                let ready = sockets.wait(nanoseconds: mayWait ? untilNextTimer : 0)
                now = Self.clock
                for index in 0..<ready { act(on: index) }
                finishEnded()
            }
        }

        // MARK: What others want

        private func handle(_ message: CurlInbox.Message) {
            switch message {
            case .start(let request): start(request)
            case .cancel(let identifier):
                guard let handle = active[identifier] else { return }
                handle.transfer?.failure = .urlError(URLError(.cancelled))
                finish(handle, code: CWCURL_ABORTED_BY_CALLBACK)
            case .pause(let identifier): setPaused(true, identifier)
            case .unpause(let identifier): setPaused(false, identifier)
            case .bodyIsReady(let identifier):
                guard let handle = active[identifier], handle.transfer?.isWaitingForBody == true else { return }
                handle.transfer?.isWaitingForBody = false
                handle.transfer?.lastActivity = now
                handle.applyPause()
                timerDue = 0
            }
        }

        private func setPaused(_ isPaused: Bool, _ identifier: Int) {
            guard let handle = active[identifier], handle.transfer?.isPaused == !isPaused else { return }
            handle.transfer?.isPaused = isPaused
            handle.transfer?.lastActivity = now
            handle.applyPause()
            // libcurl looks after it at the next occasion, which this makes now.
            timerDue = 0
            if let transfer = handle.transfer { nextDeadline = min(nextDeadline, transfer.deadline) }
        }

        private static var noMemory: NetworkError {
            .generalError(TransportUnavailable(reason: "libcurl has no memory"))
        }

        private func start(_ request: CurlRequest) {
            let transfer = CurlTransfer(request, now: now)
            if let failure = request.failure { return events.task(request.identifier, completedWith: failure) }
            guard let multi, let handle = spare.popLast() ?? CurlHandle(loop: self, template: template) else {
                return events.task(request.identifier, completedWith: Self.noMemory)
            }
            active[request.identifier] = handle
            if case .reader(let reader, _) = request.body {
                let (inbox, identifier) = (inbox, request.identifier)
                reader.start { inbox.post(.bodyIsReady(identifier)) }
            }
            let code = handle.prepare(transfer)
            guard code == 0, cwcurl_multi_add(multi, handle.easy) == 0 else {
                transfer.failure =
                    code == 0 || code == CWCURL_OUT_OF_MEMORY
                    ? Self.noMemory : .invalidRequest("libcurl does not take it: \(handle.describe(code))")
                return finish(handle, code: CWCURL_ABORTED_BY_CALLBACK, isSent: false)
            }
            nextDeadline = min(nextDeadline, transfer.deadline)
        }

        // MARK: The network and the clock

        private func act(on index: Int) {
            guard let multi, let ready = sockets.ready(at: index) else { return }
            cwcurl_multi_act(multi, ready.socket, ready.events)
        }

        func setTimer(milliseconds: Int) {
            switch milliseconds {
            case ..<0: timerDue = .max
            case 0: timerDue = 0
            // Never too early: libcurl would find nothing to do, and not ask again.
            default: timerDue = Self.clock + UInt64(milliseconds + 1) * 1_000_000
            }
        }

        private var untilNextTimer: UInt64? {
            let due = min(timerDue, nextDeadline)
            guard due != .max else { return nil }
            let present = due == 0 ? 0 : Self.clock
            return due > present ? due - present : 0
        }

        private func actOnTimers() {
            if timerDue <= now, let multi {
                // It sets another if it has need of one.
                timerDue = .max
                cwcurl_multi_act(multi, Int32(CWCURL_SOCKET_TIMEOUT), 0)
            }
            guard nextDeadline <= now else { return }
            let late = active.values.filter { ($0.transfer?.deadline ?? .max) <= now }
            for handle in late {
                let url = handle.transfer?.request.url
                handle.transfer?.failure = .urlError(.curl(.timedOut, "the transfer was idle for too long", url))
                finish(handle, code: CWCURL_OPERATION_TIMEDOUT)
            }
            nextDeadline = active.values.reduce(.max) { min($0, $1.transfer?.deadline ?? .max) }
        }

        // MARK: What is handed on

        /// The handle has something for the receiver of events, at the end of this round.
        func mark(_ handle: CurlHandle, _ transfer: CurlTransfer) {
            guard !transfer.isDirty else { return }
            transfer.isDirty = true
            dirty.append(handle)
        }

        /// Whether no more of the transfer is wanted for now.
        func holdsBack(_ transfer: CurlTransfer) -> Bool { inbox.holdsBack(transfer.request.identifier) }

        func flush(_ transfer: CurlTransfer) {
            let identifier = transfer.request.identifier
            if transfer.sentCount != transfer.reportedCount {
                transfer.reportedCount = transfer.sentCount
                events.task(identifier, sentBodyBytes: transfer.sentCount, of: transfer.bodyLength)
            }
            if let head = transfer.takeHead() { events.task(identifier, received: head) }
            guard !transfer.received.isEmpty else { return }
            let data = transfer.received
            transfer.received = Data()
            events.task(identifier, received: data)
        }

        private func finishEnded() {
            if let multi {
                var code = 0
                while let easy = cwcurl_multi_next_ended(multi, &code) {
                    guard let context = cwcurl_get_private(easy) else { continue }
                    ended.append((Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue(), code))
                }
                for (handle, code) in ended { finish(handle, code: code) }
                ended.removeAll(keepingCapacity: true)
            }
            // One that has ended meanwhile has handed everything on, and may be at work for another request already.
            for handle in dirty {
                guard let transfer = handle.transfer, transfer.isDirty else { continue }
                transfer.isDirty = false
                flush(transfer)
            }
            dirty.removeAll(keepingCapacity: true)
        }

        private func finish(_ handle: CurlHandle, code: Int, isSent: Bool = true) {
            guard let transfer = handle.transfer else { return }
            let identifier = transfer.request.identifier
            flush(transfer)
            if let multi { cwcurl_multi_remove(multi, handle.easy) }
            handle.transfer = nil
            active[identifier] = nil
            if case .reader(let reader, _) = transfer.request.body { reader.stop() }
            let failure = failure(of: transfer, handle, code)
            // Else they would be those of the request that the handle made before.
            let metrics = isSent ? TransferMetrics(handle.easy) : nil
            if spare.count < Self.mostSpare { spare.append(handle) }
            if transfer.request.storesCookies, let cookies = settings.cookies {
                let values = transfer.head.values(of: "set-cookie")
                if !values.isEmpty {
                    let (events, url) = (events, transfer.request.url)
                    return storing.async {
                        cookies.store(values, of: url)
                        events.task(identifier, completedWith: failure, metrics: metrics)
                    }
                }
            }
            events.task(identifier, completedWith: failure, metrics: metrics)
        }

        private func failure(of transfer: CurlTransfer, _ handle: CurlHandle, _ code: Int) -> NetworkError? {
            if code == CWCURL_OK {
                if transfer.hasGivenResponse { return nil }
                // The connection was closed within the head.
                let reason = "the connection was closed before the response was complete"
                return .urlError(.curl(.networkConnectionLost, reason, transfer.request.url))
            }
            if let failure = transfer.failure { return failure }
            let fault = CurlFault(code: code, text: handle.describe(code), easy: handle.easy)
            return .urlError(.curl(fault.urlErrorCode, fault.reason, transfer.request.url))
        }

        // MARK: Called by libcurl

        func want(_ events: SocketInterest.Events, on socket: Int32) { sockets.want(events, on: socket) }
        func opened(_ socket: Int32) { sockets.opened(socket) }
        func closed(_ socket: Int32) { sockets.closed(socket) }
    }
#endif
