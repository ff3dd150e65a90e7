import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What is sent over libcurl: the name of the suite that does.
enum CurlRequests: String {
    case get = "curl"
    case post
    /// Over TLS, many over one connection.
    case http2
    /// Over TLS, each over a connection of its own.
    case handshake

    var title: String {
        switch self {
        case .get: "small GET"
        case .post: "POST of 1 KB"
        case .http2: "small GET over HTTP/2"
        case .handshake: "small GET, each over a new connection with TLS"
        }
    }

    var server: ServerNeed {
        switch self {
        case .get, .post: .plain
        case .http2: .multiplexed
        case .handshake: .closing
        }
    }

    var isSecure: Bool { self == .http2 || self == .handshake }

    var widths: [Int] {
        switch self {
        case .get: [1, 16, 64, 256]
        case .post, .http2: [1, 16, 64]
        case .handshake: [1, 16]
        }
    }

    /// How many requests show what one costs.
    func count(width: Int, isRaw: Bool) -> Int {
        switch self {
        case .get, .post, .http2: isRaw ? 3_000 : width == 1 ? 5_000 : 20_000
        case .handshake: 1_000
        }
    }

    /// Text, which C takes too; nil for a GET.
    var body: String? { self == .post ? String(repeating: "x", count: 1_024) : nil }

    func request(_ url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        guard let body else { return request }
        request.httpMethod = "POST"
        request.httpBody = Data(body.utf8)
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        return request
    }
}
