import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// `URLSession` as one uses it by hand: one delegate, tasks told apart by their identifiers, no more than so many in flight.
final class RawClient: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct Exchange {
        let start: UInt64
        var status = 0
        var body = Data()
    }

    private let request: URLRequest
    private let lock = NSLock()
    private var exchanges: [Int: Exchange] = [:]
    private var countdown = Countdown(0)

    init(_ request: URLRequest) {
        self.request = request
    }

    static func run(_ countdown: Countdown, width: Int, over session: URLSession, client: RawClient) {
        client.lock.withLock { client.countdown = countdown }
        for _ in 0..<width { client.sendNext(over: session) }
        countdown.wait()
    }

    private func sendNext(over session: URLSession) {
        lock.lock()
        defer { lock.unlock() }
        guard let start = countdown.take() else { return }
        let task = session.dataTask(with: request)
        exchanges[task.taskIdentifier] = Exchange(start: start)
        task.resume()
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        lock.withLock { exchanges[dataTask.taskIdentifier]?.status = status }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { exchanges[dataTask.taskIdentifier]?.body.append(data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (exchange, countdown) = lock.withLock {
            (exchanges.removeValue(forKey: task.taskIdentifier), self.countdown)
        }
        sendNext(over: session)
        guard let exchange else { return }
        countdown.count(
            since: exchange.start, isSuccess: error == nil && exchange.status == 200 && !exchange.body.isEmpty)
    }
}
