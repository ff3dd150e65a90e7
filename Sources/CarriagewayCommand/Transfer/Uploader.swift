import Carriageway
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Uploads a file, and prints how that ended.
struct Uploader {
    let plan: UploadPlan

    /// - Returns: the exit status.
    func run() async -> Int32 {
        let queue: NetworkQueue
        do throws(NetworkError) {
            queue = try Fetcher(plan: plan.fetch).makeTransferQueue(isLimited: plan.rateLimit != nil)
        } catch {
            Console.complain("\(error)")
            return 1
        }
        let started = ContinuousClock.now
        let target = plan.fetch.targets[0]
        var request = Fetcher(plan: plan.fetch).request(for: target)
        request.httpMethod = plan.method
        let operation = NetworkOperation(request, body: body)
        let screen = TransferScreen(
            count: 1, total: queue.uploadProgress, isShown: Console.isTerminal && !plan.fetch.printsJSON)
        let limiter = plan.rateLimit.map { RateLimiter($0, over: queue, isUpload: true) }
        limiter?.watch(operation)
        let sent = operation.uploadProgress
        let interrupts = Interrupts { queue.stop() }
        queue.addOperation(operation)
        let result: Result<NetworkResponse, NetworkError>
        do throws(NetworkError) {
            result = .success(try await operation.response)
        } catch {
            result = .failure(error)
        }
        await withCheckedContinuation { continuation in
            operation.onCompletion { _ in continuation.resume() }
        }
        withExtendedLifetime(limiter) {}
        var record = FetchRecord(of: target, result: result, attempts: operation.attempts, ended: Date())
        record.bytes = Int(sent.completedUnitCount)
        var report = FetchReport(plan: plan.fetch, directory: nil)
        screen.printing(ended: 0) { _ = report.add(record, index: 0, body: nil) }
        return report.end(interruptedBy: interrupts.received, after: ContinuousClock.now - started)
    }

    private var body: RequestBody {
        let file = URL(fileURLWithPath: plan.file)
        guard let field = plan.field else { return .file(file) }
        var form = MultipartForm()
        form.append(name: field, file: file)
        return .multipart(form)
    }
}
