import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What the progress of operations and queues says.
struct ProgressTests {
    /// Lets what the pipeline has yet to say be said.
    private func settle(_ stage: Stage) {
        stage.transport.settled()
        stage.session.pipeline.sync {}
    }

    @Test("wanted next: bytes never fall back over a retry, and up and down are never mixed")
    func monotonic() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session) { $0.retryPolicy = .fixed(interval: .zero, maxRetries: 3) }
        var put = request(method: "PUT")
        put.httpBody = Data(count: 100)
        let operation = NetworkOperation(put)
        let (down, up) = (operation.progress, operation.uploadProgress)
        queue.addOperation(operation)
        await stage.transport.waitForSent(1)
        let first = stage.transport.sent[0].identifier
        stage.session.router.task(first, sentBodyBytes: 80, of: 0)
        stage.transport.give(first, status: 200, headers: ["Content-Length": "50"], body: Data(count: 40))
        settle(stage)
        #expect(up.completedUnitCount == 80 && up.totalUnitCount == 100)
        #expect(down.completedUnitCount == 40 && down.totalUnitCount == 50)
        stage.transport.complete(first, with: .failure(.networkConnectionLost))
        await stage.transport.waitForSent(2)
        let second = stage.transport.sent[1].identifier
        stage.session.router.task(second, sentBodyBytes: 10, of: 0)
        stage.transport.give(second, status: 200, headers: ["Content-Length": "50"], body: Data(count: 5))
        settle(stage)
        #expect(up.completedUnitCount == 80 && down.completedUnitCount == 40)
        stage.session.router.task(second, sentBodyBytes: 100, of: 0)
        stage.transport.give(second, body: Data(count: 45))
        stage.transport.finish(second)
        _ = try await operation.response
        await operation.finished()
        #expect(up.completedUnitCount == 100 && up.isFinished)
        #expect(down.completedUnitCount == 50 && down.totalUnitCount == 50 && down.isFinished)
    }

    @Test("a progress that is asked for in the middle, or after the end, says what has been")
    func askedLate() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let operations = [queue.send(request()), queue.send(request()), queue.send(request())]
        await stage.transport.waitForSent(3)
        let tasks = stage.transport.sent.map(\.identifier)
        for task in tasks {
            stage.transport.give(task, status: 200, headers: ["Content-Length": "50"], body: Data(count: 20))
        }
        settle(stage)
        let middle = operations[0].progress
        #expect(middle.completedUnitCount == 20 && middle.totalUnitCount == 50 && !middle.isFinished)
        stage.transport.give(tasks[1], body: Data(count: 30))
        stage.transport.finish(tasks[1])
        await operations[1].finished()
        let end = operations[1].progress
        #expect(end.completedUnitCount == 50 && end.totalUnitCount == 50 && end.isFinished)
        #expect(operations[1].uploadProgress.isFinished)
        operations[2].cancel()
        await operations[2].finished()
        #expect(operations[2].progress.completedUnitCount == 20 && !operations[2].progress.isFinished)
        operations[0].cancel()
    }

    @Test("what is said late does not take back what was said after it; many threads may say and ask at once")
    func threads() {
        var transfer = TransferProgress()
        let progress = transfer.asked { Progress.discreteProgress(totalUnitCount: -1) }
        let start = Moment.now
        _ = transfer.moved(0, of: 50, at: start)
        _ = transfer.moved(10, of: 50, at: start + .seconds(1))
        let late = transfer.update()
        _ = transfer.moved(50, of: 50, at: start + .seconds(2))
        let end = transfer.completed()
        end?.perform()
        late?.perform()
        #expect(progress.completedUnitCount == 50 && progress.isFinished)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<2_000 {
                end?.perform()
                #expect(progress.bytesPerSecond != nil)
            }
        }
    }

    @Test("the total is unknown under a content encoding, and the speed is told")
    func unknownTotal() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let operation = NetworkOperation(request())
        let progress = operation.progress
        queue.addOperation(operation)
        await stage.transport.waitForSent(1)
        let task = stage.transport.sent[0].identifier
        stage.transport.give(
            task, status: 200, headers: ["Content-Length": "50", "Content-Encoding": "gzip"], body: Data(count: 1_000))
        settle(stage)
        #expect(progress.totalUnitCount == -1 && progress.completedUnitCount == 1_000)
        #expect(progress.bytesPerSecond == nil)
        stage.time.advance(by: .seconds(2))
        stage.transport.give(task, body: Data(count: 3_000))
        settle(stage)
        #expect(progress.bytesPerSecond == 1_500)
        stage.transport.finish(task)
        _ = try await operation.response
    }

    @Test("the queue's progress adds up, whenever it is asked for")
    func queueProgress() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        for _ in 0..<3 { queue.send(request()) }
        await stage.transport.waitForSent(3)
        let tasks = stage.transport.sent.map(\.identifier)
        stage.transport.give(tasks[0], status: 200, headers: ["Content-Length": "100"], body: Data(count: 10))
        settle(stage)
        let progress = queue.progress
        for task in tasks.dropFirst() {
            stage.transport.give(task, status: 200, headers: ["Content-Length": "200"], body: Data(count: 50))
        }
        settle(stage)
        #expect(progress.completedUnitCount == 110 && progress.totalUnitCount == 500)
        for (task, rest) in zip(tasks, [90, 150, 150]) {
            stage.transport.give(task, body: Data(count: rest))
            stage.transport.finish(task)
        }
        await queue.drained()
        settle(stage)
        #expect(progress.completedUnitCount == 500 && progress.isFinished)
    }

    @Test("cancelling a progress cancels: the operation's own, or all of the queue's")
    func cancelling() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let operations = (0..<3).map { _ in queue.send(request()) }
        await stage.transport.waitForSent(3)
        operations[0].uploadProgress.cancel()
        await operations[0].finished()
        #expect(operations[0].result?.isCancelled == true && operations[1].result == nil)
        queue.progress.cancel()
        await queue.drained()
        #expect(operations.allSatisfy { $0.result?.isCancelled == true })
    }

    @Test("pausing a progress pauses the transfer where the transport can; the queue's suspends the queue")
    func pausing() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let operation = NetworkOperation(request())
        let early = operation.progress
        #expect(!early.isPausable)
        queue.addOperation(operation)
        await stage.transport.waitForSent(1)
        let task = stage.transport.sent[0].identifier
        #expect(early.isPausable)
        early.pause()
        while stage.transport.paused != [task] { try await Task.sleep(for: .milliseconds(2)) }
        early.resume()
        while !stage.transport.paused.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        queue.progress.pause()
        while !queue.isSuspended { try await Task.sleep(for: .milliseconds(2)) }
        queue.progress.resume()
        while queue.isSuspended { try await Task.sleep(for: .milliseconds(2)) }
        stage.transport.complete(task, with: .status(200))
        _ = try await operation.response
    }

    @Test("pausing against resuming: in whichever order Foundation's threads tell of them, the last counts")
    func pausingAgainstResuming() async throws {
        let stage = Stage()
        let queue = NetworkQueue(session: stage.session)
        let operation = queue.send(request())
        await stage.transport.waitForSent(1)
        let task = stage.transport.sent[0].identifier
        for progress in [operation.progress, queue.progress] {
            for isPaused in [false, true, false] {
                progress.isPaused = isPaused
                let handlers = [progress.pausingHandler, progress.resumingHandler]
                for handler in isPaused ? handlers : handlers.reversed() { handler?() }
                for handler in isPaused ? handlers.reversed() : handlers { handler?() }
                let told = progress === queue.progress ? queue.isSuspended : stage.transport.paused == [task]
                #expect(told == isPaused)
            }
        }
        stage.transport.complete(task, with: .status(200))
        _ = try await operation.response
    }

    @Test("paused at once and resumed, a response comes whole, also behind an informational one", .overEveryWire)
    func pausedAtOnce() async throws {
        let server = try LoopbackServer()
        server.on(
            "/large",
            LoopbackServer.Response.data(Data.pattern(300_000)).header("X-A", String(repeating: "a", count: 500))
                .preceded(by: 103))
        let queue = NetworkQueue(session: Wire.session()) { $0.retryPolicy = .never }
        let operations = (0..<60).map { _ in NetworkOperation(URLRequest(url: server.url("/large"))) }
        for operation in operations {
            let progress = operation.progress
            queue.addOperation(operation)
            progress.pause()
            progress.resume()
        }
        for operation in operations { #expect(try await operation.response.data == Data.pattern(300_000)) }
    }

    @Test("over real sockets every byte of an upload is counted", .overEveryWire, arguments: [100_000, 3_000_000])
    func upload(count: Int) async throws {
        let server = try LoopbackServer()
        server.on("/up", .text("ok"))
        var put = URLRequest(url: server.url("/up"))
        put.httpMethod = "PUT"
        let folder = try TemporaryFolder()
        let file = try folder.file("f", Data.pattern(count))
        for body in [RequestBody.data(Data.pattern(count)), .file(file)] {
            let queue = NetworkQueue(session: Wire.session())
            let operation = NetworkOperation(put, body: body)
            let progress = operation.uploadProgress
            queue.addOperation(operation)
            _ = try await operation.response
            await operation.finished()
            #expect(progress.completedUnitCount == Int64(count) && progress.totalUnitCount == Int64(count))
            #expect(operation.shared.withLock { $0.upload.bytes } == Int64(count))
        }
    }
}
