import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Downloads URLs to files, and prints how each ended as it ends.
struct Downloader {
    let plan: DownloadPlan

    /// One file to get.
    private struct Item {
        let index: Int
        let target: FetchTarget
        let name: String
        let digest: String?
    }

    /// - Returns: the exit status.
    func run() async -> Int32 {
        do throws(DownloadList.Fault) {
            return try await download()
        } catch {
            Console.complain(error.text)
            return 1
        }
    }

    private func download() async throws(DownloadList.Fault) -> Int32 {
        var fetch = plan.fetch
        fetch.targets = try DownloadList(plan).targets
        let path = fetch.output ?? "."
        let directory: OutputDirectory
        do {
            directory = try OutputDirectory(creating: path)
        } catch {
            throw DownloadList.Fault(text: "cannot make the directory \(UsageError.quoted(path)): \(error.inWords)")
        }
        let items = try items(of: fetch)
        let queue: NetworkQueue
        do throws(NetworkError) {
            queue = try Fetcher(plan: fetch).makeTransferQueue(isLimited: plan.rateLimit != nil)
        } catch {
            throw DownloadList.Fault(text: "\(error)")
        }
        return await download(items, into: directory, fetch, over: queue)
    }

    private func items(of fetch: FetchPlan) throws(DownloadList.Fault) -> [Item] {
        var names = FileNames()
        var digests: [String: String]?
        if let path = plan.digests { digests = try DownloadList.digests(in: DownloadList.text(of: path)) }
        var items: [Item] = []
        for (index, target) in fetch.targets.enumerated() {
            let name = names.next(for: target.url)
            items.append(Item(index: index, target: target, name: name, digest: digests?[name]))
        }
        let unknown = digests == nil ? [] : items.filter { $0.digest == nil }
        guard unknown.isEmpty else {
            throw DownloadList.Fault(
                text: "no digest for \(unknown.map { UsageError.quoted($0.name) }.joined(separator: ", "))")
        }
        return items
    }

    private func download(
        _ items: [Item], into directory: OutputDirectory, _ fetch: FetchPlan, over queue: NetworkQueue
    ) async -> Int32 {
        let started = ContinuousClock.now
        // Nothing leaves before Ctrl-C is listened to.
        queue.isSuspended = true
        let screen = TransferScreen(
            count: items.count, total: queue.progress, isShown: Console.isTerminal && !fetch.printsJSON)
        let limiter = plan.rateLimit.map { RateLimiter($0, over: queue, isUpload: false) }
        let (endings, continuation) = AsyncStream.makeStream(of: Fetcher.Ended.self)
        for item in items {
            let file = directory.url(of: item.name)
            if plan.resumes, isComplete(item, at: file) {
                continuation.yield(Fetcher.Ended(index: item.index, result: nil, attempts: [], date: Date()))
                continue
            }
            let operation = NetworkOperation(
                download: Fetcher(plan: fetch).request(for: item.target), to: file,
                options: DownloadOptions(sha256: item.digest))
            screen.watch(item.index, item.name, operation.progress)
            limiter?.watch(operation)
            operation.onCompletion { result in
                continuation.yield(
                    Fetcher.Ended(
                        index: item.index, result: result, attempts: operation.attempts, date: Date()))
            }
            queue.addOperation(operation)
        }
        let interrupts = Interrupts { queue.stop() }
        queue.isSuspended = false

        var report = FetchReport(plan: fetch, directory: nil)
        for await ended in endings.prefix(items.count) {
            let item = items[ended.index]
            let record = FetchRecord(
                of: item.target, ended, file: directory.path(of: item.name), at: directory.url(of: item.name))
            var goesOn = true
            screen.printing(ended: ended.index) {
                goesOn = report.add(record, index: ended.index, body: nil)
            }
            if !goesOn { queue.stop() }
        }
        withExtendedLifetime(limiter) {}
        screen.printing(ended: nil) {}
        return report.end(interruptedBy: interrupts.received, after: ContinuousClock.now - started)
    }

    /// A file has its name only once it is complete; where its digest is known that must be right too.
    private func isComplete(_ item: Item, at file: URL) -> Bool {
        guard FileManager.default.fileExists(atPath: file.path) else { return false }
        guard let digest = item.digest else { return true }
        return (try? SHA256.hexDigest(of: file)) == digest
    }
}
