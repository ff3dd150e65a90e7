import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What becomes of the part and of the target when an attempt is let go of in the middle.
struct FileDestinationTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var target: URL { folder.url.appendingPathComponent("file.bin") }

    private func destination(_ options: DownloadOptions = DownloadOptions()) -> FileDestination {
        FileDestination(target: target, options: options) { $0.statusCode < 400 }
    }

    /// Opens it, and says what came of that.
    private func open(_ destination: FileDestination) async -> Result<URLRequest, NetworkError> {
        await withCheckedContinuation { continuation in
            destination.open(request(), flow: { _ in }) { continuation.resume(returning: $0) }
        }
    }

    private func abandon(_ destination: FileDestination) async {
        await withCheckedContinuation { continuation in destination.abandon { continuation.resume() } }
    }

    @Test("an attempt that waits for the part, and is abandoned, does not take it later from those who come next")
    func abandonedWhileWaiting() async throws {
        let held = try PartFile(for: target)
        let waiting = destination()
        let opened = Counter()
        waiting.open(request(), flow: { _ in }) { _ in opened.increment() }
        await abandon(waiting)
        held.letGo(keeping: false)
        // It would try every 50 ms, forty times; as often does this one, which waits for the same part.
        let next = try PartFile(for: target)
        let other = destination()
        #expect(await open(other).failure?.isFileError == true)
        next.letGo(keeping: false)
        #expect(opened.value == 0 && folder.names.isEmpty)
    }

    @Test("a download that is cancelled when all is there, but for the last step, leaves the target as it is")
    func abandonedBeforeTheMove() async throws {
        _ = try folder.file("file.bin", Data("old".utf8))
        let destination = destination()
        guard case .success = await open(destination) else {
            Issue.record("not opened")
            return
        }
        let url = try #require(request().url)
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:]))
        _ = destination.response(response)
        _ = destination.receive(Data("new".utf8))
        let settled: Result<URL?, NetworkError> = await withCheckedContinuation { continuation in
            destination.close(nil) { _ in
                // On the file's queue: what is said now is done after this.
                destination.settle(isGood: true) { continuation.resume(returning: $0) }
                destination.abandon {}
            }
        }
        #expect(settled.failure?.isCancelled == true)
        await abandon(destination)
        #expect(try Data(contentsOf: target) == Data("old".utf8))
        #expect(folder.names == ["file.bin"])
    }
}

extension Result where Failure == NetworkError {
    fileprivate var failure: NetworkError? {
        if case .failure(let error) = self { return error }
        return nil
    }
}
