import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#elseif canImport(Glibc)
    import Glibc
#endif

/// Turns bytes into requests, however the bytes are cut (RFC 9112). No I/O: bytes go in, events come out.
///
/// Each byte is looked at once: a line that is not complete is searched on from where the last search ended.
struct RequestParser {
    enum Event: Equatable {
        /// The client waits for "100 Continue" before it sends the body.
        case expectsContinue
        case request(ParsedRequest)
        /// The bytes cannot be read on: answer so, then close. Nothing comes after it.
        case rejected(Rejection)
    }

    /// Why the bytes are no request that this server reads.
    struct Rejection: Error, Equatable {
        let status: Int
        let reason: String
    }

    static let headLimit = 1 << 20
    static let chunkLineLimit = 4096

    /// The most bytes a body may have; one byte more is answered 413.
    var bodyLimit = 1 << 30

    private enum Stage {
        case requestLine
        case fields
        case body(remaining: Int)
        case chunkSize
        case chunkData(remaining: Int)
        case chunkEnd
        case trailers
        case rejected
    }

    private var stage = Stage.requestLine
    private var buffer: [UInt8] = []
    /// Where the unread bytes start, and up to where they have been searched for the end of a line.
    private var start = 0
    private var searched = 0
    /// What the lines of the present section (head, chunk size, trailers) may still take.
    private var lineBudget = Self.headLimit
    private var partial = ParsedRequest()

    /// True while bytes are kept that belong to no request given out yet.
    var hasUnreadBytes: Bool { start < buffer.count }

    /// The request whose body is coming, and how much of that has come.
    var bodyUnderWay: (target: String, received: Int)? {
        switch stage {
        case .body, .chunkSize, .chunkData, .chunkEnd, .trailers: (partial.target, partial.body.count)
        case .requestLine, .fields, .rejected: nil
        }
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if start == buffer.count {
            buffer.removeAll(keepingCapacity: true)
            searched -= start
            start = 0
        } else if start > 1 << 16, start > buffer.count / 2 {
            buffer.removeFirst(start)
            searched -= start
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The next event, or nil when it takes more bytes to tell.
    mutating func next() -> Event? {
        do throws(Rejection) {
            while true {
                switch try step() {
                case .starved: return nil
                case .moved: continue
                case .event(let event): return event
                }
            }
        } catch {
            stage = .rejected
            return .rejected(error)
        }
    }

    private enum Step {
        case starved
        case moved
        case event(Event)
    }

    private mutating func step() throws(Rejection) -> Step {
        switch stage {
        case .requestLine: return try readRequestLine()
        case .fields: return try readField()
        case .body(let remaining): return readBody(remaining)
        case .chunkSize: return try readChunkSize()
        case .chunkData(let remaining): return readChunk(remaining)
        case .chunkEnd: return try readChunkEnd()
        case .trailers: return try readTrailer()
        case .rejected: return .starved
        }
    }
}

// MARK: - Head

extension RequestParser {
    private mutating func readRequestLine() throws(Rejection) -> Step {
        guard let line = try takeLine() else { return .starved }
        // RFC 9112, section 2.2: empty lines before a request are ignored.
        guard !line.isEmpty else { return .moved }
        let parsed = buffer.withUnsafeBytes { RequestLine($0[line]) }
        guard let parsed else { throw Rejection(status: 400, reason: "malformed request line") }
        partial.method = parsed.method
        partial.target = parsed.target
        partial.minorVersion = parsed.minorVersion
        stage = .fields
        return .moved
    }

    private mutating func readField() throws(Rejection) -> Step {
        guard let line = try takeLine() else { return .starved }
        guard !line.isEmpty else { return try endHead() }
        partial.headers.append(try field(line))
        return .moved
    }

    private func field(_ line: Range<Int>) throws(Rejection) -> (name: String, value: String) {
        let field = buffer.withUnsafeBytes { FieldLine($0[line]) }
        guard let field else { throw Rejection(status: 400, reason: "malformed header field") }
        return (field.name, field.value)
    }

    private mutating func endHead() throws(Rejection) -> Step {
        let framing = try partial.framing()
        switch framing {
        case .length(let length):
            guard length <= bodyLimit else { throw Self.bodyTooLarge }
            guard length > 0 else { return finish() }
            partial.body.reserveCapacity(min(length, 1 << 24))
            stage = .body(remaining: length)
        case .chunked:
            beginSection(.chunkSize, budget: Self.chunkLineLimit)
        }
        return partial.expectsContinue ? .event(.expectsContinue) : .moved
    }

    private static var bodyTooLarge: Rejection { Rejection(status: 413, reason: "body larger than the limit") }

    private mutating func finish() -> Step {
        let request = partial
        partial = ParsedRequest()
        beginSection(.requestLine, budget: Self.headLimit)
        return .event(.request(request))
    }

    private mutating func beginSection(_ next: Stage, budget: Int) {
        stage = next
        lineBudget = budget
    }
}

// MARK: - Body

extension RequestParser {
    private mutating func readBody(_ remaining: Int) -> Step {
        let left = takeBody(remaining)
        guard left > 0 else { return finish() }
        stage = .body(remaining: left)
        return .starved
    }

    private mutating func readChunkSize() throws(Rejection) -> Step {
        guard let line = try takeLine() else { return .starved }
        guard let size = buffer.withUnsafeBytes({ ChunkSize($0[line])?.value }) else {
            throw Rejection(status: 400, reason: "malformed chunk size")
        }
        guard size <= bodyLimit - partial.body.count else { throw Self.bodyTooLarge }
        if size == 0 {
            beginSection(.trailers, budget: Self.headLimit)
        } else {
            stage = .chunkData(remaining: size)
        }
        return .moved
    }

    private mutating func readChunk(_ remaining: Int) -> Step {
        let left = takeBody(remaining)
        guard left == 0 else {
            stage = .chunkData(remaining: left)
            return .starved
        }
        beginSection(.chunkEnd, budget: Self.chunkLineLimit)
        return .moved
    }

    private mutating func readChunkEnd() throws(Rejection) -> Step {
        guard let line = try takeLine() else { return .starved }
        guard line.isEmpty else { throw Rejection(status: 400, reason: "chunk longer than its size") }
        beginSection(.chunkSize, budget: Self.chunkLineLimit)
        return .moved
    }

    private mutating func readTrailer() throws(Rejection) -> Step {
        guard let line = try takeLine() else { return .starved }
        guard !line.isEmpty else { return finish() }
        _ = try field(line)
        return .moved
    }

    /// Moves up to `wanted` bytes into the body and says how many are still to come.
    private mutating func takeBody(_ wanted: Int) -> Int {
        let count = min(wanted, buffer.count - start)
        partial.body.append(contentsOf: buffer[start..<start + count])
        start += count
        searched = start
        return wanted - count
    }

    /// The next line without its end (CR LF, or LF alone), or nil when its end has not come yet.
    private mutating func takeLine() throws(Rejection) -> Range<Int>? {
        let from = searched
        let newline = buffer.withUnsafeBytes { bytes -> Int? in
            guard from < bytes.count, let base = bytes.baseAddress else { return nil }
            return memchr(base + from, 0x0A, bytes.count - from).map { UnsafeRawPointer($0) - base }
        }
        guard (newline ?? buffer.count) - start < lineBudget else {
            throw Rejection(status: 431, reason: "head larger than the limit")
        }
        guard let newline else {
            searched = buffer.count
            return nil
        }
        let end = newline > start && buffer[newline - 1] == 0x0D ? newline - 1 : newline
        let line = start..<end
        lineBudget -= newline + 1 - start
        start = newline + 1
        searched = start
        return line
    }
}
