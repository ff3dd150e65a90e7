import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// How long a transfer may be idle, where the session keeps that time. Over real sockets: `WireTests.idleTimeouts`.
struct IdleTimeoutTests {
    enum Sign: CaseIterable {
        case informational, head, body, sent

        func tell(_ events: any TransportEvents) {
            switch self {
            case .informational: events.taskIsAlive(1)
            case .head:
                guard let url = URL(string: "http://example.com/") else { return }
                let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
                if let response { events.task(1, received: response) }
            case .body: events.task(1, received: Data("x".utf8))
            case .sent: events.task(1, sentBodyBytes: 1, of: 2)
            }
        }
    }

    @Test("it begins anew with each sign of life, and ends the transfer when there was none", arguments: Sign.allCases)
    func signs(sign: Sign) throws {
        let time = VirtualTime()
        let session = NetworkSession(time: time) { SilentTransport(events: $0) }
        var request = request()
        request.timeoutInterval = 10.5
        let operation = NetworkOperation(request, session: session)
        operation.retryPolicy = .never
        operation.start()
        for _ in 0..<3 {
            time.advance(by: .seconds(10))
            sign.tell(session.router)
        }
        time.advance(by: .milliseconds(10_499))
        #expect(operation.result == nil)
        time.advance(by: .milliseconds(1))
        #expect(operation.result?.error?.urlErrorCode == .timedOut)
        #expect(time.nextDelay == nil)
    }

    @Test("a watch that fires before its setting returns does not end the next")
    func firedEarly() {
        let time = MeddlingTime()
        let session = NetworkSession(time: time) { SilentTransport(events: $0) }
        var request = request()
        request.timeoutInterval = 10
        let operation = NetworkOperation(request, session: session)
        operation.retryPolicy = .never
        time.atTimer {
            time.clock.advance(by: .seconds(5))
            session.router.taskIsAlive(1)
            time.clock.advance(by: .seconds(5))
        }
        operation.start()
        time.clock.advance(by: .milliseconds(4_999))
        #expect(operation.result == nil)
        time.clock.advance(by: .milliseconds(1))
        #expect(operation.result?.error?.urlErrorCode == .timedOut)
    }

    @Test("it begins when the request is sent, not when its body is about to be opened")
    func slowOpening() throws {
        let time = VirtualTime()
        let session = NetworkSession(time: time) { events in
            SilentTransport(events: events) { time.advance(by: .seconds(60)) }
        }
        var request = request()
        request.timeoutInterval = 10
        let operation = NetworkOperation(request, session: session)
        operation.retryPolicy = .never
        operation.start()
        time.advance(by: .milliseconds(9_999))
        #expect(operation.result == nil)
        time.advance(by: .milliseconds(1))
        #expect(operation.result?.error?.urlErrorCode == .timedOut)
    }
}
