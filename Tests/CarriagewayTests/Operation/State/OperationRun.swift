import Foundation

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An operation's state with a clock that stands until told; what it decides comes as words.
struct OperationRun {
    private(set) var state = OperationState()
    var now = Made.moment
    private(set) var failure = Made.status(503)

    static let request = Made.request()

    mutating func begin() -> [String] { words(state.begin(deadline: nil)) }
    mutating func handOver() -> Bool { state.handOver() }

    mutating func start(timeout: Duration? = nil) -> [String] {
        let deadline = timeout.map { now.advanced(by: $0) }
        return words(state.start(deadline: deadline))
    }

    mutating func built() -> [String] { words(state.built(.success(Self.request))) }

    mutating func notBuilt(_ error: NetworkError) -> [String] { words(state.built(.failure(error))) }

    mutating func admitted(_ round: Int = 1, preparing: Bool = false) -> [String] {
        words(state.admitted(round: round, needsPreparation: preparing, now: now, date: Made.date))
    }

    mutating func prepared(_ round: Int = 1, error: NetworkError? = nil) -> [String] {
        words(state.prepared(error.map { .failure($0) } ?? .success(Self.request), round: round, now: now))
    }

    mutating func credentialLost() -> [String] { words(state.credentialLost(.cancelled)) }
    mutating func confirmed(_ round: Int = 1) -> [String] { words(state.confirmed(Self.request, round: round)) }

    mutating func succeeded(_ round: Int = 1, status: Int = 200) -> [String] {
        let reply = Exchange.Reply(head: ReceivedHead(Made.response(status)), data: Data(), request: Self.request)
        return words(state.succeeded(reply, round: round, now: now))
    }

    mutating func failed(_ round: Int = 1, with error: NetworkError = Made.status(503)) -> [String] {
        failure = error
        return words(state.failed(with: error, round: round, now: now))
    }

    mutating func postponed(_ round: Int = 1) -> [String] { words(state.postponed(round: round)) }

    mutating func refused(_ round: Int = 1, with error: NetworkError) -> [String] {
        words(state.refused(with: error, round: round))
    }

    /// Nil if the response is the operation's answer.
    mutating func unauthorized(_ round: Int = 1) -> [String]? {
        state.unauthorized(Made.status(401), round: round, now: now).map { words($0) }
    }

    mutating func judged(_ verdict: RetryVerdict, _ round: Int = 1, isIdle: Bool = false) -> [String] {
        words(state.judged(verdict, of: failure, round: round, isIdleConnectionRetry: isIdle, now: now))
    }

    mutating func woke(_ round: Int = 1) -> [String] { words(state.woke(round: round)) }

    mutating func cancel() -> [String] { words(state.cancel(now: now)) }

    mutating func deadlineCame() -> [String] { words(state.deadlineCame(now: now)) }

    /// The result in a word: a status, or the name of an error.
    var result: String? { state.result.map(Self.word) }

    static func word(_ result: Result<NetworkResponse, NetworkError>) -> String {
        switch result {
        case .success(let response): "\(response.statusCode)"
        case .failure(let error): word(error)
        }
    }

    static func word(_ error: NetworkError) -> String {
        switch error {
        case .cancelled: "cancelled"
        case .deadlineExceeded: "deadline"
        case .endpointError(let response, _): "status \(response.statusCode)"
        case .inaccessible(let count, let last): "inaccessible after \(count), \(word(last))"
        default: "other"
        }
    }

    private mutating func words(_ actions: [OperationState.Action]) -> [String] {
        var actions = actions
        if case .deliver = actions.last { actions += state.delivered() }
        let now = now
        return actions.map { action in
            switch action {
            case .armDeadline(let instant): "arm \(instant - now)"
            case .build: "build"
            case .enterLine(let round): "enter \(round)"
            case .leaveLine(let round): "leave \(round)"
            case .giveBack(let round, let next): "give back \(round) for \(next)"
            case .prepare(_, let round): "prepare \(round)"
            case .confirm(_, let round): "confirm \(round)"
            case .send(_, let round): "send \(round)"
            case .judge(let error, let round): "judge \(round) \(Self.word(error))"
            case .sleep(let instant, let round): "sleep \(round) \(instant - now)"
            case .stop: "stop"
            case .deliver: "deliver"
            case .refund(let tokens): "refund \(tokens)"
            case .finish: "finish"
            }
        }
    }
}

extension OperationRun {
    /// A state in each phase, on its way there by the shortest path.
    static func reaching(_ phase: OperationState.Phase) -> OperationRun {
        var run = OperationRun()
        guard phase != .idle else { return run }
        _ = run.start(timeout: .seconds(60))
        guard phase != .building else { return run }
        _ = run.built()
        guard phase != .inLine else { return run }
        let isPreparing = phase == .preparing || phase == .confirming
        _ = run.admitted(preparing: isPreparing)
        if phase == .confirming { _ = run.prepared() }
        if isPreparing || phase == .onWire { return run }
        if phase == .ended {
            _ = run.succeeded()
            return run
        }
        _ = run.failed()
        if phase == .backingOff { _ = run.judged(.retry(after: .seconds(1), cost: 14)) }
        return run
    }
}
