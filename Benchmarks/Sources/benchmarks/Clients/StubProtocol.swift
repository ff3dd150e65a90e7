import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Answers every request at once, without a network: what is left is the cost of tasks and of who makes them.
final class StubProtocol: URLProtocol {
    static let url = URL(string: "http://stub.invalid/small")!
    private static let body = Data(repeating: 120, count: 100)

    static var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.bare(connectionsPerHost: 64)
        configuration.protocolClasses = [StubProtocol.self]
        return configuration
    }

    override class func canInit(with request: URLRequest) -> Bool { true }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        guard
            let response = HTTPURLResponse(url: Self.url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:])
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Self.body)
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() {}
}

extension URLSessionConfiguration {
    /// The same for `URLSession` by hand and for Carriageway, which on Linux uses no cache and no credential storage.
    static func bare(connectionsPerHost: Int) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpMaximumConnectionsPerHost = connectionsPerHost
        return configuration
    }
}
