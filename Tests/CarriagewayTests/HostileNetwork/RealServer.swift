import Foundation

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A server that nobody of this package wrote, started by `.ci/run` from `Tests/Servers/hostile-network`.
enum RealServer: String {
    case nginx = "CARRIAGEWAY_NGINX"
    case nginxOther = "CARRIAGEWAY_NGINX_OTHER"
    case nginxSecure = "CARRIAGEWAY_NGINX_SECURE"
    case httpbin = "CARRIAGEWAY_HTTPBIN"

    /// Where the certificate of nginx's authority is, in PEM.
    static var authority: String? { ProcessInfo.processInfo.environment["CARRIAGEWAY_NGINX_AUTHORITY"] }

    private var address: String? { ProcessInfo.processInfo.environment[rawValue] }

    var isThere: Bool { address != nil }

    func url(_ path: String) -> URL {
        URL(string: "\(address ?? "http://127.0.0.1:1")\(path)") ?? URL(fileURLWithPath: "/")
    }

    func request(_ path: String, method: String = "GET", body: Data? = nil, headers: [String: String] = [:])
        -> URLRequest
    {
        var request = URLRequest(url: url(path))
        request.httpMethod = method
        request.httpBody = body
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }
}
