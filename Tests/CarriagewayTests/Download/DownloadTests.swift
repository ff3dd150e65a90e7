import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Downloads to files, over real sockets.
@Suite(.overEveryWire)
struct DownloadTests {
    private let folder: TemporaryFolder
    private let queue: NetworkQueue
    private let bytes = Data.pattern(300_000)

    init() throws {
        folder = try TemporaryFolder()
        queue = NetworkQueue(session: Wire.session()) {
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 20)
            $0.retryBudget = nil
        }
    }

    private var target: URL { folder.url.appendingPathComponent("file.bin") }

    private func get(_ url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        request.timeoutInterval = 300
        return request
    }

    private var content: Data? { try? Data(contentsOf: target) }

    /// The first byte that each request asked for.
    private func starts(_ server: RangeServer) -> [String] {
        server.requests.map { $0.header("Range") ?? "whole" }
    }

    @Test("the file is written, and nothing else is left; the data is empty", arguments: [0, 1, 300_000])
    func plain(count: Int) async throws {
        let server = try RangeServer(bytes.prefix(count))
        let response = try await queue.download(get(server.url), to: target)
        #expect(response.fileURL == target && response.data.isEmpty && response.statusCode == 200)
        #expect(content == bytes.prefix(count))
        #expect(folder.names == ["file.bin"])
        #expect(server.requests[0].header("Accept-Encoding") == "identity")
    }

    @Test("the closure form, and an operation of one's own")
    func forms() async throws {
        let server = try RangeServer(bytes)
        let result = await withCheckedContinuation { continuation in
            queue.download(get(server.url), to: target) { continuation.resume(returning: $0) }
        }
        #expect(try result.get().fileURL == target)
        let operation = NetworkOperation(download: get(server.url), to: folder.url.appendingPathComponent("b"))
        queue.addOperation(operation)
        _ = try await operation.response
        #expect(folder.names == ["b", "file.bin"])
    }

    @Test(
        "C40: cut, reset or stalled at every tenth of the body it goes on where it was, and fetches hardly a byte twice",
        arguments: Wire.all, [LoopbackServer.Response.Cut.close, .reset, .stall])
    func resumed(wire: Wire, cut: LoopbackServer.Response.Cut) async throws {
        let server = try RangeServer(bytes)
        let isStalled = if case .stall = cut { true } else { false }
        let queue = NetworkQueue(session: wire.session()) {
            // A slow machine may stall more often than it is told to.
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: isStalled ? 1_000 : 20)
            $0.retryBudget = nil
        }
        // Each answer brings a further tenth.
        server.fail((0..<9).map { _ in { $0.truncated(after: 30_000, then: cut) } })
        var request = get(server.url)
        if isStalled { request.timeoutInterval = 1 }
        let response = try await queue.download(request, to: target)
        #expect(content == bytes)
        #expect(folder.names == ["file.bin"])
        #expect(response.attempts.count >= 10)
        // A reset may lose what had not been read yet: then there are more attempts, but never a start from zero.
        let begun = starts(server).dropFirst().compactMap { Int($0.dropFirst(6).dropLast()) }
        #expect(begun == begun.sorted())
        if case .close = cut { #expect(begun == (1...9).map { $0 * 29_999 }) }
        #expect(
            server.requests.dropFirst().allSatisfy { $0.header("If-Range") == "\"v1\"" || $0.header("Range") == nil })
    }

    @Test("C40: a later run goes on, from another URL too")
    func laterRun() async throws {
        let server = try RangeServer(bytes)
        server.fail([{ $0.truncated(after: 100_000, then: .close) }])
        let operation = NetworkOperation(download: get(server.url), to: target)
        operation.retryPolicy = .never
        queue.addOperation(operation)
        await operation.finished()
        #expect(operation.result?.error?.urlErrorCode == .networkConnectionLost)
        #expect(folder.names == [".file.bin.part", ".file.bin.part.json"])
        _ = try await queue.download(get(server.server.url("/signed?anew=1")), to: target)
        #expect(content == bytes)
        #expect(starts(server) == ["whole", "bytes=99999-"])
        #expect(folder.names == ["file.bin"])
    }

    @Test("C40: by date where there is no tag; from the start where there is neither", arguments: [true, false])
    func byDate(hasDate: Bool) async throws {
        let server = try RangeServer(bytes, tag: nil, modified: hasDate ? "Sun, 06 Nov 1994 08:49:37 GMT" : nil)
        server.fail([{ $0.truncated(after: 100_000, then: .close) }])
        _ = try await queue.download(get(server.url), to: target)
        #expect(content == bytes)
        #expect(starts(server) == ["whole", hasDate ? "bytes=99999-" : "whole"])
    }

    @Test("C40: when the server's copy changes the result is one of the two, never a mix", arguments: [true, false])
    func changed(ignoresIfRange: Bool) async throws {
        let server = try RangeServer(bytes)
        let second = Data.pattern(300_000, seed: 2)
        server.fail([
            { [server] response in
                server.copy.withLock { copy in
                    copy.data = second
                    // A server that does not know If-Range sends the rest of another copy, under another tag.
                    copy.tag = ignoresIfRange ? "\"v1\"" : "\"v2\""
                }
                return response.truncated(after: 100_000, then: .close)
            },
            {
                ignoresIfRange
                    ? LoopbackServer.Response(
                        status: $0.status,
                        headers: $0.headers.map {
                            $0.name == "ETag" ? ($0.name, "\"v2\"") : $0
                        }, body: $0.body) : $0
            },
        ])
        _ = try await queue.download(get(server.url), to: target)
        #expect(content == second)
    }

    @Test("C40: a server without ranges, 206 with a wrong range, and 416 all start over, in the same attempt or not")
    func startsOver() async throws {
        for kind in 0..<3 {
            let server = try RangeServer(bytes)
            server.fail([
                { [server] response in
                    if kind == 0 { server.copy.withLock { $0.takesRanges = false } }
                    if kind == 2 { server.copy.withLock { $0.data = Data("short".utf8) } }
                    return response.truncated(after: 100_000, then: .close)
                },
                { response in
                    guard kind == 1 else { return response }
                    return LoopbackServer.Response(
                        status: 206, headers: [("Content-Range", "bytes 5-299999/300000")], body: response.body)
                },
            ])
            let response = try await queue.download(get(server.url), to: target)
            #expect(content == (kind == 2 ? Data("short".utf8) : bytes))
            #expect(response.attempts.count == 2)
            #expect(server.requests.count == (kind == 0 ? 2 : 3))
            #expect(starts(server).last == (kind == 0 ? "bytes=99999-" : "whole"))
        }
    }

    @Test("without resumption nothing is kept, and a retry starts over")
    func noResumption() async throws {
        let server = try RangeServer(bytes)
        server.fail([{ $0.truncated(after: 100_000, then: .close) }])
        _ = try await queue.download(get(server.url), to: target, options: DownloadOptions(resumes: false))
        #expect(content == bytes && starts(server) == ["whole", "whole"])
    }

    @Test("a redirect is followed with the range")
    func redirect() async throws {
        let server = try RangeServer(bytes)
        server.server.on("/moved", .redirect(to: "/file.bin", status: 302))
        server.fail([{ $0.truncated(after: 100_000, then: .close) }])
        _ = try await queue.download(get(server.server.url("/moved")), to: target)
        #expect(content == bytes)
        #expect(starts(server) == ["whole", "whole", "bytes=99999-", "bytes=99999-"])
    }

    @Test("an error's body is in the error and never in a file; an old file stays as it was")
    func endpointError() async throws {
        let server = try LoopbackServer()
        server.on("/gone", .text("it is gone", status: 404))
        _ = try folder.file("file.bin", Data("old".utf8))
        let error = await failure { () async throws(NetworkError) in
            try await queue.download(get(server.url("/gone")), to: target)
        }
        guard case .endpointError(let response, let body)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(response.statusCode == 404 && body == Data("it is gone".utf8))
        #expect(content == Data("old".utf8) && folder.names == ["file.bin"])
    }

    @Test("an error between two attempts does not cost what there is")
    func errorBetween() async throws {
        let server = try RangeServer(bytes)
        server.fail([{ $0.truncated(after: 100_000, then: .close) }, { _ in .text("busy", status: 503) }])
        _ = try await queue.download(get(server.url), to: target)
        #expect(content == bytes && starts(server) == ["whole", "bytes=99999-", "bytes=99999-"])
    }

    @Test("validation of the type holds for downloads; what fails it is deleted")
    func validation() async throws {
        let server = try LoopbackServer()
        server.on("/page", .data(bytes, contentType: "text/html"))
        let operation = NetworkOperation(download: get(server.url("/page")), to: target)
        operation.validation = .default.contentTypes("application/zip")
        queue.addOperation(operation)
        await operation.finished()
        #expect(operation.result?.error?.name == "unacceptableResponse")
        #expect(folder.names.isEmpty)
        server.on("/missing", .text("a page", status: 404))
        let accepted = NetworkOperation(download: get(server.url("/missing")), to: target)
        accepted.validation = .none
        queue.addOperation(accepted)
        _ = try await accepted.response
        #expect(content == Data("a page".utf8))
    }

    @Test("a file that is there is replaced, refused, or stays beside a numbered one")
    func existing() async throws {
        let server = try RangeServer(bytes)
        _ = try folder.file("file.bin", Data("old".utf8))
        let refused = await failure { () async throws(NetworkError) in
            try await queue.download(get(server.url), to: target, options: DownloadOptions(existingFile: .refuse))
        }
        guard case .fileError(DownloadError.fileExists)? = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        #expect(server.requests.isEmpty && content == Data("old".utf8))
        for number in 2...3 {
            let response = try await queue.download(
                get(server.url), to: target, options: DownloadOptions(existingFile: .number))
            #expect(response.fileURL?.lastPathComponent == "file-\(number).bin")
        }
        #expect(content == Data("old".utf8))
        try await queue.download(get(server.url), to: target)
        #expect(content == bytes)
        #expect(folder.names == ["file-2.bin", "file-3.bin", "file.bin"])
    }

    @Test("a file that appears during the download is not replaced either, if it is not to be")
    func appears() async throws {
        let server = try RangeServer(bytes)
        let gate = LoopbackServer.Gate()
        server.fail([{ $0.held(by: gate) }])
        let operation = NetworkOperation(
            download: get(server.url), to: target, options: DownloadOptions(existingFile: .refuse))
        queue.addOperation(operation)
        try await gate.waitForArrivals(1)
        _ = try folder.file("file.bin", Data("newcomer".utf8))
        gate.open()
        await operation.finished()
        #expect(operation.result?.error?.name == "fileError")
        #expect(content == Data("newcomer".utf8) && folder.names == ["file.bin"])
    }

    @Test("no folder, no permission, a folder in the way: a file error before anything is sent, and nothing is left")
    func impossible() async throws {
        let server = try RangeServer(bytes)
        let inTheWay = folder.url.appendingPathComponent("folder")
        try FileManager.default.createDirectory(at: inTheWay, withIntermediateDirectories: true)
        var targets = [inTheWay, folder.url.appendingPathComponent("none/f"), server.url]
        if geteuid() != 0 {
            let closed = folder.url.appendingPathComponent("closed")
            try FileManager.default.createDirectory(
                at: closed, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o555])
            targets.append(closed.appendingPathComponent("f"))
        }
        for target in targets {
            let error = await failure { () async throws(NetworkError) in
                try await queue.download(get(server.url), to: target)
            }
            #expect(error?.name == "fileError", "\(target)")
        }
        #expect(server.requests.isEmpty)
        #expect(folder.names.filter { $0.contains("part") }.isEmpty)
    }

    @Test("a link in the place of the part is not followed")
    func link() async throws {
        let server = try RangeServer(bytes)
        let victim = try folder.file("victim", Data("precious".utf8))
        try FileManager.default.createSymbolicLink(
            at: folder.url.appendingPathComponent(".file.bin.part"), withDestinationURL: victim)
        let error = await failure { () async throws(NetworkError) in
            try await queue.download(get(server.url), to: target)
        }
        #expect(error?.name == "fileError")
        #expect(try Data(contentsOf: victim) == Data("precious".utf8))
    }

    @Test(
        "a state that is nonsense, and a part that is too long, start over",
        arguments: ["", "{", "{\"validator\":3}", "ok"])
    func strangeParts(state: String) async throws {
        let server = try RangeServer(bytes)
        _ = try folder.file(".file.bin.part", Data(repeating: 7, count: state == "ok" ? 400_000 : 10))
        let json = state == "ok" ? #"{"validator":"\"v1\"","total":300000}"# : state
        _ = try folder.file(".file.bin.part.json", Data(json.utf8))
        try await queue.download(get(server.url), to: target)
        #expect(content == bytes && starts(server) == ["whole"])
        #expect(folder.names == ["file.bin"])
    }

    @Test("a part without state is none")
    func partWithoutState() async throws {
        let server = try RangeServer(bytes)
        _ = try folder.file(".file.bin.part", Data(repeating: 7, count: 10))
        try await queue.download(get(server.url), to: target)
        #expect(content == bytes)
    }

    @Test("a part that was complete when the process died needs one byte more")
    func completePart() async throws {
        let server = try RangeServer(bytes)
        _ = try folder.file(".file.bin.part", bytes)
        _ = try folder.file(".file.bin.part.json", Data(#"{"validator":"\"v1\"","total":300000}"#.utf8))
        try await queue.download(get(server.url), to: target)
        #expect(content == bytes && starts(server) == ["bytes=299999-"])
    }

    @Test("the digest must be right; with a wrong one there is no file")
    func digest() async throws {
        let server = try RangeServer(bytes)
        var hash = SHA256()
        hash.update(bytes)
        let right = hash.hexDigest()
        try await queue.download(get(server.url), to: target, options: DownloadOptions(sha256: right.uppercased()))
        #expect(content == bytes)
        try FileManager.default.removeItem(at: target)
        let error = await failure { () async throws(NetworkError) in
            try await queue.download(
                get(server.url), to: target, options: DownloadOptions(sha256: String(repeating: "0", count: 64)))
        }
        guard case .fileError(DownloadError.wrongDigest(_, let actual))? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(actual == right && folder.names.isEmpty)
    }

    @Test(
        "the server's name is used only when asked for, and never leads out of the folder",
        arguments: [
            ("report.pdf", "report.pdf"), ("../../etc/passwd", "passwd"), ("/etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"), ("..", "index"), (".hidden", "_hidden"), ("a/", "a"), ("-rf", "_rf"),
            ("nul\u{1}l", "nul_l"),
        ])
    func serverName(given: String, used: String) async throws {
        let server = try LoopbackServer()
        let value =
            "attachment; filename*=UTF-8''"
            + (given.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
        server.on("/f", .text("x").header("Content-Disposition", value))
        let options = DownloadOptions(usesServerFileName: true)
        let named = try await queue.download(get(server.url("/f")), to: target, options: options)
        #expect(named.fileURL == folder.url.appendingPathComponent(used))
        #expect(folder.names == [used])
        let plain = try await queue.download(get(server.url("/f")), to: target)
        #expect(plain.fileURL == target)
    }

    @Test("a name of 255 bytes has a part too")
    func longName() async throws {
        let server = try RangeServer(bytes)
        let target = folder.url.appendingPathComponent(String(repeating: "n", count: 255))
        server.fail([{ $0.truncated(after: 100_000, then: .close) }])
        try await queue.download(get(server.url), to: target)
        #expect(try Data(contentsOf: target) == bytes && folder.names.count == 1)
        #expect(starts(server) == ["whole", "bytes=99999-"])
    }

    @Test(
        "cancelled in the middle it keeps what has come, and the next goes on; the file of the same name is not shared")
    func cancelled() async throws {
        let server = try RangeServer(bytes)
        server.fail([{ $0.truncated(after: 100_000, then: .stall) }])
        let operation = NetworkOperation(download: get(server.url), to: target)
        queue.addOperation(operation)
        let part = folder.url.appendingPathComponent(".file.bin.part")
        await becomesTrue { (try? Data(contentsOf: part).count) == 100_000 }
        operation.cancel()
        // The one that follows at once waits for the part.
        try await queue.download(get(server.url), to: target)
        #expect(content == bytes)
        #expect(operation.result?.isCancelled == true)
        #expect(starts(server) == ["whole", "bytes=99999-"])
    }

    @Test("two downloads to one file at a time: one is told that it is in use")
    func inUse() async throws {
        let server = try RangeServer(bytes)
        let gate = LoopbackServer.Gate()
        server.fail([{ $0.held(by: gate) }])
        let first = NetworkOperation(download: get(server.url), to: target)
        queue.addOperation(first)
        try await gate.waitForArrivals(1)
        let error = await failure { () async throws(NetworkError) in
            try await queue.download(get(server.url), to: target)
        }
        guard case .fileError(DownloadError.fileInUse)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        gate.open()
        _ = try await first.response
        #expect(content == bytes)
    }

    @Test("a range of one's own is what the file has")
    func ownRange() async throws {
        let server = try RangeServer(bytes)
        var request = get(server.url)
        request.setValue("bytes=299990-", forHTTPHeaderField: "Range")
        let response = try await queue.download(request, to: target)
        #expect(content == bytes.suffix(10) && response.statusCode == 206)
    }

    @Test("progress counts what there was already, and never falls back")
    func progress() async throws {
        let server = try RangeServer(bytes)
        server.fail([{ $0.truncated(after: 100_000, then: .close) }])
        let operation = NetworkOperation(download: get(server.url), to: target)
        let progress = operation.progress
        queue.addOperation(operation)
        _ = try await operation.response
        #expect(progress.completedUnitCount == 300_000 && progress.totalUnitCount == 300_000)
    }

    @Test("an operation that never runs, and one that is let go of, leave nothing")
    func unused() async throws {
        let server = try RangeServer(bytes)
        do { _ = NetworkOperation(download: get(server.url), to: target) }
        let cancelled = NetworkOperation(download: get(server.url), to: target)
        cancelled.cancel()
        queue.addOperation(cancelled)
        await cancelled.finished()
        #expect(folder.names.isEmpty && server.requests.isEmpty)
    }
}
