import Foundation

/// Bytes compressed as gzip (RFC 1952), with what the system brings along: zlib on Linux, where Foundation's own libcurl needs
/// it and so has it loaded, and Foundation itself elsewhere.
enum Gzip {
    /// Why nothing can be compressed.
    struct Unavailable: Error, LocalizedError {
        var errorDescription: String? { "there is no zlib on this system" }
    }

    static func compressed(_ data: Data) throws -> Data {
        #if canImport(Darwin)
            // Foundation gives the bare DEFLATE stream.
            let deflated = try (data as NSData).compressed(using: .zlib) as Data
            return header + deflated + bytes(of: CRC32.checksum(of: data))
                + bytes(of: UInt32(truncatingIfNeeded: data.count))
        #else
            guard let zlib = Zlib.shared else { throw Unavailable() }
            guard let compressed = zlib.gzip(data) else { throw Unavailable() }
            return compressed
        #endif
    }

    #if canImport(Darwin)
        /// DEFLATE, no name, no time, an unknown system.
        private static let header = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF])

        private static func bytes(of number: UInt32) -> Data {
            withUnsafeBytes(of: number.littleEndian) { Data($0) }
        }
    #endif
}

#if canImport(Darwin)
    /// The check sum of gzip (RFC 1952, section 8).
    private enum CRC32 {
        private static let table: [UInt32] = (0..<256).map { index in
            (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
        }

        static func checksum(of data: Data) -> UInt32 {
            ~data.reduce(~UInt32(0)) { sum, byte in table[Int((sum ^ UInt32(byte)) & 0xFF)] ^ sum >> 8 }
        }
    }
#else
    /// zlib, found when it is needed: its headers are no part of the toolchain.
    private struct Zlib: @unchecked Sendable {
        // Pointers to functions, which may be called on any thread.
        private typealias Initialize =
            @convention(c) (
                UnsafeMutableRawPointer, Int32, Int32, Int32, Int32, Int32, UnsafePointer<CChar>, Int32
            ) -> Int32
        private typealias Step = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32
        private typealias End = @convention(c) (UnsafeMutableRawPointer) -> Int32

        /// `z_stream`, unchanged since zlib 1.0.
        private struct Stream {
            var nextIn: UnsafePointer<UInt8>?
            var availableIn: UInt32 = 0
            var totalIn: UInt = 0
            var nextOut: UnsafeMutablePointer<UInt8>?
            var availableOut: UInt32 = 0
            var totalOut: UInt = 0
            var message: UnsafeRawPointer?
            var state: UnsafeRawPointer?
            var allocate: UnsafeRawPointer?
            var free: UnsafeRawPointer?
            var opaque: UnsafeRawPointer?
            var dataType: Int32 = 0
            var adler: UInt = 0
            var reserved: UInt = 0
        }

        private let initialize: Initialize
        private let step: Step
        private let end: End

        static let shared: Zlib? = {
            guard let library = dlopen("libz.so.1", RTLD_NOW), let initialize = dlsym(library, "deflateInit2_"),
                let step = dlsym(library, "deflate"), let end = dlsym(library, "deflateEnd")
            else { return nil }
            return Zlib(
                initialize: unsafeBitCast(initialize, to: Initialize.self),
                step: unsafeBitCast(step, to: Step.self), end: unsafeBitCast(end, to: End.self))
        }()

        private static let finish: Int32 = 4
        private static let noFlush: Int32 = 0
        private static let streamEnd: Int32 = 1
        private static let chunk = 64 << 10

        func gzip(_ data: Data) -> Data? {
            let stream = UnsafeMutablePointer<Stream>.allocate(capacity: 1)
            stream.initialize(to: Stream())
            defer { stream.deallocate() }
            // Level 6, DEFLATE, a window of 15 bits with 16 added for gzip, memory level 8, the usual strategy.
            guard initialize(stream, 6, 8, 15 + 16, 8, 0, "1.2", Int32(MemoryLayout<Stream>.size)) == 0 else {
                return nil
            }
            defer { _ = end(stream) }
            var output = Data()
            var buffer = [UInt8](repeating: 0, count: Self.chunk)
            return data.withUnsafeBytes { input -> Data? in
                var rest = input.bindMemory(to: UInt8.self)[...]
                while true {
                    // Lengths have 32 bits there.
                    let piece = rest.prefix(1 << 30)
                    rest = rest.dropFirst(piece.count)
                    let bytes = UnsafeBufferPointer(rebasing: piece)
                    stream.pointee.nextIn = bytes.baseAddress
                    stream.pointee.availableIn = UInt32(bytes.count)
                    let isLast = rest.isEmpty
                    repeat {
                        let status = buffer.withUnsafeMutableBufferPointer { space in
                            stream.pointee.nextOut = space.baseAddress
                            stream.pointee.availableOut = UInt32(space.count)
                            return step(stream, isLast ? Self.finish : Self.noFlush)
                        }
                        // -5 says that there was nothing to do.
                        guard status >= 0 || status == -5 else { return nil }
                        output.append(contentsOf: buffer[..<(Self.chunk - Int(stream.pointee.availableOut))])
                        if status == Self.streamEnd { return output }
                    } while stream.pointee.availableOut == 0 || isLast
                }
            }
        }
    }
#endif
