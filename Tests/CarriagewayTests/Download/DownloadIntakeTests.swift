import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What becomes of each response to a download, without network and files.
struct DownloadIntakeTests {
    private let resume = ResumePoint(offset: 40, state: PartState(validator: "\"v1\"", total: 100))

    private func intake(
        _ status: Int, _ headers: [String: String] = [:], resume: ResumePoint? = nil, hasOwnRange: Bool = false,
        isAccepted: Bool? = nil
    ) -> DownloadIntake {
        let url = URL(string: "http://stub.test/f") ?? URL(fileURLWithPath: "/")
        guard
            let response = HTTPURLResponse(
                url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
        else { return .memory }
        return DownloadIntake(
            of: response, resume: resume, hasOwnRange: hasOwnRange, isAccepted: isAccepted ?? (status < 400))
    }

    @Test("the whole is taken from the start; it can be gone on from with a strong tag")
    func whole() {
        #expect(
            intake(200, ["Content-Length": "100", "ETag": "\"v1\""])
                == .take(start: 0, total: 100, state: PartState(validator: "\"v1\"", total: 100)))
        #expect(intake(200, ["Content-Length": "100"]) == .take(start: 0, total: 100, state: nil))
        // The server does not know of ranges, or has another copy now.
        #expect(
            intake(200, ["Content-Length": "90", "ETag": "\"v2\""], resume: resume)
                == .take(start: 0, total: 90, state: PartState(validator: "\"v2\"", total: 90)))
    }

    @Test(
        "what is no strong validator, or of no use, cannot be gone on from",
        arguments: [
            ["ETag": "W/\"v1\""], ["ETag": "v1"], ["ETag": "\""], ["ETag": "\"v1\"", "Accept-Ranges": "none"],
            ["ETag": "\"v1\"", "Content-Encoding": "gzip"],
            ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
            ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"],
            ["Last-Modified": "yesterday", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"],
        ])
    func weak(headers: [String: String]) {
        guard case .take(start: 0, total: _, state: nil) = intake(200, headers) else {
            Issue.record("\(headers)")
            return
        }
    }

    @Test("a date a second before the response's own is strong, also beside a weak tag")
    func date() {
        let headers = [
            "Last-Modified": "Sun, 06 Nov 1994 08:49:36 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT",
            "ETag": "W/\"x\"",
        ]
        guard case .take(start: 0, total: _, state: let state?) = intake(200, headers) else {
            Issue.record("not resumable")
            return
        }
        #expect(state.validator == "Sun, 06 Nov 1994 08:49:36 GMT")
    }

    @Test("C40: the rest that was asked for is appended")
    func rest() {
        let expected = DownloadIntake.take(start: 39, total: 100, state: resume.state)
        #expect(intake(206, ["Content-Range": "bytes 39-99/100"], resume: resume) == expected)
        #expect(intake(206, ["Content-Range": "Bytes 39-99/100", "ETag": "\"v1\""], resume: resume) == expected)
        #expect(intake(206, ["Content-Range": "bytes 39-60/100"], resume: resume) == expected)
        #expect(intake(206, ["Content-Range": "bytes 39-99/*"], resume: resume) == expected)
    }

    @Test(
        "C40: a rest that does not fit starts over",
        arguments: [
            [:], ["Content-Range": ""], ["Content-Range": "bytes 40-99/100"], ["Content-Range": "bytes 0-99/100"],
            ["Content-Range": "bytes 39-98/99"], ["Content-Range": "bytes 39-99/101"],
            ["Content-Range": "lines 39-99/100"], ["Content-Range": "bytes */100"],
            ["Content-Range": "bytes 39-100/100"], ["Content-Range": "bytes 39-20/100"],
            ["Content-Range": "bytes 39-99/100", "ETag": "\"v2\""],
            ["Content-Range": "bytes 39-99/100", "Content-Encoding": "gzip"],
            ["Content-Type": "multipart/byteranges; boundary=x"],
        ])
    func wrongRest(headers: [String: String]) {
        #expect(intake(206, headers, resume: resume) == .startOver)
    }

    @Test("C40: 416 starts over; without a range it is an error like any other")
    func notSatisfiable() {
        #expect(intake(416, ["Content-Range": "bytes */10"], resume: resume) == .startOver)
        #expect(intake(416) == .memory)
    }

    @Test("errors go into memory, and what cannot be a file is refused")
    func errors() {
        #expect(intake(404, resume: resume) == .memory)
        #expect(intake(503) == .memory)
        #expect(intake(206, ["Content-Range": "bytes 0-9/10"]) == .reject("a part of the file that was not asked for"))
        #expect(intake(304) == .reject("status 304"))
        #expect(intake(404, ["Content-Length": "3"], isAccepted: true) == .take(start: 0, total: 3, state: nil))
    }

    @Test("a range of the caller's own is the file, and is never gone on from")
    func ownRange() {
        #expect(
            intake(206, ["Content-Length": "5", "ETag": "\"v1\""], hasOwnRange: true)
                == .take(start: 0, total: 5, state: nil))
    }

    @Test("a part that is complete asks for its last byte once more")
    func complete() {
        var request = request()
        ResumePoint(offset: 100, state: resume.state).apply(to: &request)
        #expect(request.value(forHTTPHeaderField: "Range") == "bytes=99-")
        #expect(request.value(forHTTPHeaderField: "If-Range") == "\"v1\"")
    }

    @Test(
        "Content-Range is read strictly",
        arguments: [
            "bytes 1-2", "bytes -2/3", "bytes 1-/3", "bytes +1-2/3", "bytes 1-2/3/4", "bytes 1-2/-", "1-2/3",
            "bytes 1-9223372036854775807/*", "bytes 1-99999999999999999999/*", "bytes 2-2/2",
        ])
    func contentRange(text: String) {
        #expect(ContentRange(text) == nil)
    }
}
