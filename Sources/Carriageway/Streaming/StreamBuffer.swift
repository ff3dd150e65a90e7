import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What has come of a body and has yet to be read, who waits for more, and how it ended: pure, without lock.
struct StreamBuffer {
    typealias Reader = @Sendable (Result<Data?, NetworkError>) -> Void
    typealias ResponseReader = @Sendable (Result<HTTPURLResponse, NetworkError>) -> Void

    /// What is to be done outside the lock.
    enum Action {
        case give(Result<Data?, NetworkError>, Reader)
        case tell(Result<HTTPURLResponse, NetworkError>, ResponseReader)
        /// The network may go on.
        case goOn
    }

    /// How many bytes may wait.
    let limit: Int
    private(set) var count = 0
    private(set) var response: HTTPURLResponse?
    /// Whether a byte has come, so that the request cannot be sent again without a word.
    private(set) var hasBegun = false
    private var chunks: ArraySlice<Data> = []
    private var readers: ArraySlice<Reader> = []
    private var responseReaders: [ResponseReader] = []
    private var end: Result<HTTPURLResponse, NetworkError>?
    private var isPaused = false

    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    mutating func received(_ response: HTTPURLResponse) -> [Action] {
        // A second response, as after a challenge, replaces the first.
        self.response = response
        chunks = []
        count = 0
        defer { responseReaders = [] }
        return responseReaders.map { .tell(.success(response), $0) }
    }

    /// - Returns: what to do, and whether there is more than may wait.
    mutating func received(_ data: Data) -> (actions: [Action], isFull: Bool) {
        guard !data.isEmpty, end == nil else { return ([], false) }
        hasBegun = true
        if let reader = readers.popFirst() { return ([.give(.success(data), reader)], false) }
        chunks.append(data)
        count += data.count
        return ([], count > limit)
    }

    /// The operation has its result: no byte comes any more. What waits can still be read, unless the request was cancelled.
    mutating func ended(_ result: Result<HTTPURLResponse, NetworkError>) -> [Action] {
        guard end == nil else { return [] }
        end = result
        if case .failure(.cancelled) = result { chunks = [] }
        defer {
            readers = []
            responseReaders = []
        }
        return readers.map { .give(result.map { _ in nil }, $0) } + responseReaders.map { .tell(result, $0) }
    }

    /// Somebody wants the next bytes.
    mutating func read(_ reader: @escaping Reader) -> [Action] {
        if let chunk = chunks.popFirst() {
            count -= chunk.count
            return [.give(.success(chunk), reader)] + goOn()
        }
        if let end { return [.give(end.map { _ in nil }, reader)] }
        readers.append(reader)
        return []
    }

    /// Somebody wants the response's head.
    mutating func readResponse(_ reader: @escaping ResponseReader) -> [Action] {
        if let response { return [.tell(.success(response), reader)] }
        if let end { return [.tell(end, reader)] }
        responseReaders.append(reader)
        return []
    }

    /// The network pauses.
    mutating func paused() -> [Action] {
        isPaused = true
        return goOn()
    }

    private mutating func goOn() -> [Action] {
        guard isPaused, count <= limit / 4 else { return [] }
        isPaused = false
        return [.goOn]
    }
}
