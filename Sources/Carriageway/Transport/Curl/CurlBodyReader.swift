#if os(Linux)
    import Foundation

    /// Reads a file or stream ahead, on a queue of its own, since reading may block and the event thread must not.
    ///
    /// It reads until it has enough, and on when the event thread has taken from it.
    final class CurlBodyReader: Sendable {
        enum Portion {
            case bytes(Int)
            case end
            /// Nothing is there yet; the handler that was set is called when there is.
            case wait
            case failed(NetworkError)
        }

        private struct State {
            var parts: [Data] = []
            var size = 0
            /// How much of the first part has been taken.
            var offset = 0
            var isReading = false
            var isAtEnd = false
            var isWaitedFor = false
            var failure: NetworkError?
            var onReady: (@Sendable () -> Void)?
        }

        /// The stream is touched on the queue only.
        private struct Source: @unchecked Sendable {
            let stream: InputStream
        }

        private static let enough = 512 << 10
        private static let step = 128 << 10

        private let source: Source
        private let failure = Locked<NetworkError?>(nil)
        private let queue = DispatchQueue(label: "carriageway.body")
        private let state = Locked(State())

        init(_ body: TransportBody) throws(NetworkError) {
            guard let stream = body.stream(failure: failure) else {
                throw failure.withLock { $0 } ?? .invalidRequest("the body cannot be opened")
            }
            source = Source(stream: stream)
        }

        deinit {
            // Only what is open is closed, and nobody reads any more: the queue would hold the reader.
            if source.stream.streamStatus != .notOpen { source.stream.close() }
        }

        /// Begins to read; `onReady` is called, on some thread, when there is something after `wait`.
        func start(onReady: @escaping @Sendable () -> Void) {
            state.withLock { state in
                state.onReady = onReady
                state.isReading = true
            }
            queue.async {
                self.source.stream.open()
                self.fill()
            }
        }

        /// Nobody waits any more.
        func stop() {
            let released = state.withLock { state in
                defer { state = State(isAtEnd: true) }
                return state
            }
            _ = released
        }

        func take(into buffer: UnsafeMutableRawBufferPointer) -> Portion {
            let (portion, readsOn) = state.withLock { state in
                let portion = Self.take(from: &state, into: buffer)
                let readsOn = !state.isReading && !state.isAtEnd && state.failure == nil && state.size < Self.enough / 2
                if readsOn { state.isReading = true }
                return (portion, readsOn)
            }
            if readsOn { queue.async { self.fill() } }
            return portion
        }

        private static func take(from state: inout State, into buffer: UnsafeMutableRawBufferPointer) -> Portion {
            guard let first = state.parts.first else {
                if let failure = state.failure { return .failed(failure) }
                if state.isAtEnd { return .end }
                state.isWaitedFor = true
                return .wait
            }
            let count = min(buffer.count, first.count - state.offset)
            first.withUnsafeBytes { bytes in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[state.offset..<state.offset + count]))
            }
            state.offset += count
            state.size -= count
            if state.offset == first.count {
                state.parts.removeFirst()
                state.offset = 0
            }
            return .bytes(count)
        }

        private func fill() {
            while true {
                var part = Data(count: Self.step)
                let count = part.withUnsafeMutableBytes { bytes in
                    bytes.bindMemory(to: UInt8.self).baseAddress.map { source.stream.read($0, maxLength: bytes.count) }
                        ?? 0
                }
                let error: NetworkError? =
                    count < 0
                    ? failure.withLock { $0 } ?? source.stream.streamError.map { .fileError($0) }
                        ?? .fileError(POSIXError(.EIO)) : nil
                if count > 0, count < part.count { part = Data(part.prefix(count)) }
                let (isWaitedFor, onReady, readsOn) = state.withLock { state in
                    if count > 0, !state.isAtEnd {
                        state.parts.append(part)
                        state.size += count
                    } else {
                        state.isAtEnd = true
                        state.failure = state.failure ?? error
                    }
                    defer { state.isWaitedFor = false }
                    state.isReading = !state.isAtEnd && state.size < Self.enough
                    return (state.isWaitedFor, state.onReady, state.isReading)
                }
                if isWaitedFor { onReady?() }
                guard readsOn else { return }
            }
        }
    }
#endif
