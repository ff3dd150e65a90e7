import CarriagewayTesting
import Foundation

@testable import Carriageway

/// Serves one file as a good server does: entity tag or date, ranges, `If-Range`; and goes wrong where a test says so.
final class RangeServer: Sendable {
    struct Copy: Sendable {
        var data: Data
        var tag: String?
        var modified: String?
        var takesRanges = true
    }

    let server: LoopbackServer
    let copy: Locked<Copy>
    private let faults = Locked<[@Sendable (LoopbackServer.Response) -> LoopbackServer.Response]>([])

    init(_ data: Data, tag: String? = "\"v1\"", modified: String? = nil) throws {
        server = try LoopbackServer()
        copy = Locked(Copy(data: data, tag: tag, modified: modified))
        server.on("/*") { [weak self] request in self?.answer(request) ?? .status(500) }
    }

    var url: URL { server.url("/file.bin") }
    var requests: [LoopbackServer.Request] { server.requests }

    /// What happens to the next answers, one each.
    func fail(_ changes: [@Sendable (LoopbackServer.Response) -> LoopbackServer.Response]) {
        faults.withLock { $0 += changes }
    }

    private func answer(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
        let response = copy.withLock { Self.response(to: request, from: $0) }
        let fault = faults.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        return fault?(response) ?? response
    }

    static func response(to request: LoopbackServer.Request, from copy: Copy) -> LoopbackServer.Response {
        var headers: [(name: String, value: String)] = []
        if let tag = copy.tag { headers.append(("ETag", tag)) }
        if let modified = copy.modified { headers.append(("Last-Modified", modified)) }
        let isSame = request.header("If-Range").map { $0 == copy.tag || $0 == copy.modified } ?? true
        guard copy.takesRanges, isSame, let range = request.header("Range"),
            let start = Int(range.dropFirst("bytes=".count).prefix { $0 != "-" })
        else { return LoopbackServer.Response(headers: headers, body: copy.data) }
        let size = copy.data.count
        guard start < size else {
            return LoopbackServer.Response(status: 416, headers: [("Content-Range", "bytes */\(size)")])
        }
        headers.append(("Content-Range", "bytes \(start)-\(size - 1)/\(size)"))
        return LoopbackServer.Response(status: 206, headers: headers, body: copy.data.dropFirst(start))
    }
}
