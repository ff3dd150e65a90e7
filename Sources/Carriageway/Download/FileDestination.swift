import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Writes the body of a response beside its target, goes on where an earlier attempt stopped, and moves the complete file to
/// its place.
final class FileDestination: ResponseDestination {
    /// What the delegate queue and the file's own queue share.
    private struct Intake {
        /// That of the attempt that has it open.
        var attempt = 0
        var hasOwnRange = false
        var resume: ResumePoint?
        /// What the bytes that come next are of; goes before them.
        var beginning: Beginning?
        var backlog = Backlog(high: FileDestination.highWater)
        var flow: (@Sendable (DestinationSignal) -> Void)?
        var suggestedName: String?
    }

    private struct Beginning {
        let start: Int64
        let total: Int64?
        let state: PartState?
    }

    /// Used on `queue` only.
    private struct File {
        var part: PartFile?
        var isResumable = false
        /// The length that the whole must have.
        var total: Int64?
        var failure: NetworkError?
    }

    private let target: URL
    private let options: DownloadOptions
    private let accepts: @Sendable (HTTPURLResponse) -> Bool
    private let queue = DispatchQueue(label: "carriageway.download")
    /// Counts the attempts. One that is abandoned counts no longer.
    private let attempt = Locked(0)
    private let intake = Locked(Intake())
    private let file = Locked(File())

    /// - Parameter accepts: whether the status of a response is a success.
    init(target: URL, options: DownloadOptions, accepts: @escaping @Sendable (HTTPURLResponse) -> Bool) {
        self.target = target
        self.options = options
        self.accepts = accepts
    }

    deinit {
        letGo(keeping: true)
    }

    // MARK: An attempt

    func open(
        _ request: URLRequest, flow: @escaping @Sendable (DestinationSignal) -> Void,
        ready: @escaping @Sendable (Result<URLRequest, NetworkError>) -> Void
    ) {
        let number = nextAttempt()
        queue.async { self.tryToOpen(request, flow, number, triesLeft: 40, ready) }
    }

    /// What was begun for the attempt before comes to nothing.
    @discardableResult
    private func nextAttempt() -> Int {
        attempt.withLock { number in
            number += 1
            return number
        }
    }

    private func isCurrent(_ number: Int) -> Bool { attempt.withLock { $0 == number } }

    /// The part may still be in the hands of a download that was just cancelled: that is waited for, two seconds long.
    private func tryToOpen(
        _ request: URLRequest, _ flow: @escaping @Sendable (DestinationSignal) -> Void, _ number: Int, triesLeft: Int,
        _ ready: @escaping @Sendable (Result<URLRequest, NetworkError>) -> Void
    ) {
        guard isCurrent(number) else { return }
        do {
            ready(.success(try prepare(request, flow, number)))
        } catch DownloadError.fileInUse where triesLeft > 0 {
            queue.asyncAfter(deadline: .now() + .milliseconds(50)) {
                self.tryToOpen(request, flow, number, triesLeft: triesLeft - 1, ready)
            }
        } catch {
            ready(.failure(.fileError(error)))
        }
    }

    private func prepare(
        _ request: URLRequest, _ flow: @escaping @Sendable (DestinationSignal) -> Void, _ number: Int
    ) throws -> URLRequest {
        try checkTarget()
        letGo(keeping: options.resumes)
        let part = try PartFile(for: target, digests: options.sha256 != nil)
        var request = request
        let hasOwnRange = request.value(forHTTPHeaderField: "Range") != nil
        // Encoded bytes have no places that could be gone on from, and no length that could be shown.
        if request.value(forHTTPHeaderField: "Accept-Encoding") == nil {
            request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        let resume = options.resumes && !hasOwnRange ? part.resumePoint : nil
        resume?.apply(to: &request)
        file.withLock { $0 = File(part: part, isResumable: resume != nil) }
        intake.withLock { intake in
            intake = Intake(attempt: number, hasOwnRange: hasOwnRange, resume: resume, flow: flow)
        }
        return request
    }

    /// What is clear before anything is sent.
    private func checkTarget() throws {
        guard target.isFileURL, !target.lastPathComponent.isEmpty else { throw POSIXError(.EINVAL) }
        var status = stat()
        guard lstat(target.path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw POSIXError(.EISDIR) }
        guard options.existingFile != .refuse || options.usesServerFileName else { throw DownloadError.fileExists }
    }

    var forbidsRetry: Bool { false }

    func response(_ response: HTTPURLResponse) -> Reception {
        let isAccepted = accepts(response)
        let (decision, isDue): (DownloadIntake, Bool) = intake.withLock { intake in
            let decision = DownloadIntake(
                of: response, resume: intake.resume, hasOwnRange: intake.hasOwnRange, isAccepted: isAccepted)
            intake.backlog.clear()
            intake.suggestedName = ContentDisposition.fileName(
                in: response.value(forHTTPHeaderField: "Content-Disposition"))
            if decision == .startOver { intake.resume = nil }
            guard case .take(let start, let total, let state) = decision else { return (decision, false) }
            intake.beginning = Beginning(start: start, total: total, state: options.resumes ? state : nil)
            return (decision, intake.backlog.schedule())
        }
        if isDue { queue.async { self.writeBacklog() } }
        switch decision {
        case .take(let start, let total, _): return .take(offset: start, total: total)
        case .memory: return .memory
        case .startOver: return .sendAgain(without: ["Range", "If-Range"])
        case .reject(let reason): return .fail(.unacceptableResponse(response, Data(), reason: reason))
        }
    }

    func receive(_ data: Data) -> Pressure {
        let (isDue, isHigh) = intake.withLock { $0.backlog.add(data) }
        if isDue { queue.async { self.writeBacklog() } }
        return isHigh ? .full : .none
    }

    /// The session's delegate queue then waits for the disk: what it is too slow for would else pile up in memory.
    func catchUp() {
        queue.sync { writeBacklog() }
    }

    func paused() {
        if let flow = intake.withLock({ $0.backlog.paused() ? $0.flow : nil }) { flow(.goOn) }
    }

    func close(_ error: NetworkError?, done: @escaping @Sendable (NetworkError?) -> Void) {
        queue.async {
            self.writeBacklog()
            let failure = self.ended(error)
            if let failure { self.letGo(keeping: !failure.isFileError) }
            done(failure)
        }
    }

    func abandon(done: @escaping @Sendable () -> Void) {
        nextAttempt()
        // What waits is written: it has come, and a later run need not fetch it again.
        queue.async {
            self.writeBacklog()
            self.letGo(keeping: true)
            done()
        }
    }

    func settle(isGood: Bool, done: @escaping @Sendable (Result<URL?, NetworkError>) -> Void) {
        queue.async {
            guard isGood else {
                self.letGo(keeping: false)
                return done(.success(nil))
            }
            do {
                try self.checkDigest()
                // Cancelled meanwhile: what is at the target stays, and the part is let go of behind this.
                guard self.isCurrent(self.intake.withLock { $0.attempt }) else { return done(.failure(.cancelled)) }
                done(.success(try self.moveIntoPlace()))
            } catch {
                self.letGo(keeping: false)
                done(.failure(.fileError(error)))
            }
        }
    }

    // MARK: On the file's queue

    private func begin(_ beginning: Beginning) {
        file.withLock { file in
            file.total = beginning.total
            file.isResumable = beginning.state != nil
        }
        write { try $0.begin(at: beginning.start, state: beginning.state) }
    }

    private func writeBacklog() {
        while true {
            let (beginning, pieces, flow) = intake.withLock { intake in
                defer { intake.beginning = nil }
                let isGoingOn = intake.backlog.written()
                return (intake.beginning, intake.backlog.take(), isGoingOn ? intake.flow : nil)
            }
            flow?(.goOn)
            if let beginning { begin(beginning) }
            guard !pieces.isEmpty else { return }
            write { part in
                for piece in pieces { try part.append(piece) }
            }
        }
    }

    /// Does something to the part, unless something failed before; tells of the first failure.
    private func write(_ action: (inout PartFile) throws -> Void) {
        let (part, failure) = file.withLock { ($0.part, $0.failure) }
        guard var part, failure == nil else { return }
        do {
            try action(&part)
            file.withLock { $0.part = part }
        } catch {
            let failure = NetworkError.fileError(error)
            file.withLock { $0.failure = failure }
            intake.withLock { $0.flow }?(.fail(failure))
        }
    }

    /// What the transfer has come to.
    private func ended(_ error: NetworkError?) -> NetworkError? {
        let file = file.withLock { $0 }
        if let failure = file.failure ?? error { return failure }
        guard let part = file.part else { return .fileError(POSIXError(.EBADF)) }
        if let total = file.total, part.length != total { return .urlError(URLError(.networkConnectionLost)) }
        return nil
    }

    private func checkDigest() throws {
        guard let expected = options.sha256?.lowercased(), let part = file.withLock({ $0.part }) else { return }
        let actual = try part.hexDigest()
        guard actual == expected else { throw DownloadError.wrongDigest(expected: expected, actual: actual) }
    }

    private func moveIntoPlace() throws -> URL {
        guard let part = file.withLock({ $0.part }) else { throw POSIXError(.EBADF) }
        let place = try part.move(to: finalTarget, existing: options.existingFile)
        file.withLock { $0.part = nil }
        return place
    }

    private var finalTarget: URL {
        guard options.usesServerFileName, let name = intake.withLock({ $0.suggestedName }) else { return target }
        // What a server calls a path is for us the name at its end.
        let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        return target.deletingLastPathComponent().appendingPathComponent(FileNames.numbered(FileNames.safe(last), 1))
    }

    /// Closes the part; it stays only if a later attempt can go on from it.
    private func letGo(keeping isWanted: Bool) {
        let file = self.file.withLock { file in
            defer { file.part = nil }
            return file
        }
        guard let part = file.part else { return }
        part.letGo(keeping: isWanted && options.resumes && file.isResumable && part.length > 0)
    }

    /// How many bytes may wait to be written.
    private static let highWater = 512 << 10
}

extension NetworkError {
    var isFileError: Bool {
        if case .fileError = self { return true }
        return false
    }
}
