import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// The way of a body to its destination, where that is not the memory.

extension Exchange {
    /// What has become of the body's way to the destination.
    struct Delivery {
        /// The response's body goes there.
        var isTaken = false
        /// How many bytes of the body there are, those of earlier attempts included, and how many there will be if known.
        var received: Int64 = 0
        var total: Int64?
        /// The request is to be sent again without these headers.
        var unwantedHeaders: [String]?
        var isPaused = false
    }

    /// Lets the destination get ready, and sends the request as it wants it.
    func open(_ destination: any ResponseDestination) {
        let request = state.withLock { $0.request }
        destination.open(request) { [weak self] signal in
            switch signal {
            case .goOn: self?.goOn()
            case .fail(let error): self?.fail(with: error)
            }
        } ready: { result in
            // Over before it was open: then nobody else tells the destination. Asked before anything is sent, since after
            // that the next attempt may have opened it.
            if self.state.withLock({ $0.isOver }) { return destination.abandon {} }
            switch result {
            case .success(let request):
                self.state.withLock { $0.request = request }
                self.send()
            case .failure(let error): self.fail(with: error)
            }
        }
    }

    /// Asks the destination what it makes of a response.
    func offer(_ response: ReceivedHead, by identifier: Int) {
        guard let reception = destination?.response(response.http) else { return }
        switch reception {
        case .take(let offset, let total):
            record(by: identifier) { state in
                state.delivery.isTaken = true
                state.delivery.received = offset
                state.delivery.total = total
            }
        case .memory:
            let isTooLarge = record(by: identifier) { failsBySize(response, &$0) }
            if isTooLarge == true { session.transport.cancel(identifier) }
        case .sendAgain(let headers):
            record(by: identifier) { $0.delivery.unwantedHeaders = headers }
            session.transport.cancel(identifier)
        case .fail(let error): fail(with: error)
        }
    }

    /// Hands a part of the body over. False if it belongs into memory.
    func deliver(_ data: Data, by identifier: Int) -> Bool {
        let delivery: Delivery? = record(by: identifier) { state in
            state.delivery.received += Int64(data.count)
            // What goes into memory counts itself.
            if state.delivery.isTaken { state.measured.bytesReceived += Int64(data.count) }
            return state.delivery
        }
        // Of a task that is over, or of a response that was turned down.
        guard let delivery, delivery.unwantedHeaders == nil else { return true }
        guard delivery.isTaken, let destination else { return false }
        onBytes(delivery.received, delivery.total ?? -1, .down)
        let canPause = session.transport.canPause
        switch destination.receive(data) {
        case .none: break
        case .full: if canPause { pause(identifier, for: destination) } else { wait(for: destination, identifier) }
        case .overrun(let error): if canPause { pause(identifier, for: destination) } else { fail(with: error) }
        }
        return true
    }

    /// Lets the destination catch up, which is no idleness of the transfer's.
    private func wait(for destination: any ResponseDestination, _ identifier: Int) {
        record(by: identifier) { $0.delivery.isPaused = true }
        destination.catchUp()
        record(by: identifier) { $0.delivery.isPaused = false }
    }

    private func pause(_ identifier: Int, for destination: any ResponseDestination) {
        let isNew = record(by: identifier) { state in
            defer { state.delivery.isPaused = true }
            return !state.delivery.isPaused
        }
        guard isNew == true else { return }
        session.transport.pause(identifier)
        destination.paused()
    }

    /// The destination has room again.
    private func goOn() {
        let now = session.time.moment
        let wasPaused = state.withLock { state in
            guard state.delivery.isPaused, case .running = state.phase else { return false }
            state.delivery.isPaused = false
            state.lastActivity = now
            return true
        }
        if wasPaused { settlePause() }
    }

    /// The caller pauses the transfer, or lets it go on.
    func hold(_ isHeld: Bool) {
        guard session.transport.canPause else { return }
        let now = session.time.moment
        state.withLock { state in
            state.isHeld = isHeld
            state.lastActivity = now
        }
        settlePause()
    }

    /// Tells the transport whether the transfer is paused, and once more if that has changed meanwhile: who changed it may
    /// have told it before us.
    func settlePause() {
        var told: Bool?
        while true {
            let task: (identifier: Int, isPaused: Bool)? = state.withLock { state in
                guard case .running(let identifier) = state.phase else { return nil }
                return (identifier, state.isHeld || state.delivery.isPaused)
            }
            guard let task, task.isPaused != told else { return }
            told = task.isPaused
            if task.isPaused {
                session.transport.pause(task.identifier)
            } else {
                session.transport.unpause(task.identifier)
            }
        }
    }
}

extension Exchange.State {
    /// Whether the destination wants the request sent once more; it is ready for that then.
    mutating func prepareToSendAgain() -> Bool {
        guard let headers = delivery.unwantedHeaders else { return false }
        for header in headers { request.setValue(nil, forHTTPHeaderField: header) }
        response = nil
        data = Data()
        delivery = Exchange.Delivery()
        return true
    }
}
