import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A response of a real server, kept in a file for tests.
///
/// ```swift
/// // Once, against the server:
/// let response = try await queue.response(for: request)
/// try RecordedResponse.write([RecordedResponse(response)], to: file)
///
/// // In the tests:
/// for recorded in try RecordedResponse.read(from: file) {
///     stub.replay(recorded)
/// }
/// ```
///
/// Of the request it has method and URL, no header and no body; of the response all but `Set-Cookie`. What is secret in
/// URLs and bodies is the caller's to take out: look at the file before you check it in.
public struct RecordedResponse: Codable, Sendable, Hashable {
    /// The method of the request.
    public var method: String
    /// The URL of the request.
    public var url: URL
    /// The HTTP status code.
    public var status: Int
    /// The headers of the response.
    public var headers: [String: String]
    /// The body, if it is text in UTF-8, so that the file can be read and changed by hand.
    public var text: String?
    /// The body, if it is not.
    public var data: Data?

    /// What a response was, under the URL that was asked for last.
    public init(_ response: NetworkResponse) {
        method = response.request.httpMethod ?? "GET"
        url = response.request.url ?? URL(fileURLWithPath: "/")
        status = response.statusCode
        headers = [:]
        for (name, value) in response.http.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            // The body is decoded, and its length may be another then.
            switch name.lowercased() {
            case "set-cookie", "content-encoding", "content-length", "transfer-encoding", "connection": continue
            default: headers[name] = value
            }
        }
        text = String(data: response.data, encoding: .utf8)
        data = text == nil ? response.data : nil
    }

    /// The body.
    public var body: Data { data ?? Data((text ?? "").utf8) }

    /// Writes responses to a file, as JSON with sorted names.
    public static func write(_ responses: [RecordedResponse], to file: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(responses).write(to: file, options: .atomic)
    }

    /// Reads responses from a file.
    public static func read(from file: URL) throws -> [RecordedResponse] {
        try JSONDecoder().decode([RecordedResponse].self, from: Data(contentsOf: file))
    }
}

extension StubTransport {
    /// Answers requests of the same method, path and query as a response was recorded for, whatever the server.
    public func replay(_ response: RecordedResponse) {
        let answer = Answer.status(response.status, headers: response.headers, body: response.body)
        add([answer]) { request in
            request.httpMethod ?? "GET" == response.method && request.url?.path == response.url.path
                && request.url?.query == response.url.query
        }
    }
}
