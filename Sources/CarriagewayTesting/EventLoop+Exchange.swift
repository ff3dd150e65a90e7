import Foundation

// The way of a request through the loop: read, answer, send, close.

extension EventLoop {
    func read(_ connection: Connection) {
        switch Sockets.receive(from: connection.descriptor, into: buffer) {
        case .wouldBlock: return
        case .failed: drop(connection)
        case .ended where connection.phase == .lingering: drop(connection)
        case .ended:
            connection.inputEnded = true
            proceed(connection)
        case .bytes where connection.phase == .lingering: return
        case .bytes(let count):
            if connection.readsRequests {
                connection.parser.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            } else {
                connection.hasDiscardedInput = true
            }
            proceed(connection)
        }
    }

    /// Does all that can be done for a connection now, and sets what to wait for next.
    func proceed(_ connection: Connection) {
        var allowance = Self.sendAllowance
        var mayHaveMore = true
        while mayHaveMore {
            // With the pipeline full, requests stay unread until answers have left.
            mayHaveMore = readRequests(connection)
            advance(connection, allowance: &allowance)
            mayHaveMore = mayHaveMore && connection.phase == .serving && !connection.hasAnswers
        }
        closeIfClientLeft(connection)
        updateInterest(connection)
    }

    /// A client that has ended its side still gets an answer that flows. One that would have to wait has left: a closed
    /// connection and a half-closed one look the same from here, and clients that cancel are the usual case.
    private func closeIfClientLeft(_ connection: Connection) {
        guard connection.phase == .serving, connection.inputEnded else { return }
        if connection.isPaused || !connection.hasAnswers { drop(connection) }
    }

    // MARK: Requests

    /// Reads requests as far as there are bytes and room; true when it stopped for want of room.
    private func readRequests(_ connection: Connection) -> Bool {
        guard connection.phase == .serving, connection.readsRequests else { return false }
        let settings = parts.settings.current
        connection.parser.bodyLimit = settings.bodyLimit
        while connection.readsRequests {
            if connection.isQueueFull { return true }
            guard let event = connection.parser.next() else {
                if let (target, received) = connection.parser.bodyUnderWay,
                    let cut = parts.settings.interruption(of: target, at: received)
                {
                    interrupt(connection, cut)
                }
                return false
            }
            switch event {
            case .expectsContinue:
                guard settings.answersExpectContinue else { continue }
                connection.enqueue(.init(answer: .continuation(), path: nil))
            case .request(let request):
                if let cut = parts.settings.interruption(of: request.target, at: request.body.count) {
                    interrupt(connection, cut)
                } else {
                    answer(request, on: connection)
                }
            case .rejected(let rejection): reject(rejection, on: connection)
            }
        }
        return false
    }

    private func answer(_ parsed: ParsedRequest, on connection: Connection) {
        let request = parts.records.update { $0.arrived(parsed, on: connection.number) }
        let response = parts.routes.response(to: request)
        let context = Answer.Context(
            isHead: parsed.method == "HEAD", minorVersion: parsed.minorVersion, keepsAlive: parsed.keepsAlive,
            date: currentDate())
        enqueue(Answer(response, to: context), path: request.path, on: connection)
    }

    private func reject(_ rejection: RequestParser.Rejection, on connection: Connection) {
        let response = LoopbackServer.Response.text(rejection.reason, status: rejection.status)
        enqueue(Answer(response, to: .init(keepsAlive: false, date: currentDate())), path: nil, on: connection)
        connection.hasDiscardedInput = true
    }

    /// Breaks off in the middle of a request.
    private func interrupt(_ connection: Connection, _ cut: LoopbackServer.Response.Cut) {
        let response: LoopbackServer.Response
        switch cut {
        case .close: response = .close
        case .reset: response = .reset
        case .stall:
            response = .hang
            connection.readsNoMore = true
        }
        enqueue(Answer(response, to: .init(keepsAlive: false, date: currentDate())), path: nil, on: connection)
        connection.hasDiscardedInput = true
    }

    private func enqueue(_ answer: Answer, path: String?, on connection: Connection) {
        switch answer.ending {
        case .keepAlive: break
        case .close, .reset, .stall:
            connection.readsRequests = false
            connection.hasDiscardedInput = connection.parser.hasUnreadBytes
        }
        connection.enqueue(.init(answer: answer, path: path))
    }

    private func currentDate() -> String {
        date.string(at: Int(time(nil)))
    }

    // MARK: Answers

    private func advance(_ connection: Connection, allowance: inout Int) {
        while connection.phase == .serving, !connection.isPaused {
            if connection.hasOutput {
                guard send(connection, allowance: &allowance) else { return }
            } else {
                guard let step = connection.nextStep() else { return }
                perform(step, on: connection)
            }
        }
    }

    /// False when the socket takes no more now, the connection has had its turn, or the client is gone.
    private func send(_ connection: Connection, allowance: inout Int) -> Bool {
        guard allowance > 0 else { return false }
        let descriptor = connection.descriptor
        switch Sockets.send(connection.output, from: connection.sent, limit: allowance, to: descriptor) {
        case .bytes(let count):
            connection.sent += count
            // Very small pieces cost more than their bytes.
            allowance -= max(count, 256)
            if !connection.hasOutput { (connection.output, connection.sent) = (Data(), 0) }
            return true
        case .wouldBlock: return false
        case .ended, .failed:
            drop(connection)
            return false
        }
    }

    private func perform(_ step: Answer.Step, on connection: Connection) {
        switch step {
        case .wait(let duration): pause(connection, as: .timer, for: duration)
        case .hold(let gate): hold(connection, at: gate)
        case .send(let data): connection.output = data
        case .end(.keepAlive): endAnswer(of: connection)
        case .end(.close): close(connection)
        case .end(.reset): reset(connection)
        case .end(.stall): connection.pause = .forever
        }
    }

    private func pause(_ connection: Connection, as pause: Connection.Pause, for duration: Duration) {
        connection.pause = pause
        connection.pauseNumber += 1
        // A clock cannot count to the longest durations there are; ten years will do.
        let bounded = min(max(duration, .zero), .seconds(10 * 365 * 86400))
        timers.add(.connection(number: connection.number, pause: connection.pauseNumber), at: .now + bounded)
    }

    private func hold(_ connection: Connection, at gate: LoopbackServer.Gate) {
        connection.pauseNumber += 1
        let message = Mailbox.Message.resume(connection: connection.number, wait: connection.pauseNumber)
        let mailbox = parts.mailbox
        guard let ticket = gate.arrive(pass: { mailbox.post(message) }) else { return }
        connection.pause = .gate(gate, ticket: ticket)
    }

    /// What a connection waited for has come.
    func wake(_ connection: Connection) {
        if connection.phase == .lingering { return drop(connection) }
        if case .flushBeforeReset = connection.pause {
            connection.pause = .none
            reset(connection)
        } else {
            connection.pause = .none
        }
        if connection.phase == .serving { proceed(connection) }
    }

    private func endAnswer(of connection: Connection) {
        guard let exchange = connection.current else { return }
        connection.current = nil
        if let path = exchange.path { parts.records.update { $0.ended(path: path) } }
    }

    // MARK: Ends

    private func close(_ connection: Connection) {
        endAnswer(of: connection)
        // Bytes that nobody has read turn the FIN into an RST, which can destroy an answer on its way.
        if case .bytes = Sockets.receive(from: connection.descriptor, into: buffer) {
            connection.hasDiscardedInput = true
        }
        guard connection.hasDiscardedInput, !connection.inputEnded else { return drop(connection) }
        Sockets.endSending(connection.descriptor)
        pause(connection, as: .timer, for: .seconds(30))
        connection.phase = .lingering
    }

    private func reset(_ connection: Connection) {
        guard !Sockets.hasUnsentBytes(connection.descriptor) else {
            return pause(connection, as: .flushBeforeReset, for: .milliseconds(1))
        }
        release(connection)
        Sockets.reset(connection.descriptor)
    }

    /// Closes at once, whatever the connection was doing. What it had to answer counts as ended.
    func drop(_ connection: Connection) {
        guard connection.phase != .closed else { return }
        release(connection)
        Sockets.dispose(of: connection.descriptor)
    }

    private func release(_ connection: Connection) {
        if case .gate(let gate, let ticket) = connection.pause { gate.withdraw(ticket) }
        connection.pause = .none
        for path in connection.unansweredPaths { parts.records.update { $0.ended(path: path) } }
        connection.removeAnswers()
        remove(connection)
    }
}
