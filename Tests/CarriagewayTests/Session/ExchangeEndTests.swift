import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// However an exchange ends, its destination has cleaned up, or has the body, before anybody is told.
struct ExchangeEndTests {
    /// A destination that keeps what it is asked, and answers when it is told to.
    private final class SlowDestination: ResponseDestination {
        enum Question: Equatable {
            case open, close, abandon
        }

        let asked = Locked<[Question]>([])
        let count = Counter()
        private let isOpening: Bool
        private let answer = Locked<(@Sendable () -> Void)?>(nil)

        /// - Parameter opens: whether an attempt gets as far as being sent.
        init(opens: Bool) { isOpening = opens }

        /// Answers what was asked last.
        func go() {
            let answer = answer.withLock { answer in
                defer { answer = nil }
                return answer
            }
            answer?()
        }

        private func note(_ question: Question, _ answer: @escaping @Sendable () -> Void) {
            asked.withLock { $0.append(question) }
            self.answer.withLock { $0 = answer }
            count.increment()
        }

        func open(
            _ request: URLRequest, flow: @escaping @Sendable (DestinationSignal) -> Void,
            ready: @escaping @Sendable (Result<URLRequest, NetworkError>) -> Void
        ) {
            note(.open) {}
            if isOpening { ready(.success(request)) }
        }

        var forbidsRetry: Bool { false }
        func response(_ response: HTTPURLResponse) -> Reception { .take(offset: 0, total: nil) }
        func receive(_ data: Data) -> Pressure { .none }
        func paused() {}
        func catchUp() {}
        func close(_ error: NetworkError?, done: @escaping @Sendable (NetworkError?) -> Void) {
            note(.close) { done(error) }
        }
        func abandon(done: @escaping @Sendable () -> Void) { note(.abandon, done) }
        func settle(isGood: Bool, done: @escaping @Sendable (Result<URL?, NetworkError>) -> Void) {
            done(.success(nil))
        }
    }

    private let stage = Stage { request, _ in
        request.url?.path == "/moved" ? .status(302, headers: ["Location": "/next"]) : .status(200)
    }
    private let ends = Counter()
    private let error = Locked<NetworkError?>(nil)

    private func begin(_ path: String, _ destination: SlowDestination, _ settings: ExchangeSettings = .init()) {
        Exchange(request: request(path), destination: destination, session: stage.session, settings: settings) {
            _, _, _ in
        } onEnd: { [ends, error] outcome in
            if case .failure(let failure) = outcome.result { error.withLock { $0 = failure } }
            ends.increment()
        }.start()
    }

    /// What the exchange has asked of the destination, once all that was under way has come to rest; nobody was told.
    private func isAsked(_ destination: SlowDestination, _ questions: [SlowDestination.Question]) async {
        await destination.count.wait(for: questions.count)
        stage.transport.settled()
        stage.session.pipeline.sync {}
        #expect(destination.asked.withLock { $0 } == questions)
        #expect(ends.value == 0)
    }

    @Test("a redirect that the caller does not want to follow")
    func redirect() async {
        let destination = SlowDestination(opens: true)
        begin("/moved", destination, ExchangeSettings(redirects: .custom { _, _ in nil }))
        await isAsked(destination, [.open, .abandon])
        destination.go()
        await ends.wait(for: 1)
        #expect(error.withLock { $0 } == nil)
    }

    @Test("an attempt that runs out of time before its destination is open")
    func unopened() async {
        let destination = SlowDestination(opens: false)
        begin("/", destination, ExchangeSettings(attemptTimeout: .seconds(1)))
        stage.time.advance(by: .seconds(1))
        await isAsked(destination, [.open, .abandon])
        destination.go()
        await ends.wait(for: 1)
        #expect(error.withLock { $0 }?.urlErrorCode == .timedOut)
    }

    @Test("one that runs out of time while the destination puts the body in place ends when that is done, and once")
    func closing() async {
        let destination = SlowDestination(opens: true)
        begin("/", destination, ExchangeSettings(attemptTimeout: .seconds(1)))
        await isAsked(destination, [.open, .close])
        stage.time.advance(by: .seconds(1))
        await isAsked(destination, [.open, .close])
        destination.go()
        await ends.wait(for: 1)
        #expect(error.withLock { $0 }?.urlErrorCode == .timedOut)
        #expect(destination.asked.withLock { $0 } == [.open, .close])
    }
}
