import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transport of one session over a stub, which several sessions may share.
final class StubLine: Transport {
    private let stub: StubTransport
    private let events: any TransportEvents
    private let isInvalidated = Locked(false)

    init(_ stub: StubTransport, events: any TransportEvents) {
        self.stub = stub
        self.events = events
    }

    package var maxConnectionsPerHost: Int { stub.maxConnectionsPerHost }
    package let takesIPv6Addresses = true
    package let canPause = true

    package func idleTimeoutToKeep(for request: URLRequest) -> Duration? { nil }

    package func start(_ request: URLRequest, body: TransportBody, claim: (_ identifier: Int) -> Bool) -> Bool {
        stub.start(request, body: body, for: events, claim: claim) { isInvalidated.withLock { !$0 } }
    }

    package func cancel(_ identifier: Int) { stub.complete(identifier, with: .failure(.cancelled)) }
    package func pause(_ identifier: Int) { stub.pause(identifier) }
    package func unpause(_ identifier: Int) { stub.unpause(identifier) }

    package func invalidate() {
        isInvalidated.withLock { $0 = true }
        stub.invalidated()
    }
}

extension NetworkSession {
    /// A session over a stub, in place of a network.
    ///
    /// - Parameters:
    ///   - stub: may be shared by several sessions.
    ///   - time: the clock for delays, timeouts and renewals; the system's if nil.
    ///   - random: what is random in the waits before retries, from 0 for the shortest to 1 for the longest; nil to leave
    ///     it so.
    public convenience init(stub: StubTransport, time: VirtualTime? = nil, random: Double? = nil) {
        self.init(stub: stub, source: time ?? SystemTime.shared, random: random)
    }

    package convenience init(stub: StubTransport, source: any TimeSource, random: Double?) {
        self.init(
            time: source, random: { random ?? Double.random(in: 0...1) }, transport: { StubLine(stub, events: $0) })
    }
}

extension TransportBody {
    /// All of it; nil if there is none, or it cannot be read.
    var contents: Data? {
        switch self {
        case .none: return nil
        case .data(let data): return data
        case .file(let file): return try? Data(contentsOf: file)
        case .stream(_, let open):
            guard let stream = try? open() else { return nil }
            return Self.read(stream)
        }
    }

    private static func read(_ stream: InputStream) -> Data? {
        stream.open()
        defer { stream.close() }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = stream.read(&buffer, maxLength: buffer.count)
            guard count > 0 else { return count == 0 ? data : nil }
            data.append(contentsOf: buffer[..<count])
        }
    }
}
