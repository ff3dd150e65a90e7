/// What the transport measured of one request, as it went over the network.
///
/// The points in time count from the beginning of the transfer, so the length of a step is the difference to the one
/// before. None of them is there for a step that was not taken, as connecting over a connection that was open already.
public struct TransferMetrics: Sendable, Hashable {
    /// When the host's name was looked up.
    public var nameLookedUp: Duration? { Self.duration(times.nameLookedUp) }
    /// When the connection was made: TCP, without TLS.
    public var connected: Duration? { Self.duration(times.connected) }
    /// When TLS was agreed on.
    public var secured: Duration? { Self.duration(times.secured) }
    /// When the first byte of the response came.
    public var firstByte: Duration? { Self.duration(times.firstByte) }
    /// When the transfer ended.
    public var total: Duration { .microseconds(times.total) }

    /// The bytes of the request's body that were sent.
    public let bodyBytesSent: Int64
    /// The bytes of status lines and headers that came.
    public let headerBytesReceived: Int64
    /// The bytes of the response's body that came, before they were decompressed.
    public let bodyBytesReceived: Int64

    /// Whether the request went over a connection that was open already.
    public let isReusedConnection: Bool

    /// The version of HTTP, by the names of TLS (RFC 7301): "http/1.1", "h2"; nil if no response came.
    public let networkProtocolName: String?

    /// Microseconds; 0 for what did not take place. Kept small: each operation has one for each of its attempts.
    struct Times: Sendable, Hashable {
        var nameLookedUp: Int64 = 0
        var connected: Int64 = 0
        var secured: Int64 = 0
        var firstByte: Int64 = 0
        var total: Int64 = 0
    }

    private let times: Times

    init(
        times: Times, bodyBytesSent: Int64, headerBytesReceived: Int64, bodyBytesReceived: Int64,
        isReusedConnection: Bool, networkProtocolName: String?
    ) {
        self.times = times
        self.bodyBytesSent = bodyBytesSent
        self.headerBytesReceived = headerBytesReceived
        self.bodyBytesReceived = bodyBytesReceived
        self.isReusedConnection = isReusedConnection
        self.networkProtocolName = networkProtocolName
    }

    private static func duration(_ microseconds: Int64) -> Duration? {
        microseconds > 0 ? .microseconds(microseconds) : nil
    }
}
