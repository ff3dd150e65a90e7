import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Carriageway in its forms: each sends as many requests as the countdown has, and returns when the last has ended.
struct CarriagewayClient {
    let queue: NetworkQueue
    let request: URLRequest

    init(
        _ request: URLRequest, width: Int, configuration: URLSessionConfiguration, serverTrust: ServerTrust = .system,
        transport: NetworkSession.TransportKind = .urlSession
    ) {
        self.request = request
        let session = NetworkSession(configuration: configuration, serverTrust: serverTrust, transport: transport)
        queue = NetworkQueue(session: session) {
            $0.maxConcurrentRequests = width
            $0.maxConcurrentRequestsPerHost = width
        }
    }

    /// Completion handlers, each of which sends the next request.
    func runHandlers(_ countdown: Countdown, width: Int) {
        for _ in 0..<width { sendNext(countdown) }
        countdown.wait()
    }

    private func sendNext(_ countdown: Countdown) {
        guard let start = countdown.take() else { return }
        queue.send(request) { result in
            sendNext(countdown)
            countdown.count(since: start, isSuccess: result.isGood)
        }
    }

    /// Tasks that await one response after the other.
    func runTasks(_ countdown: Countdown, width: Int) async {
        await run(countdown, width: width) { () async throws(NetworkError) in try await queue.response(for: request) }
    }

    /// Tasks that await one response after the other, past the queue.
    func runSession(_ countdown: Countdown, width: Int) async {
        await run(countdown, width: width) { () async throws(NetworkError) in
            try await queue.session.response(for: request)
        }
    }

    private func run(
        _ countdown: Countdown, width: Int, _ send: @escaping @Sendable () async throws(NetworkError) -> NetworkResponse
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<width {
                group.addTask {
                    while let start = countdown.take() {
                        let response = try? await send()
                        countdown.count(since: start, isSuccess: response?.data.isEmpty == false)
                    }
                }
            }
        }
    }

    /// Everything added at once: the queue sees to the width.
    func runBatch(_ countdown: Countdown) {
        while let start = countdown.take() {
            queue.send(request) { countdown.count(since: start, isSuccess: $0.isGood) }
        }
        countdown.wait()
    }
}

extension Result<NetworkResponse, NetworkError> {
    fileprivate var isGood: Bool {
        (try? get()).map { $0.statusCode == 200 && !$0.data.isEmpty } ?? false
    }
}
