#if canImport(Network)
    import Foundation
    import Network

    /// Tells when the network is back after it was away.
    ///
    /// `@unchecked`: the monitor is set up in `init` and after that only cancelled; `wasAway` is used on `queue` only.
    final class NetworkReturn: @unchecked Sendable {
        private let monitor = NWPathMonitor()
        private let queue = DispatchQueue(label: "carriageway.network-return")
        private var wasAway = false

        init(onReturn: @escaping @Sendable () -> Void) {
            monitor.pathUpdateHandler = { [weak self] path in
                guard let self else { return }
                let isThere = path.status == .satisfied
                if isThere, wasAway { onReturn() }
                wasAway = !isThere
            }
            monitor.start(queue: queue)
        }

        deinit {
            monitor.cancel()
        }
    }
#endif
