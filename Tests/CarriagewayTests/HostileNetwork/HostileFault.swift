import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a hostile server does with every request to a path, and how a request to it may end.
struct HostileFault: Sendable, CustomTestStringConvertible {
    enum End: Sendable {
        case success(Int)
        case failure(URLError.Code)
        case status(Int)
        case tooLarge
    }

    let name: String
    let end: End
    let install: @Sendable (LoopbackServer, _ path: String) -> Void

    var testDescription: String { name }

    init(_ name: String, _ end: End, _ response: LoopbackServer.Response) {
        self.init(name, end) { server, path in server.on(path, response) }
    }

    init(_ name: String, _ end: End, install: @escaping @Sendable (LoopbackServer, _ path: String) -> Void) {
        self.name = name
        self.end = end
        self.install = install
    }

    /// Whether the server never comes to an end by itself.
    var hangs: Bool {
        if case .failure(.timedOut) = end { true } else { false }
    }

    /// Whether a result is the one that the fault must lead to, be it after retries.
    func explains(_ result: Result<NetworkResponse, NetworkError>) -> Bool {
        switch (end, result) {
        case (.success(let status), .success(let response)): response.statusCode == status
        case (.failure(let code), .failure(let error)): error.urlErrorCode == code
        case (.status(let status), .failure(let error)): error.response?.statusCode == status
        case (.tooLarge, .failure(let error)): error.innermost.name == "responseTooLarge"
        default: false
        }
    }
}

extension HostileFault {
    private static let text = LoopbackServer.Response.text("some text that is long enough to be cut")
    private static let head = "HTTP/1.1 200 OK\r\n"

    private static func bytes(_ text: String) -> LoopbackServer.Response { .raw(Data(text.utf8)) }

    static let all: [HostileFault] = connections + bodies + heads + statuses + redirects

    private static let connections = [
        HostileFault("no fault", .success(200), text),
        HostileFault("reset at once", .failure(.networkConnectionLost), .reset),
        HostileFault("closed at once", .failure(.networkConnectionLost), .close),
        HostileFault("no answer", .failure(.timedOut), .hang),
        HostileFault("closes after each response", .success(200), text.closing),
    ]

    private static let bodies = [
        HostileFault("reset in the body", .failure(.networkConnectionLost), text.truncated(after: 9, then: .reset)),
        HostileFault("cut short", .failure(.networkConnectionLost), text.truncated(after: 9, then: .close)),
        HostileFault("stalls in the body", .failure(.timedOut), text.truncated(after: 9, then: .stall)),
        HostileFault(
            "drips for ever", .failure(.timedOut),
            .data(Data(count: 2_000)).dripped(size: 1, interval: .milliseconds(100))),
        HostileFault(
            "chunks that break off", .failure(.networkConnectionLost),
            text.chunked(size: 5).truncated(after: 7, then: .close)),
        HostileFault(
            "no chunk size", .failure(.cannotParseResponse),
            bytes(head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n")),
        HostileFault("no gzip", .failure(.cannotDecodeRawData), text.header("Content-Encoding", "gzip")),
        HostileFault("too large", .tooLarge, .data(Data(count: 200_000))),
        HostileFault("too large, of unknown length", .tooLarge, .data(Data(count: 200_000)).chunked(size: 20_000)),
    ]

    private static let heads = [
        HostileFault("no HTTP", .failure(.cannotParseResponse), bytes("220 smtp.example.com ready\r\n")),
        HostileFault(
            "an endless header", .failure(.cannotParseResponse),
            bytes(head + "X: \(String(repeating: "x", count: 200_000))\r\n\r\n")),
        HostileFault(
            "informational responses", .success(200),
            bytes(
                String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 20) + head
                    // Else the next POST may go over a connection that is about to be closed, and is not sent again.
                    + "Content-Length: 0\r\nConnection: close\r\n\r\n")),
        HostileFault(
            "more than it said", .success(200), bytes(head + "Content-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\n\r\n")),
    ]

    private static let statuses = [
        HostileFault(
            "asks for a password", .status(401), .status(401, headers: ["WWW-Authenticate": "Basic realm=\"x\""])),
        HostileFault("asks for a token", .status(401), .status(401, headers: ["WWW-Authenticate": "Bearer"])),
        HostileFault("overloaded", .status(503), .status(503, headers: ["Retry-After": "0"])),
        HostileFault("too many requests", .status(429), .status(429)),
        HostileFault("an error", .status(500), .text("oops", status: 500)),
        HostileFault("not modified", .success(304), .status(304)),
    ]

    private static let redirects = [
        HostileFault("a redirect loop", .failure(.httpTooManyRedirects)) { server, path in
            server.on(path, .redirect(to: path))
        },
        HostileFault("a redirect to nowhere", .failure(.cannotConnectToHost)) { server, path in
            server.on(path, .redirect(to: "http://127.0.0.1:1/", status: 307))
        },
        HostileFault("a redirect to another scheme", .failure(.unsupportedURL), .redirect(to: "file:///etc/passwd")),
        HostileFault("a redirect that hangs", .failure(.timedOut)) { server, path in
            server.on(path, .redirect(to: "\(path)-on", status: 308))
            server.on("\(path)-on", .hang)
        },
        HostileFault("a redirect without a place", .success(302), .status(302)),
    ]
}

extension NetworkError {
    /// Below `.inaccessible`.
    var innermost: NetworkError {
        if case .inaccessible(_, let last) = self { return last.innermost }
        return self
    }
}
