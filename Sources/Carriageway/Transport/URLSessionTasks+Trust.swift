#if canImport(Security)
    import Foundation
    import Security

    /// The server's certificates, before anything is sent to it. This file is compiled and run on Apple's systems only.
    extension URLSessionTasks {
        /// Answers a challenge of the kind `NSURLAuthenticationMethodServerTrust`.
        func judge(
            _ challenge: URLAuthenticationChallenge, of task: Int,
            answer: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let space = challenge.protectionSpace
            var parts = URLComponents()
            parts.scheme = "https"
            parts.host = space.host
            parts.port = space.port
            guard let url = parts.url else {
                distrust(task)
                return answer(.cancelAuthenticationChallenge, nil)
            }
            let serverTrust = serverTrust.trust(for: url)
            guard serverTrust != .system else { return answer(.performDefaultHandling, nil) }
            // Judging may read from the network, and this is the delegate queue.
            DispatchQueue.global().async {
                // Taken from the challenge here: a SecTrust must not go from one thread to another.
                guard let trust = challenge.protectionSpace.serverTrust, serverTrust.accepts(trust, for: url) else {
                    self.distrust(task)
                    return answer(.cancelAuthenticationChallenge, nil)
                }
                answer(.useCredential, URLCredential(trust: trust))
            }
        }

        private func distrust(_ task: Int) {
            records.withLock { $0[task]?.isDistrusted = true }
        }
    }
#endif
