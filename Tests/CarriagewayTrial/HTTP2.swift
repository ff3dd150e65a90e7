import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Requests over TLS to a server whose authority the system knows: HTTP/2, many at once, and no way down to http.
struct HTTP2 {
    private let base: String
    private let transport: NetworkSession.TransportKind

    init(_ arguments: TrialArguments) {
        base = arguments.text("url") ?? ""
        transport = arguments.transport
    }

    func run() async throws {
        let queue = NetworkQueue(session: NetworkSession(transport: transport)) { $0.retryPolicy = .never }
        let version = try await queue.data(for: request("/protocol"))
        try Fault.unless(version == Data("HTTP/2.0".utf8), "spoken was \(String(decoding: version, as: UTF8.self))")
        let operations = (0..<200).map { _ in queue.send(request("/small.txt")) }
        for operation in operations {
            let data = try await operation.response.data
            try Fault.unless(data == Data("small".utf8), "\(data.count) bytes")
        }
        let missing = NetworkOperation(request("/missing"))
        queue.addOperation(missing)
        do throws(NetworkError) {
            _ = try await missing.response
            throw .invalidRequest("there is a file that there is not")
        } catch {
            try Fault.unless(error.response?.statusCode == 404, "\(error)")
        }
        do throws(NetworkError) {
            _ = try await queue.data(for: request("/down"))
            throw .invalidRequest("fell to http")
        } catch {
            guard case .urlError(let error) = error, error.code == .appTransportSecurityRequiresSecureConnection else {
                throw error
            }
        }
    }

    private func request(_ path: String) -> URLRequest {
        URLRequest(url: URL(string: base + path) ?? URL(fileURLWithPath: "/"))
    }
}
