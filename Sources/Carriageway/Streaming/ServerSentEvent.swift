/// One event of a `text/event-stream` (WHATWG HTML, section 9.2).
public struct ServerSentEvent: Sendable, Equatable {
    /// The kind; "message" if the server named none.
    public var event: String
    /// The data; several lines are joined by line feeds.
    public var data: String
    /// The last identifier that the server gave, with this event or before; empty if none.
    public var id: String

    /// An event of given parts.
    public init(event: String = "message", data: String, id: String = "") {
        self.event = event
        self.data = data
        self.id = id
    }
}

/// Reads the lines of an event stream (WHATWG HTML, section 9.2.6): pure.
struct EventParser {
    /// The identifier to go on from; kept over connections.
    var lastEventID = ""
    /// How long to wait before connecting again, if the server has said so.
    private(set) var retry: Duration?

    private var data: [String] = []
    private var hasData = false
    private var event = ""
    private var id: String
    private var isFirstLine = true

    init(lastEventID: String = "", retry: Duration? = nil) {
        self.lastEventID = lastEventID
        self.retry = retry
        id = lastEventID
    }

    /// Takes a line.
    ///
    /// - Returns: the event, if the line ends one.
    mutating func add(_ line: String) -> ServerSentEvent? {
        var line = line[...]
        if isFirstLine {
            isFirstLine = false
            if line.unicodeScalars.first == "\u{FEFF}" { line.unicodeScalars.removeFirst() }
        }
        guard !line.isEmpty else { return dispatch() }
        guard let colon = line.unicodeScalars.firstIndex(of: ":") else {
            take(line, "")
            return nil
        }
        let name = line[..<colon]
        var value = line[line.unicodeScalars.index(after: colon)...]
        if value.unicodeScalars.first == " " { value.unicodeScalars.removeFirst() }
        if !name.isEmpty { take(name, value) }
        return nil
    }

    private mutating func take(_ name: Substring, _ value: Substring) {
        switch name {
        case "data":
            data.append(String(value))
            hasData = true
        case "event": event = String(value)
        case "id": if !value.unicodeScalars.contains("\0") { id = String(value) }
        case "retry":
            if !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
                retry = Int64(value).map { Duration.milliseconds($0).saturated } ?? .longest
            }
        default: break
        }
    }

    private mutating func dispatch() -> ServerSentEvent? {
        defer {
            data = []
            hasData = false
            event = ""
        }
        lastEventID = id
        guard hasData else { return nil }
        return ServerSentEvent(event: event.isEmpty ? "message" : event, data: data.joined(separator: "\n"), id: id)
    }
}
