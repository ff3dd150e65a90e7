import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("What a failed renewal means")
struct RefreshOutcomeTests {
    private struct Own: RefreshFailure { let isFinal: Bool }

    private struct Foreign: Error {}

    @Test("statuses that are transient, and all from 500 up, leave the credential alive")
    func statuses() {
        let kept = (400...599).filter { RefreshOutcome(of: Made.status($0)) == .unreachable }
        #expect(kept == [408, 421, 425, 429, 444] + Array(500...599))
        #expect(RefreshOutcome(of: Made.status(413, ["Retry-After": "1"])) == .unreachable)
    }

    @Test("no error of the transfer is the server's word about the credential")
    func transfer() {
        for code in (-4_000 ... -1).compactMap({ URLError.Code(rawValue: $0) }) {
            #expect(RefreshOutcome(of: Made.urlError(code)) == .unreachable)
            #expect(RefreshOutcome(of: URLError(code)) == .unreachable)
        }
        #expect(RefreshOutcome(of: NetworkError.cancelled) == .unreachable)
        #expect(RefreshOutcome(of: CancellationError()) == .unreachable)
        #expect(RefreshOutcome(of: NetworkError.generalError(URLError(.timedOut))) == .unreachable)
        #expect(RefreshOutcome(of: NetworkError.deadlineExceeded) == .unreachable)
        #expect(RefreshOutcome(of: NetworkError.sessionInvalidated) == .unreachable)
    }

    @Test("an error of somebody else, or an answer that cannot be read, is final")
    func final() {
        let response = NetworkResponse(data: Data(), http: Made.response(200), request: Made.request())
        let errors: [any Error] = [
            Foreign(), NetworkError.generalError(Foreign()), NetworkError.decodingFailed(Foreign(), response),
            NetworkError.invalidRequest("x"), NetworkError.noResponseData(Made.response(200)),
            NetworkError.fileError(Foreign()), CocoaError(.fileNoSuchFile),
        ]
        for error in errors { #expect(RefreshOutcome(of: error) == .refused, "\(error)") }
    }

    @Test("an error that says so itself is believed, however deep it is wrapped")
    func own() {
        for isFinal in [true, false] {
            let expected: RefreshOutcome = isFinal ? .refused : .unreachable
            let error = Own(isFinal: isFinal)
            #expect(RefreshOutcome(of: error) == expected)
            #expect(RefreshOutcome(of: NetworkError.generalError(error)) == expected)
            #expect(RefreshOutcome(of: NetworkError.authenticationFailed(error)) == expected)
            #expect(RefreshOutcome(of: NetworkError.dependencyFailed(NetworkError.generalError(error))) == expected)
        }
        #expect(RefreshOutcome(of: AuthenticationError.refused("x")) == .refused)
        #expect(RefreshOutcome(of: AuthenticationError.unreachable("x")) == .unreachable)
    }

    @Test("the last error counts when retries are used up")
    func inaccessible() {
        #expect(RefreshOutcome(of: NetworkError.inaccessible(after: 3, last: Made.status(503))) == .unreachable)
        #expect(RefreshOutcome(of: NetworkError.inaccessible(after: 3, last: Made.status(400))) == .refused)
    }

    @Test("the reason is the error's text")
    func texts() {
        let error = NetworkError.authenticationFailed(AuthenticationError.refused("the key was withdrawn"))
        #expect(error.description == "The credential could not be renewed: the key was withdrawn")
        let missing = NetworkError.authenticationFailed(AuthenticationError.missingCredential)
        #expect(missing.description == "The request needs a credential, and none is set.")
    }
}
