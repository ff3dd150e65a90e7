import Foundation

/// Several bodies, one after the other, as one stream. Each is opened when its turn comes.
final class BodyChain {
    private var rest: ArraySlice<(body: TransportBody, length: Int64?)>
    private var current: InputStream?
    private let failure = Locked<NetworkError?>(nil)

    init(_ pieces: [(body: TransportBody, length: Int64?)]) {
        rest = pieces[...]
    }

    var error: NetworkError? { failure.withLock { $0 } }

    /// As `InputStream.read`: 0 at the end, -1 after a failure.
    func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        while error == nil {
            if let current {
                let count = current.read(buffer, maxLength: maxLength)
                if count > 0 { return count }
                if count < 0 {
                    let error = current.streamError ?? POSIXError(.EIO)
                    failure.withLock { $0 = $0 ?? error as? NetworkError ?? .fileError(error) }
                    return -1
                }
                current.close()
                self.current = nil
            }
            guard let next = rest.popFirst() else { return 0 }
            // None in two cases: an empty body, and one that cannot be opened, which is in `failure`.
            current = next.body.stream(length: next.length, failure: failure)
            current?.open()
        }
        return -1
    }

    func close() {
        current?.close()
        current = nil
        rest = []
    }
}

enum ChainedInputStream {
    /// A stream over all the pieces, not yet opened.
    static func make(of pieces: [(body: TransportBody, length: Int64?)]) -> InputStream {
        #if canImport(FoundationNetworking)
            return ChainStream(BodyChain(pieces))
        #else
            return ChainPump.stream(of: pieces)
        #endif
    }
}

#if canImport(FoundationNetworking)
    /// On Linux a stream can be made by overriding.
    private final class ChainStream: InputStream {
        private let chain: BodyChain
        private var status = Status.notOpen

        init(_ chain: BodyChain) {
            self.chain = chain
            super.init(data: Data())
        }

        override func open() {
            if status == .notOpen { status = .open }
        }

        override func close() {
            chain.close()
            status = .closed
        }

        override var streamStatus: Status { status }

        override var streamError: (any Error)? { chain.error }

        override var hasBytesAvailable: Bool { status == .open }

        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
            guard status == .open else { return status == .error ? -1 : 0 }
            let count = chain.read(buffer, maxLength: maxLength)
            if count == 0 { status = .atEnd }
            if count < 0 { status = .error }
            return count
        }

        override func getBuffer(
            _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
        ) -> Bool { false }
    }
#else
    /// Elsewhere `CFNetwork` needs one of its own: a pair of bound streams, filled by a thread.
    private enum ChainPump {
        private static let bufferSize = 64 << 10

        static func stream(of pieces: [(body: TransportBody, length: Int64?)]) -> InputStream {
            var input: InputStream?
            var output: OutputStream?
            Stream.getBoundStreams(withBufferSize: bufferSize, inputStream: &input, outputStream: &output)
            guard let input, let output else { return InputStream(data: Data()) }
            // Used by the thread alone from here on.
            nonisolated(unsafe) let sink = output
            Thread.detachNewThread { pump(BodyChain(pieces), into: sink) }
            return input
        }

        private static func pump(_ chain: BodyChain, into output: OutputStream) {
            output.open()
            defer {
                output.close()
                chain.close()
            }
            let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: bufferSize)
            defer { buffer.deallocate() }
            while true {
                // After a failure the stream ends early, and the system finds the length wrong.
                let count = chain.read(buffer, maxLength: bufferSize)
                guard count > 0 else { return }
                var sent = 0
                while sent < count {
                    let written = output.write(buffer + sent, maxLength: count - sent)
                    guard written > 0 else { return }
                    sent += written
                }
            }
        }
    }
#endif
