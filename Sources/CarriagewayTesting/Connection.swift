import Foundation

/// One client connection. It belongs to the loop and never leaves its thread.
final class Connection {
    enum Phase {
        case serving
        /// All is sent and said; what the client still sends is thrown away, as an RST would take the answer with it.
        case lingering
        case closed
    }

    /// What the present answer waits for.
    enum Pause {
        case none
        case timer
        case gate(LoopbackServer.Gate, ticket: Int)
        /// An RST must not overtake the bytes before it.
        case flushBeforeReset
        case forever
    }

    struct Exchange {
        var answer: Answer
        /// The path of the request; nil for what answers no request: 100 Continue, 400.
        let path: String?
    }

    /// How many requests are read ahead of the answers. A client that pipelines more has to wait.
    static let pipelineLimit = 256

    let number: Int
    let descriptor: Int32
    /// Where the loop keeps it.
    var slot: Int

    var parser = RequestParser()
    var phase = Phase.serving
    var pause = Pause.none
    /// Counts the pauses, so that a wake-up for an earlier one is known as such.
    var pauseNumber = 0
    var current: Exchange?
    /// What is being sent, and how much of it has been.
    var output = Data()
    var sent = 0
    /// The client sends no more.
    var inputEnded = false
    /// False after the last request that this connection will answer.
    var readsRequests = true
    var hasDiscardedInput = false
    /// What the client sends stays in the network, until its own side is full.
    var readsNoMore = false

    private var queue: [Exchange] = []
    private var queueHead = 0

    init(number: Int, descriptor: Int32, slot: Int) {
        self.number = number
        self.descriptor = descriptor
        self.slot = slot
    }

    var hasOutput: Bool { sent < output.count }

    var isQueueFull: Bool { queue.count - queueHead >= Self.pipelineLimit }

    var hasAnswers: Bool { current != nil || queueHead < queue.count }

    var isPaused: Bool {
        if case .none = pause { false } else { true }
    }

    var wantsToRead: Bool {
        switch phase {
        case .serving: !inputEnded && !readsNoMore && (!readsRequests || !isQueueFull)
        case .lingering: true
        case .closed: false
        }
    }

    var wantsToWrite: Bool {
        phase == .serving && !isPaused && (hasOutput || hasAnswers)
    }

    func enqueue(_ exchange: Exchange) {
        queue.append(exchange)
    }

    /// The next step of the present answer, or of the next one in line.
    func nextStep() -> Answer.Step? {
        if current == nil {
            guard queueHead < queue.count else { return nil }
            current = queue[queueHead]
            queueHead += 1
            if queueHead == queue.count {
                queue.removeAll(keepingCapacity: true)
                queueHead = 0
            }
        }
        return current?.answer.next()
    }

    /// The paths of all requests without their whole answer.
    var unansweredPaths: [String] {
        ([current?.path] + queue[queueHead...].map(\.path)).compactMap { $0 }
    }

    /// Lets go all answers.
    func removeAnswers() {
        current = nil
        queue = []
        queueHead = 0
        output = Data()
        sent = 0
    }
}
