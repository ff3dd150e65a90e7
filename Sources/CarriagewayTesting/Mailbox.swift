import Foundation

/// The way into the loop from other threads: messages, and a pipe that wakes `poll`. All state is guarded by
/// `condition`.
final class Mailbox: @unchecked Sendable {
    enum Message {
        /// A gate has let pass what this wait of this connection held.
        case resume(connection: Int, wait: Int)
        case stop
    }

    /// The end of the pipe that the loop polls.
    let readEnd: Int32

    private let condition = NSCondition()
    private let writeEnd: Int32
    private var messages: [Message] = []
    private var isFinished = false

    init() throws {
        (readEnd, writeEnd) = try Sockets.wakeUpPipe()
    }

    /// Leaves a message; nobody reads it once the loop has ended.
    func post(_ message: Message) {
        condition.withLock {
            guard !isFinished else { return }
            // One byte wakes the loop for all messages that follow until it has taken them.
            if messages.isEmpty { Sockets.writeByte(to: writeEnd) }
            messages.append(message)
        }
    }

    /// All messages, called by the loop when `readEnd` is readable.
    func take() -> [Message] {
        condition.withLock {
            Sockets.drain(readEnd)
            defer { messages = [] }
            return messages
        }
    }

    /// The loop has ended and everything it owned is closed.
    func finish() {
        condition.withLock {
            guard !isFinished else { return }
            isFinished = true
            Sockets.dispose(of: readEnd)
            Sockets.dispose(of: writeEnd)
            condition.broadcast()
        }
    }

    func waitUntilFinished() {
        condition.withLock {
            while !isFinished { condition.wait() }
        }
    }
}

/// What can be switched while the server runs. All state is guarded by `lock`.
final class Settings: @unchecked Sendable {
    struct Values {
        var answersExpectContinue = true
        var bodyLimit = 1 << 30
        var interruptions: [String: Interruptions] = [:]
    }

    /// What is to happen to the requests to one path, while their bodies come.
    struct Interruptions {
        var lengths: ArraySlice<Int>
        let cut: LoopbackServer.Response.Cut
    }

    private let lock = NSLock()
    private var values = Values()

    var current: Values {
        lock.withLock { values }
    }

    func update(_ change: (inout Values) -> Void) {
        lock.withLock { change(&values) }
    }

    /// What becomes of a request now that so many bytes of its body have come; nil if nothing does.
    func interruption(of target: String, at received: Int) -> LoopbackServer.Response.Cut? {
        lock.withLock {
            guard !values.interruptions.isEmpty else { return nil }
            let path = RequestTarget(target).path
            guard let next = values.interruptions[path], let length = next.lengths.first, received >= length
            else { return nil }
            values.interruptions[path]?.lengths.removeFirst()
            return next.cut
        }
    }
}
