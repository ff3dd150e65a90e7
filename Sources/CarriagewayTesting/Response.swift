import Foundation

extension LoopbackServer {
    /// What a route answers: a message, or something that only a broken server does.
    ///
    /// A value is made with one of the static functions and refined with modifiers. A modifier applies to the response
    /// as it stands before it: `.text("x").held(by: gate).preceded(by: 103)` sends the 103 at once and holds the rest;
    /// the other way round the 103 is held as well.
    ///
    /// ```swift
    /// server.on(
    ///     "/report", .status(503).header("Retry-After", "1"),
    ///     .text("done").delayed(.milliseconds(50)))
    /// ```
    public struct Response: Sendable {
        /// The status code.
        public var status: Int
        /// The header fields besides those the server adds (`Date`, `Content-Length`, `Transfer-Encoding` and
        /// `Connection`). One given here takes the place of the server's own. Duplicates are sent as they stand.
        public var headers: [(name: String, value: String)]
        /// The body; with `raw`, all bytes of the answer.
        public var body: Data

        var content = Content.message
        var prelude: [Prelude] = []
        var pacing = Pacing.whole
        var truncation: Truncation?
        var trailingFields: [(name: String, value: String)] = []
        /// How often the body is sent, one after the other.
        var repetitions = 1
        var closesConnection = false

        /// What a truncated response does in place of its rest.
        public enum Cut: Sendable {
            /// Closes the connection in the ordinary way (FIN).
            case close
            /// Resets the connection (RST), once the bytes before the cut have left.
            case reset
            /// Sends nothing more and keeps the connection open.
            case stall
        }

        enum Content {
            case message
            case raw(thenClose: Bool)
            case reset
            case close
            case hang
        }

        enum Pacing {
            case whole
            case chunked(size: Int, interval: Duration)
            case dripped(size: Int, interval: Duration)
        }

        /// What happens before the first byte of the response proper, in order.
        enum Prelude {
            case wait(Duration)
            case hold(Gate)
            case inform(status: Int, headers: [(name: String, value: String)])
        }

        struct Truncation {
            let length: Int
            let cut: Cut
        }

        /// A message with that status, those headers and that body; `status` and `text` read better where they suffice.
        public init(status: Int = 200, headers: [(name: String, value: String)] = [], body: Data = Data()) {
            self.status = status
            self.headers = headers
            self.body = body
        }

        private init(content: Content, body: Data = Data()) {
            self.init(body: body)
            self.content = content
        }
    }
}

// MARK: - Values

extension LoopbackServer.Response {
    /// Plain text in UTF-8.
    public static func text(_ text: String, status: Int = 200) -> Self {
        data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status)
    }

    /// Any bytes with their media type.
    public static func data(
        _ data: Data, contentType: String = "application/octet-stream", status: Int = 200
    ) -> Self {
        Self(status: status, headers: [("Content-Type", contentType)], body: data)
    }

    /// A value as JSON. One that cannot be encoded becomes a 500 whose text says why.
    public static func json(_ value: some Encodable, status: Int = 200) -> Self {
        do {
            let data = try JSONEncoder().encode(value)
            return .data(data, contentType: "application/json", status: status)
        } catch {
            return .text("LoopbackServer cannot encode this response as JSON: \(error)", status: 500)
        }
    }

    /// Any status. Bodies of 1xx, 204 and 304 are not sent (RFC 9110, section 6.4.1).
    public static func status(_ status: Int, headers: [String: String] = [:], body: Data = Data()) -> Self {
        let sorted = headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        return Self(status: status, headers: sorted, body: body)
    }

    /// A redirect with `Location`, absolute or relative, sent as given.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status: status, headers: [("Location", location)])
    }

    /// A response without a body.
    public static func empty(_ status: Int = 204) -> Self {
        Self(status: status)
    }

    /// Resets the connection (RST) without a byte of answer.
    public static var reset: Self { Self(content: .reset) }

    /// Closes the connection (FIN) without a byte of answer.
    public static var close: Self { Self(content: .close) }

    /// Never answers and keeps the connection until the client leaves or the server stops.
    public static var hang: Self { Self(content: .hang) }

    /// Exactly these bytes, be they HTTP or not. Without `thenClose` the connection goes on to the next request.
    public static func raw(_ data: Data, thenClose: Bool = true) -> Self {
        Self(content: .raw(thenClose: thenClose), body: data)
    }
}

// MARK: - Modifiers

extension LoopbackServer.Response {
    /// Adds a header field; one of the same name stays.
    public func header(_ name: String, _ value: String) -> Self {
        with { $0.headers.append((name, value)) }
    }

    /// Waits before the first byte. Rounded up to whole milliseconds; the wait starts when it is this response's turn
    /// on its connection.
    public func delayed(_ duration: Duration) -> Self {
        with { $0.prelude.insert(.wait(duration), at: 0) }
    }

    /// Waits before the first byte until the gate lets it pass.
    public func held(by gate: LoopbackServer.Gate) -> Self {
        with { $0.prelude.insert(.hold(gate), at: 0) }
    }

    /// Sends an informational response first, 100 or 103 for example (RFC 9110, section 15.2).
    public func preceded(by status: Int, headers: [String: String] = [:]) -> Self {
        let fields = headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        return with { $0.prelude.insert(.inform(status: status, headers: fields), at: 0) }
    }

    /// Announces the full length but sends only that many bytes of the body, then does what `then` says. With `raw`
    /// the bytes are counted from the start.
    public func truncated(after length: Int, then cut: Cut) -> Self {
        with { $0.truncation = Truncation(length: max(0, length), cut: cut) }
    }

    /// Sends the body with the chunked coding in chunks of `size` bytes (at least 1), with a pause between two. A client
    /// of HTTP/1.0 gets the body without the coding.
    public func chunked(interval: Duration = .zero, size: Int = 4096) -> Self {
        with { $0.pacing = .chunked(size: max(1, size), interval: interval) }
    }

    /// Sends the body with `Content-Length` in pieces of `size` bytes (at least 1), with a pause between two.
    public func dripped(size: Int, interval: Duration) -> Self {
        with { $0.pacing = .dripped(size: max(1, size), interval: interval) }
    }

    /// Says `Connection: close` and closes after the response.
    public var closing: Self {
        with { $0.closesConnection = true }
    }

    /// Sends the body with the chunked coding and these fields after it (RFC 9112, section 7.1.2).
    public func trailers(_ fields: [(String, String)]) -> Self {
        with { $0.trailingFields += fields.map { (name: $0.0, value: $0.1) } }
    }

    /// Sends the body that many times, one after the other, as one long body: for gigabytes that need not be in memory.
    public func repeated(_ count: Int) -> Self {
        with { $0.repetitions = max(0, count) }
    }

    /// The length of what is sent, in bytes.
    var length: Int {
        let (length, isTooLarge) = body.count.multipliedReportingOverflow(by: repetitions)
        return isTooLarge ? .max : length
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
