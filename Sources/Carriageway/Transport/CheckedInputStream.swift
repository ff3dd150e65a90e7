#if canImport(FoundationNetworking)
    import Foundation

    /// A stream that gives exactly as many bytes as it was said to have, or fails.
    ///
    /// Without it a body that is too short would leave the server waiting until the request times out, and one that is too
    /// long would arrive cut off and look complete. The last bytes are only given once it is known that none follow.
    final class CheckedInputStream: InputStream {
        private let source: InputStream
        private var remaining: Int64?
        private let isFile: Bool
        private let failure: Locked<NetworkError?>
        private var status = Status.notOpen

        /// - Parameters:
        ///   - length: how many bytes there are to be; nil for any number.
        ///   - isFile: what a file has got beyond `length` bytes while it was sent is left out.
        ///   - failure: where the reason is put when reading fails.
        init(_ source: InputStream, length: Int64?, isFile: Bool, failure: Locked<NetworkError?>) {
            self.source = source
            remaining = length
            self.isFile = isFile
            self.failure = failure
            super.init(data: Data())
        }

        override func open() {
            guard status == .notOpen else { return }
            source.open()
            status = .open
        }

        override func close() {
            source.close()
            status = .closed
        }

        override var streamStatus: Status { status }

        override var streamError: (any Error)? { status == .error ? failure.withLock { $0 } : nil }

        /// Whether there are is found out by reading: to ask a file's stream costs a system call.
        override var hasBytesAvailable: Bool { status == .open }

        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
            guard status == .open else { return status == .error ? -1 : 0 }
            guard let remaining else { return ended(source.read(buffer, maxLength: maxLength)) }
            guard remaining > 0 else { return hasMore() ? fail(Self.tooLong) : ended(0) }
            let count = source.read(buffer, maxLength: Int(min(Int64(maxLength), remaining)))
            guard count > 0 else { return count < 0 ? ended(count) : fail(isFile ? Self.shrunk : Self.tooShort) }
            self.remaining = remaining - Int64(count)
            if self.remaining == 0, hasMore() { return fail(Self.tooLong) }
            return count
        }

        private func hasMore() -> Bool {
            guard !isFile else { return false }
            var byte: UInt8 = 0
            return source.read(&byte, maxLength: 1) > 0
        }

        private func ended(_ count: Int) -> Int {
            if count == 0 { status = .atEnd }
            guard count < 0 else { return count }
            let error = source.streamError ?? POSIXError(.EIO)
            return fail(error as? NetworkError ?? .fileError(error))
        }

        private func fail(_ error: NetworkError) -> Int {
            // The source may have said more precisely what is wrong.
            failure.withLock { $0 = $0 ?? error }
            status = .error
            return -1
        }

        private static let tooShort = NetworkError.invalidRequest("the body has fewer bytes than it was said to have")
        private static let shrunk = NetworkError.fileError(POSIXError(.EIO))
        private static let tooLong = NetworkError.invalidRequest("the body has more bytes than it was said to have")

        override func getBuffer(
            _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
        ) -> Bool { false }
    }
#endif
