import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct MultipartFormTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// All bytes of the body.
    private func bytes(of form: MultipartForm) throws -> Data {
        let failure = Locked<NetworkError?>(nil)
        let stream = try #require(try form.transportBody().stream(failure: failure))
        stream.open()
        defer { stream.close() }
        var all = Data()
        var buffer = [UInt8](repeating: 0, count: 1000)
        while true {
            let count = stream.read(&buffer, maxLength: buffer.count)
            if let error = failure.withLock({ $0 }) { throw error }
            guard count > 0 else { return all }
            all.append(contentsOf: buffer[..<count])
        }
    }

    @Test("parts are written as RFC 7578 has them, and the length is known ahead")
    func layout() throws {
        var form = MultipartForm()
        form.append(name: "title", value: "Größe")
        form.append(name: "photo", file: try folder.file("a.png", Data("PNG".utf8)))
        form.append(name: "blob", data: Data("x".utf8), contentType: "text/x")
        let mark = form.boundary
        let expected = """
            --\(mark)
            Content-Disposition: form-data; name="title"

            Größe
            --\(mark)
            Content-Disposition: form-data; name="photo"; filename="a.png"
            Content-Type: image/png

            PNG
            --\(mark)
            Content-Disposition: form-data; name="blob"
            Content-Type: text/x

            x
            --\(mark)--

            """.replacingOccurrences(of: "\n", with: "\r\n")
        #expect(String(decoding: try bytes(of: form), as: UTF8.self) == expected)
        #expect(try form.length() == Int64(expected.utf8.count))
        #expect(form.contentType == "multipart/form-data; boundary=\(mark)")
    }

    @Test("an empty form, empty parts and empty files")
    func empty() throws {
        var form = MultipartForm()
        #expect(String(decoding: try bytes(of: form), as: UTF8.self) == "--\(form.boundary)--\r\n")
        form.append(name: "", value: "")
        form.append(name: "file", file: try folder.file("empty", Data()))
        let length = try form.length()
        #expect(try bytes(of: form).count == Int(try #require(length)))
    }

    @Test("names cannot break out of their header")
    func injection() throws {
        var form = MultipartForm()
        form.append(
            name: "a\"; x=\"\r\nEvil: 1", data: Data(), fileName: "f\n\"", contentType: "text/plain\r\nEvil: 2")
        let head = String(decoding: form.parts[0].head, as: UTF8.self)
        #expect(head.contains("name=\"a%22; x=%22%0D%0AEvil: 1\"; filename=\"f%0A%22\"\r\n"))
        #expect(head.components(separatedBy: "\r\n").count == 5)
    }

    @Test("a file over 4 GB counts with its whole length")
    func largeFile() throws {
        let file = try folder.file("sparse.bin", Data())
        #expect(truncate(file.path, 5 << 30) == 0)
        var form = MultipartForm()
        form.append(name: "f", file: file)
        let overhead = form.parts[0].head.count + 2 + form.boundary.utf8.count + 6
        #expect(try form.length() == 5 << 30 + Int64(overhead))
    }

    @Test("with a stream of unknown length that of the whole is unknown; an impossible one is an error")
    func unknownLength() throws {
        var form = MultipartForm()
        form.append(name: "s") { InputStream(data: Data("abc".utf8)) }
        #expect(try form.length() == nil)
        #expect(String(decoding: try bytes(of: form), as: UTF8.self).contains("\r\n\r\nabc\r\n--"))
        var wrong = MultipartForm()
        for _ in 0..<2 { wrong.append(name: "s", length: .max) { InputStream(data: Data()) } }
        #expect(throws: NetworkError.self) { try wrong.length() }
    }

    @Test("a missing file is a file error; one that gets shorter while it is sent too")
    func files() throws {
        var missing = MultipartForm()
        missing.append(name: "f", file: folder.url.appendingPathComponent("none"))
        #expect(throws: NetworkError.self) { try missing.length() }
        let file = try folder.file("shrinks", Data.pattern(100))
        var form = MultipartForm()
        form.append(name: "f", file: file)
        let body = try form.transportBody()
        #expect(truncate(file.path, 50) == 0)
        let failure = Locked<NetworkError?>(nil)
        let stream = try #require(body.stream(failure: failure))
        stream.open()
        var buffer = [UInt8](repeating: 0, count: 1000)
        var count = 1
        while count > 0 { count = stream.read(&buffer, maxLength: buffer.count) }
        #expect(count == -1)
        let error = stream.streamError
        guard case .fileError? = error as? NetworkError else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    #if os(Linux) || os(macOS)
        @Test(
            "Python's parser reads what was written, names in all of Unicode too", .overEveryWire,
            .enabled(if: Python.path != nil, "there is no python3"))
        func python() async throws {
            let server = try LoopbackServer()
            server.on("/up", .text("ok"))
            let content = Data.pattern(100_000)
            var form = MultipartForm()
            let names = ["plain", "Größe 漢字 🚗", "quote\"d", "line\r\nbreak", "semi;colon=x", " blank "]
            for name in names { form.append(name: name, value: "value of \(name)") }
            form.append(name: "file", file: try folder.file("päge \"1\".bin", content))
            form.append(name: "empty", file: try folder.file("empty.txt", Data()))
            var request = URLRequest(url: server.url("/up"))
            request.httpMethod = "POST"
            _ = try await Wire.session().response(for: request, body: .multipart(form))
            let sent = try #require(server.requests.first)
            #expect(sent.header("Content-Length") == String(sent.body.count))
            let message =
                Data("Content-Type: \(sent.header("Content-Type") ?? "")\r\nMIME-Version: 1.0\r\n\r\n".utf8)
                + sent.body
            let parts = try Python.parts(of: try folder.file("message", message))
            // Python leaves the percent signs of WHATWG as they are.
            let escaped = names.map {
                $0.replacingOccurrences(of: "\"", with: "%22").replacingOccurrences(of: "\r\n", with: "%0D%0A")
            }
            #expect(parts.map(\.name) == escaped + ["file", "empty"])
            #expect(
                parts.prefix(names.count).map { String(decoding: $0.data, as: UTF8.self) }
                    == names.map { "value of \($0)" })
            #expect(parts[names.count].fileName == "päge %221%22.bin" && parts[names.count].data == content)
            #expect(parts[names.count + 1].data.isEmpty && parts[names.count + 1].fileName == "empty.txt")
        }
    #endif
}

#if os(Linux) || os(macOS)
    /// The parser of Python's `email` package, which is none of ours.
    private enum Python {
        struct Part: Decodable {
            let name: String
            let fileName: String?
            let data: Data
        }

        static let path = ["/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }

        static func parts(of message: URL) throws -> [Part] {
            let script = """
                import base64, email, email.policy, json, sys
                message = email.message_from_bytes(open(sys.argv[1], "rb").read(), policy=email.policy.HTTP)
                parts = []
                for part in message.iter_parts():
                    # Headers are bytes of UTF-8, which Python keeps as surrogates.
                    def text(value):
                        return None if value is None else value.encode("utf-8", "surrogateescape").decode("utf-8")
                    parts.append({
                        "name": text(part.get_param("name", header="content-disposition")),
                        "fileName": text(part.get_param("filename", header="content-disposition")),
                        "data": base64.b64encode(part.get_payload(decode=True)).decode()})
                print(json.dumps(parts))
                """
            let process = ChildProcess()
            process.executableURL = URL(fileURLWithPath: path ?? "")
            process.arguments = ["-c", script, message.path]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return try JSONDecoder().decode([Part].self, from: data)
        }
    }
#endif
