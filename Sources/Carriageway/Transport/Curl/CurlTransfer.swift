#if os(Linux)
    import CarriagewayCurl
    import Foundation
    import FoundationNetworking

    /// What has come of one request so far. Touched on the event thread only.
    final class CurlTransfer {
        let request: CurlRequest
        var head = ResponseHead()
        var hasGivenResponse = false
        /// Whether libcurl has kept a header of this response, that a folded line can go on with.
        var hasHeader = false
        /// Whether libcurl has shown a line of the head in part only, which it does with those of more than 16 KB.
        var isWithinLine = false
        /// What has come of the body and was not handed on yet.
        var received = Data()
        /// How much of a body in memory has been read.
        var offset = 0
        var sentCount: Int64 = 0
        var reportedCount: Int64 = 0
        /// How often libcurl has begun to send the request.
        var sendCount = 0
        var lastActivity: UInt64
        var isPaused = false
        var isWaitingForBody = false
        /// Whether there is something to hand on.
        var isDirty = false
        /// What we have found wrong; counts for more than what libcurl says.
        var failure: NetworkError?

        init(_ request: CurlRequest, now: UInt64) {
            self.request = request
            lastActivity = now
        }

        /// When the transfer has been idle for too long; a paused one is not idle.
        var deadline: UInt64 { isPaused ? .max : lastActivity + request.idleTimeout }

        /// The number of bytes of the request's body; -1 if it is not known.
        var bodyLength: Int64 {
            switch request.body {
            case .none: 0
            case .data(let data): Int64(data.count)
            case .reader(_, let length): length ?? -1
            }
        }

        func readBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            switch request.body {
            case .none: return 0
            case .data(let data):
                let count = min(buffer.count, data.count - offset)
                guard count > 0 else { return 0 }
                data.withUnsafeBytes { bytes in
                    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
                }
                offset += count
                return sent(count)
            case .reader(let reader, _):
                switch reader.take(into: buffer) {
                case .bytes(let count): return sent(count)
                case .end: return 0
                case .wait:
                    isWaitingForBody = true
                    return Int(CWCURL_READ_PAUSE)
                case .failed(let error):
                    failure = failure ?? error
                    return Int(CWCURL_READ_ABORT)
                }
            }
        }

        private func sent(_ count: Int) -> Int {
            sentCount += Int64(count)
            return count
        }

        /// libcurl sends the body again, from there; false if that cannot be.
        func seekBody(to offset: Int) -> Bool {
            guard case .data(let data) = request.body, (0...data.count).contains(offset) else { return false }
            self.offset = offset
            sentCount = Int64(offset)
            reportedCount = min(reportedCount, sentCount)
            return true
        }

        /// The response, once its head is complete and if it was not asked for before.
        func takeHead() -> ReceivedHead? {
            guard head.isComplete, !hasGivenResponse else { return nil }
            hasGivenResponse = true
            return ReceivedHead(head, of: request.url)
        }
    }
#endif
