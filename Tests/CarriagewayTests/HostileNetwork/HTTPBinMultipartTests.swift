import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Bodies as httpbin reads them: its parser is none of ours.
@Suite(
    "httpbin: bodies",
    .enabled(if: RealServer.httpbin.isThere, "CARRIAGEWAY_HTTPBIN is not set; .ci/run starts httpbin and sets it"))
struct HTTPBinMultipartTests {
    private struct Echo: Decodable {
        var form: [String: Texts]
        var files: [String: Texts]
        var data: String
        var headers: [String: String]
    }

    /// One text, or several of one name.
    private enum Texts: Decodable, Equatable {
        case one(String)
        case several([String])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .one(text)
            } else {
                self = .several(try container.decode([String].self))
            }
        }
    }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func echo(_ body: RequestBody, over wire: Wire) async throws -> Echo {
        let queue = NetworkQueue(session: wire.session())
        return try await queue.value(for: RealServer.httpbin.request("/post", method: "POST"), body: body)
    }

    /// Names in all of Unicode, with what may break a header out of its bounds.
    private static let names = [
        "plain", "two words", "Größe", "名前", "имя", "الاسم", "👩‍👩‍👧‍👦", "e\u{301}", "\u{10FFFF}", "semi;colon", "a=b",
        "per%20cent", "comma,", "'apostrophe'", "[0][key]", "tab\tbed",
    ]

    @Test("multipart: fields of all names, with values as they are", arguments: Wire.all)
    func fields(wire: Wire) async throws {
        var form = MultipartForm()
        for name in Self.names { form.append(name: name, value: "value of \(name)\r\n--line\r\n") }
        form.append(name: "empty", value: "")
        form.append(name: "twice", value: "1")
        form.append(name: "twice", value: "2")
        let echo = try await echo(.multipart(form), over: wire)
        for name in Self.names {
            #expect(echo.form[name] == .one("value of \(name)\r\n--line\r\n"), "\(name)")
        }
        #expect(echo.form["empty"] == .one("") && echo.form["twice"] == .several(["1", "2"]))
        #expect(echo.form.count == Self.names.count + 2 && echo.files.isEmpty)
    }

    @Test("multipart: quotes in names arrive; line breaks as browsers send them", arguments: Wire.all)
    func escaped(wire: Wire) async throws {
        var form = MultipartForm()
        form.append(name: "say \"hi\"", value: "1")
        form.append(name: "two\r\nlines\n", value: "2")
        form.append(name: "f\"\r\n", data: Data("3".utf8), fileName: "a\"b\r\nc.txt")
        let echo = try await echo(.multipart(form), over: wire)
        // This parser takes `%22` back, and nothing else.
        #expect(echo.form == ["say \"hi\"": .one("1"), "two%0D%0Alines%0A": .one("2")])
        #expect(echo.files == ["f\"%0D%0A": .one("3")])
    }

    @Test("multipart: files of all names, empty ones too, from disk, memory and streams", arguments: Wire.all)
    func files(wire: Wire) async throws {
        var form = MultipartForm()
        for (index, name) in Self.names.enumerated() {
            form.append(
                name: name, file: try folder.file("\(index)", Data("content \(index)".utf8)), fileName: "\(name).txt")
        }
        form.append(name: "no bytes", file: try folder.file("empty.txt", Data()))
        form.append(name: "memory", data: Data("in memory".utf8), fileName: "m.txt")
        form.append(name: "stream", length: 8, fileName: "s.txt") { InputStream(data: Data("streamed".utf8)) }
        let large = String(repeating: "0123456789", count: 30_000)
        form.append(name: "large", file: try folder.file("large.txt", Data(large.utf8)))
        form.append(name: "field", value: "beside them")
        let echo = try await echo(.multipart(form), over: wire)
        for (index, name) in Self.names.enumerated() {
            #expect(echo.files[name] == .one("content \(index)"), "\(name)")
        }
        #expect(echo.files["no bytes"] == .one("") && echo.files["memory"] == .one("in memory"))
        #expect(echo.files["stream"] == .one("streamed") && echo.files["large"] == .one(large))
        #expect(echo.form == ["field": .one("beside them")])
    }

    @Test("forms: all names and values, arrays too", arguments: Wire.all)
    func form(wire: Wire) async throws {
        var fields = Self.names.map { URLQueryItem(name: $0, value: "\($0)&=+ %\"\r\n") }
        fields += [URLQueryItem(name: "list", value: "1"), URLQueryItem(name: "list", value: "2")]
        let echo = try await echo(.form(fields), over: wire)
        for name in Self.names { #expect(echo.form[name] == .one("\(name)&=+ %\"\r\n"), "\(name)") }
        #expect(echo.form["list"] == .several(["1", "2"]))
    }

    @Test("files, streams and JSON arrive as they are", arguments: Wire.all)
    func others(wire: Wire) async throws {
        let text = String(repeating: "äöü\n", count: 20_000)
        let file = try folder.file("t.txt", Data(text.utf8))
        #expect(try await echo(.file(file), over: wire).data == text)
        let stream = RequestBody.stream(length: Int64(text.utf8.count)) { InputStream(data: Data(text.utf8)) }
        #expect(try await echo(stream, over: wire).data == text)
        let json = try await echo(.json(["a": 1]), over: wire)
        #expect(json.data == #"{"a":1}"# && json.headers["Content-Type"] == "application/json")
    }
}
