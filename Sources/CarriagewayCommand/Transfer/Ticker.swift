import Carriageway
import Foundation

/// Does something again and again, on a queue of its own, as long as it is kept.
final class Ticker: Sendable {
    private let timer: Locked<any DispatchSourceTimer>

    init(every interval: DispatchTimeInterval, _ action: @escaping @Sendable () -> Void) {
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "carriageway.command.ticker"))
        timer.schedule(deadline: .now() + interval, repeating: interval)
        timer.setEventHandler(handler: action)
        timer.resume()
        self.timer = Locked(timer)
    }

    deinit {
        timer.withLock { $0.cancel() }
    }
}
