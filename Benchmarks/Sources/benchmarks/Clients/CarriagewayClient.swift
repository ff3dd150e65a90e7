import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Carriageway in its three forms: each sends so many requests, and gives how many failed.
struct CarriagewayClient {
    let queue: NetworkQueue
    let request: URLRequest

    init(
        url: URL, width: Int, configuration: URLSessionConfiguration,
        transport: NetworkSession.TransportKind = .urlSession
    ) {
        request = URLRequest(url: url)
        queue = NetworkQueue(session: NetworkSession(configuration: configuration, transport: transport)) {
            $0.maxConcurrentRequests = width
            $0.maxConcurrentRequestsPerHost = width
        }
    }

    /// Completion handlers, each of which sends the next request.
    func runHandlers(_ count: Int, width: Int) -> Int {
        let countdown = Countdown(count)
        for _ in 0..<width { sendNext(countdown) }
        return countdown.wait()
    }

    private func sendNext(_ countdown: Countdown) {
        guard countdown.take() else { return }
        queue.send(request) { result in
            sendNext(countdown)
            countdown.count(isSuccess: result.isGood)
        }
    }

    /// Tasks that await one response after the other.
    func runTasks(_ count: Int, width: Int) async -> Int {
        let countdown = Countdown(count)
        return await withTaskGroup(of: Int.self) { group in
            for _ in 0..<width { group.addTask { await awaitAll(countdown) } }
            return await group.reduce(0, +)
        }
    }

    private func awaitAll(_ countdown: Countdown) async -> Int {
        var failures = 0
        while countdown.take() {
            let response = try? await queue.response(for: request)
            if response?.data.isEmpty ?? true { failures += 1 }
        }
        return failures
    }

    /// Tasks that await one response after the other, past the queue.
    func runSession(_ count: Int, width: Int) async -> Int {
        let countdown = Countdown(count)
        return await withTaskGroup(of: Int.self) { group in
            for _ in 0..<width {
                group.addTask {
                    var failures = 0
                    while countdown.take() {
                        let response = try? await queue.session.response(for: request)
                        if response?.data.isEmpty ?? true { failures += 1 }
                    }
                    return failures
                }
            }
            return await group.reduce(0, +)
        }
    }

    /// Everything added at once: the queue sees to the width.
    func runBatch(_ count: Int) -> Int {
        let countdown = Countdown(count)
        for _ in 0..<count {
            queue.send(request) { countdown.count(isSuccess: $0.isGood) }
        }
        return countdown.wait()
    }
}

extension Result<NetworkResponse, NetworkError> {
    fileprivate var isGood: Bool {
        (try? get()).map { $0.statusCode == 200 && !$0.data.isEmpty } ?? false
    }
}
