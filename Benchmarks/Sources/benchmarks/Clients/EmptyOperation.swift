import Foundation

/// An asynchronous operation that does nothing: what `OperationQueue` itself costs.
final class EmptyOperation: Operation, @unchecked Sendable {
    private let countdown: Countdown?
    private let lock = NSLock()
    private var isRunning = false
    private var isOver = false

    init(countdown: Countdown? = nil) {
        self.countdown = countdown
    }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { lock.withLock { isRunning } }
    override var isFinished: Bool { lock.withLock { isOver } }

    override func start() {
        change("isExecuting") { isRunning = true }
        change("isExecuting") { isRunning = false }
        change("isFinished") { isOver = true }
        countdown?.count()
    }

    private func change(_ key: String, _ body: () -> Void) {
        willChangeValue(forKey: key)
        lock.withLock(body)
        didChangeValue(forKey: key)
    }
}
