import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The part of the fuzzer that may die: a server that answers with random bytes, and a client that asks it.
struct FuzzChild {
    private let seed: Int
    private let range: Range<Int>
    private let skipped: Set<Int>
    private let journal: FuzzJournal
    private let transport: NetworkSession.TransportKind

    init(_ arguments: TrialArguments) throws {
        seed = arguments.number("seed", default: 0)
        let from = arguments.number("from", default: 0)
        range = from..<max(from, arguments.number("to", default: 0))
        skipped = Set((arguments.text("skip") ?? "").split(separator: ",").compactMap { Int($0) })
        journal = try FuzzJournal(path: arguments.text("journal") ?? "/dev/null")
        transport = arguments.transport
    }

    func run() async throws {
        let server = try LoopbackServer()
        server.recordsRequests = false
        let seed = seed
        server.on("/*") { request in
            guard let number = Int(request.path.dropFirst()) else { return .text("elsewhere") }
            return .raw(Data(FuzzInput(seed: seed, number: number).bytes))
        }
        let queue = NetworkQueue(session: NetworkSession(transport: transport)) {
            $0.maxConcurrentRequests = FuzzJournal.width
            $0.maxConcurrentRequestsPerHost = FuzzJournal.width
            $0.timeout = .seconds(30)
            $0.retryPolicy = .never
            // "Retry-After: 50" would keep the requests that follow in line for as long, and so it should.
            $0.retryPolicy.maxRetryAfter = .zero
            $0.maxResponseSize = 1 << 20
            $0.credentials = ["127.0.0.1": URLCredential(user: "a", password: "b", persistence: .none)]
            // Wherever the bytes point to: nobody out there is bothered.
            $0.redirects = .custom { _, request in request.url?.host == "127.0.0.1" ? request : nil }
        }
        // Of the inputs that are deadly to URLSession one in fifty is tried, alone or not.
        let isDeadlyToSome = transport == .urlSession
        let numbers = range.filter { number in
            !skipped.contains(number)
                && (!isDeadlyToSome || number % 50 == 0 || !FuzzInput(seed: seed, number: number).isOfDeadlyShape)
        }
        await withTaskGroup(of: Void.self) { group in
            for slot in 0..<FuzzJournal.width {
                group.addTask {
                    for number in numbers.dropFirst(slot).striding(by: FuzzJournal.width) {
                        journal.set(slot, to: number)
                        await ask(number, of: server, over: queue)
                    }
                    journal.set(slot, to: -1)
                }
            }
        }
        say("done")
    }

    private func ask(_ number: Int, of server: LoopbackServer, over queue: NetworkQueue) async {
        let operation = NetworkOperation(URLRequest(url: server.url("/\(number)")))
        let started = ContinuousClock.now
        queue.addOperation(operation)
        do throws(NetworkError) {
            _ = try await operation.response
            journal.count(isSuccess: true)
        } catch {
            journal.count(isSuccess: false)
            if case .deadlineExceeded = error { say("hang \(number)") }
            if case .invalidRequest(let reason) = error { say("wrong \(number) \(reason)") }
        }
        if ContinuousClock.now - started > .seconds(20) { say("slow \(number)") }
    }
}

extension Sequence {
    /// Every so manieth element, the first among them.
    fileprivate func striding(by step: Int) -> [Element] {
        enumerated().filter { $0.offset % step == 0 }.map(\.element)
    }
}

/// Which inputs are being tried, in a file that outlives the process.
final class FuzzJournal: Sendable {
    static let width = 8

    private let descriptor: Int32
    private let state = Locked((succeeded: 0, failed: 0))

    init(path: String) throws {
        descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        try Fault.unless(descriptor >= 0, "cannot open \(path)")
    }

    deinit { close(descriptor) }

    func set(_ slot: Int, to number: Int) {
        var number = Int64(number)
        pwrite(descriptor, &number, 8, off_t(slot * 8))
    }

    /// The inputs that were being tried.
    var numbers: [Int] {
        (0..<Self.width).compactMap { slot in
            var number: Int64 = -1
            return pread(descriptor, &number, 8, off_t(slot * 8)) == 8 && number >= 0 ? Int(number) : nil
        }
    }

    func count(isSuccess: Bool) {
        state.withLock { state in
            if isSuccess { state.succeeded += 1 } else { state.failed += 1 }
            var counts = (Int64(state.succeeded), Int64(state.failed))
            pwrite(descriptor, &counts, 16, off_t(Self.width * 8))
        }
    }

    /// How many inputs brought a response, and how many an error.
    var counts: (succeeded: Int, failed: Int) {
        var counts: (Int64, Int64) = (0, 0)
        return pread(descriptor, &counts, 16, off_t(Self.width * 8)) == 16 ? (Int(counts.0), Int(counts.1)) : (0, 0)
    }
}
