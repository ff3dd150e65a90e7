import Foundation

/// A response on its way, as a plain value: asked again and again, it says the next step until it says `end`.
///
/// Pieces are cut from the body when their turn comes, so that a large body exists once.
struct Answer {
    enum Step {
        case wait(Duration)
        case hold(LoopbackServer.Gate)
        case send(Data)
        case end(Ending)
    }

    /// What becomes of the connection.
    enum Ending {
        case keepAlive
        case close
        case reset
        case stall
    }

    /// What an answer must know about its request.
    struct Context {
        var isHead = false
        var minorVersion = 1
        var keepsAlive = true
        /// The value of the `Date` field.
        var date = ""
    }

    /// A body up to this size leaves together with the head, in one packet where it fits.
    private static let joinedBodyLimit = 16 << 10

    let ending: Ending
    private var prelude: ArraySlice<Step>
    private var head: Data?
    private var pieces: BodyPieces

    init(_ response: LoopbackServer.Response, to context: Context) {
        prelude = response.prelude.map(Self.step)[...]
        switch response.content {
        case .message:
            let head = ResponseHead(response, to: context)
            ending = response.truncation?.ending ?? (head.closes ? .close : .keepAlive)
            pieces = BodyPieces(response, as: head.framing)
            self.head = head.bytes
            if let body = pieces.takeWhole(upTo: Self.joinedBodyLimit) { self.head?.append(body) }
        case .raw(let thenClose):
            ending = response.truncation?.ending ?? (thenClose ? .close : .keepAlive)
            pieces = BodyPieces(response, as: .untilClose)
        case .reset: (ending, pieces) = (.reset, BodyPieces())
        case .close: (ending, pieces) = (.close, BodyPieces())
        case .hang: (ending, pieces) = (.stall, BodyPieces())
        }
    }

    /// "100 Continue", which is no answer of its own.
    static func continuation() -> Answer {
        Answer(.raw(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8), thenClose: false), to: Context())
    }

    mutating func next() -> Step {
        if let step = prelude.popFirst() { return step }
        if let head {
            self.head = nil
            return .send(head)
        }
        return pieces.next() ?? .end(ending)
    }

    private static func step(_ prelude: LoopbackServer.Response.Prelude) -> Step {
        switch prelude {
        case .wait(let duration): .wait(duration)
        case .hold(let gate): .hold(gate)
        case .inform(let status, let headers): .send(ResponseHead.informational(status, headers: headers))
        }
    }
}

extension LoopbackServer.Response.Truncation {
    fileprivate var ending: Answer.Ending {
        switch cut {
        case .close: .close
        case .reset: .reset
        case .stall: .stall
        }
    }
}

/// Cuts a body into what is sent at a time.
struct BodyPieces {
    private var body = Data()
    /// Of all repetitions together.
    private var length = 0
    private var isChunked = false
    private var size = Int.max
    private var interval = Duration.zero
    /// Where the next piece starts, and where sending ends: before the end of the body when it is truncated.
    private var position = 0
    private var limit = 0
    /// What follows the body: the last chunk with the trailers.
    private var terminal: Data?
    private var owesPause = false

    init() {}

    init(_ response: LoopbackServer.Response, as framing: ResponseHead.Framing) {
        guard framing != .none else { return }
        body = response.body
        isChunked = framing == .chunked
        length = response.length
        limit = min(length, response.truncation?.length ?? .max)
        switch response.pacing {
        case .whole: break
        case .chunked(let size, let interval), .dripped(let size, let interval):
            self.size = size
            self.interval = interval
        }
        if isChunked, response.truncation == nil {
            terminal = Data("0\r\n\(ResponseHead.fields(response.trailingFields))\r\n".utf8)
        }
    }

    /// All of the body when it is to be sent in one piece as it is, and small.
    mutating func takeWhole(upTo small: Int) -> Data? {
        guard !isChunked, position == 0, limit <= min(size, small, body.count) else { return nil }
        position = limit
        return body.prefix(limit)
    }

    mutating func next() -> Answer.Step? {
        guard position < limit else {
            defer { terminal = nil }
            return terminal.map(Answer.Step.send)
        }
        if owesPause {
            owesPause = false
            return .wait(interval)
        }
        owesPause = interval > .zero
        return .send(takePiece())
    }

    private mutating func takePiece() -> Data {
        let start = position % body.count
        let full = min(size, body.count - start)
        let count = min(full, limit - position)
        let piece = body.dropFirst(start).prefix(count)
        position += count
        guard isChunked else { return piece }
        var chunk = Data("\(String(full, radix: 16))\r\n".utf8)
        chunk.reserveCapacity(chunk.count + count + 2)
        chunk.append(piece)
        if count == full { chunk.append(contentsOf: [0x0D, 0x0A]) }
        return chunk
    }
}
