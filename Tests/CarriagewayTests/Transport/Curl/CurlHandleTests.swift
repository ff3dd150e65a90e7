#if os(Linux)
    import CarriagewayTesting
    import Foundation
    import FoundationNetworking
    import Testing

    @testable import Carriageway

    /// Handles of libcurl's that make one transfer after the other.
    struct CurlHandleTests {
        private let server: LoopbackServer

        init() throws {
            server = try LoopbackServer()
            server.on("/", .text("x"))
        }

        private func request(_ path: String = "/", _ change: (inout URLRequest) -> Void = { _ in }) -> URLRequest {
            var request = URLRequest(url: server.url(path))
            change(&request)
            return request
        }

        @Test("a request has nothing of those before it, whatever they were")
        func nothingLeft() async throws {
            let kinds: [(inout URLRequest) -> Void] = [
                { _ in },
                { $0.setValue("b", forHTTPHeaderField: "X-A") },
                { $0.httpMethod = "HEAD" },
                {
                    $0.httpMethod = "POST"
                    $0.httpBody = Data("small".utf8)
                },
                {
                    $0.httpMethod = "PUT"
                    $0.httpBody = Data(repeating: 1, count: 100_000)
                },
                { $0.httpMethod = "POST" },
                { $0.httpMethod = "DELETE" },
                { $0.httpMethod = "OPTIONS" },
                {
                    $0.httpMethod = "QUERY"
                    $0.httpBodyStream = InputStream(data: Data("stream".utf8))
                },
                { $0.setValue("c=1", forHTTPHeaderField: "Cookie") },
                { $0.setValue("Basic eDp5", forHTTPHeaderField: "Authorization") },
                { $0.url = URL(string: "http://us:pw@127.0.0.1:\(server.port)/") },
                { $0.timeoutInterval = 30 },
                { $0.setValue("identity", forHTTPHeaderField: "Accept-Encoding") },
                { $0.setValue("other", forHTTPHeaderField: "User-Agent") },
                { $0.setValue("bytes=0-1", forHTTPHeaderField: "Range") },
            ]
            func sent(_ kind: (inout URLRequest) -> Void, over session: NetworkSession) async throws -> String {
                let request = request("/", kind)
                _ = try await session.response(for: request)
                let record = try #require(server.requests.last)
                let headers = record.headers.map { "\($0.name): \($0.value)" }.sorted()
                return "\(record.method) \(record.path) \(headers) \(record.body.count)"
            }
            var alone: [String] = []
            for kind in kinds { alone.append(try await sent(kind, over: Wire.curl.session())) }
            let session = Wire.curl.session()
            for index in kinds.indices + (0..<300).map({ _ in Int.random(in: kinds.indices) }) {
                #expect(try await sent(kinds[index], over: session) == alone[index])
            }
        }

        @Test("what is head is head and what is body is body, one response after the other over the same handle")
        func headAndBody() async throws {
            let long = String(repeating: "v", count: 40_000)
            let answers: [(head: String, body: String, name: String?)] = [
                ("HTTP/1.1 200 OK\r\n", "X: 1\r\n\r\nrest", nil),
                ("HTTP/1.0 200\r\nHTTP/x: 1\r\n", "b", "HTTP/x"),
                ("HTTP/1.1 200 OK\r\nX-A: 1\r\nHTTP/1.1: 300\r\n", "HTTP/1.1 200 OK\r\n\r\n", nil),
                ("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nX-A: 1\r\n", " b", "X-A"),
                ("HTTP/1.1 200 OK\r\nX-A: \(long)\r\n and more\r\n", "\r\n\r\n", "X-A"),
                ("HTTP/1.1 200 OK\nX-A:1\n", "\tb", "X-A"),
                ("http/1.1 200 OK\r\nX-A: 1\r\n", "lower", "X-A"),
                ("HTTP/1.1 200 \(long)\r\nX-A: 1\r\n", "long", "X-A"),
            ]
            for (index, answer) in answers.enumerated() {
                server.on("/\(index)", .raw(Data("\(answer.head)\r\n\(answer.body)".utf8)))
            }
            server.on("/none", .empty(204))
            server.on("/zip", LoopbackServer.Response.text("x").chunked(size: 1).header("X-A", "1"))
            server.on("/trailers", LoopbackServer.Response.text("t").trailers([("X-B", "1"), ("HTTP/1.1", "200")]))
            let session = Wire.curl.session()
            for _ in 0..<100 {
                let index = Int.random(in: answers.indices)
                let response = try await session.response(for: request("/\(index)"))
                #expect(response.data == Data(answers[index].body.utf8), "\(index)")
                if let name = answers[index].name {
                    #expect(response.http.value(forHTTPHeaderField: name) != nil, "\(index)")
                }
                #expect(try await session.data(for: request("/none")).isEmpty)
                #expect(try await session.data(for: request("/zip")) == Data("x".utf8))
                #expect(try await session.data(for: request("/trailers")) == Data("t".utf8))
                #expect(try await session.data(for: request("/zip") { $0.httpMethod = "HEAD" }).isEmpty)
            }
        }
    }
#endif
