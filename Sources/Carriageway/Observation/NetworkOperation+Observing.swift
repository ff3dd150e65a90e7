import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What an operation remembers for its events.
struct EventMemory {
    /// The request that was last seen.
    var request: URLRequest?
    /// What keeps the attempt off the wire, as the observers know it.
    var hold: NetworkEvent.Hold?
}

extension NetworkOperation {
    /// A number that no other operation of the process has; events name the operation by it.
    public var identifier: Int { shared.withLock { $0.identifier } }

    /// The queue's observers, if there are any.
    var observers: EventHub? {
        shared.withLock { $0.observers }
    }

    /// The operation was added to its queue.
    func noteCreation() {
        guard let observers else { return }
        shared.withLock { shared in
            shared.note(.created, in: observers)
            // It was cancelled before.
            if let result = shared.state.result { shared.note(.finished(result.map(\.statusCode)), in: observers) }
        }
        observers.handOn()
    }

    /// Notes what the exchange of a round reports.
    func note(_ kind: NetworkEvent.Kind, round: Int, request: URLRequest? = nil) {
        guard let observers else { return }
        shared.withLock { shared in
            guard shared.state.phase == .onWire, shared.state.round == round else { return }
            shared.note(kind, of: request, in: observers)
        }
        observers.handOn()
    }

    /// What an exchange is to call when something comes; nil where nobody observes.
    func sightObserver(of round: Int) -> (@Sendable (ExchangeSettings.Sight) -> Void)? {
        guard observers != nil else { return nil }
        let mask = shared.withLock { $0.configuration?.value.secretMask } ?? .standard
        return { [weak self] sight in
            switch sight {
            case .response(let status): self?.note(.response(status: status), round: round)
            case .redirect(let status, let request):
                let url = request.url.map { mask.masked($0) } ?? ""
                self?.note(.redirect(status: status, to: url), round: round, request: request)
            }
        }
    }

    func holdsChanged() { noteHold() }

    /// What keeps the attempt off the wire may have changed, and once more while that is noted.
    func noteHold() {
        guard let observers, let queue = shared.withLock({ $0.queue }) else { return }
        var isNews = true
        while isNews {
            let hold = queue.session.lane.obstacle(of: self) ?? (queue.isSuspended ? .suspended : nil)
            isNews = shared.withLock { shared in
                switch shared.state.phase {
                case .idle, .inLine, .confirming: break
                case .building, .preparing, .onWire, .judging, .backingOff, .ended: return false
                }
                guard shared.memory.hold != hold else { return false }
                shared.memory.hold = hold
                shared.note(hold.map { .held($0) } ?? .resumed, in: observers)
                return true
            }
        }
        observers.handOn()
    }
}

extension NetworkOperation.Shared {
    /// Notes what the exchange has measured, for the record of the attempt.
    mutating func time(_ timing: Exchange.Timing?) {
        // One that started before the slot was got is that of the attempt before.
        guard let timing, let slot = state.attemptStart?.instant, timing.start >= slot else { return }
        state.timing = NetworkAttempt.Timing(
            inLine: waited, preparing: timing.start - slot, firstByte: timing.firstByte.map { $0 - timing.start },
            bytesReceived: timing.bytesReceived, bytesSent: timing.bytesSent, redirects: timing.redirects,
            transfer: timing.transfer)
    }

    private static let identifiers = Locked(0)

    /// Given when it is asked for, so that operations that nobody asks about cost nothing.
    var identifier: Int {
        mutating get {
            if let known = knownIdentifier { return known }
            let new = Self.identifiers.withLock { last in
                last += 1
                return last
            }
            knownIdentifier = new
            return new
        }
    }

    /// The queue's observers, if there are any.
    var observers: EventHub? {
        guard let hub = configuration?.events, hub.isObserved else { return nil }
        return hub
    }

    /// Notes the events that the actions are. Under the lock, so that the events of an operation have one order.
    mutating func note(_ actions: [OperationState.Action], after phase: OperationState.Phase, in observers: EventHub) {
        for action in actions {
            switch action {
            case .enterLine, .giveBack:
                // A retry without a wait.
                if phase == .judging, let error = state.lastFailure {
                    note(.retry(after: .zero, because: error), in: observers)
                }
                note(.inLine, in: observers)
            case .prepare: noteResumption(in: observers)
            case .send(let request, _):
                noteResumption(in: observers)
                note(.onWire, of: request, in: observers)
            case .sleep(let instant, _):
                guard let error = state.lastFailure else { continue }
                let delay = instant - (session?.time.moment ?? instant)
                note(.retry(after: max(delay, .zero), because: error), in: observers)
            case .deliver:
                guard let result = state.result else { continue }
                note(.finished(result.map(\.statusCode)), in: observers)
            case .armDeadline, .build, .leaveLine, .confirm, .judge, .stop, .refund, .finish: break
            }
        }
    }

    private mutating func noteResumption(in observers: EventHub) {
        guard memory.hold != nil else { return }
        memory.hold = nil
        note(.resumed, in: observers)
    }

    mutating func note(_ kind: NetworkEvent.Kind, of sent: URLRequest? = nil, in observers: EventHub) {
        let isOver: Bool
        switch kind {
        case .retry, .finished: isOver = true
        case .inLine:
            isOver = false
            // Each attempt begins from the original request.
            memory.request = state.request
        case .created, .held, .resumed, .onWire, .response, .redirect, .missed: isOver = false
        }
        if let sent {
            memory.request = sent
        } else if memory.request == nil, case .request(let request) = source {
            memory.request = request
        }
        let time: any TimeSource = session?.time ?? queue?.session.time ?? SystemTime.shared
        observers.note(
            EventRecord(
                operation: identifier, kind: kind, request: memory.request,
                attempt: state.attempts.count + (isOver ? 0 : 1), moment: time.moment, date: time.date))
    }
}

extension OperationState {
    /// Why the last attempt failed.
    fileprivate var lastFailure: NetworkError? {
        if case .failed(let error)? = attempts.last?.outcome { return error }
        return nil
    }
}
