import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("ResponseValidation")
struct ResponseValidationTests {
    private static let body = Data("x".utf8)

    /// The failure in a word; nil for a success.
    private func failure(
        _ validation: ResponseValidation, _ status: Int = 200, type: String? = nil, body: Data = body
    ) -> String? {
        let response = Made.response(status, type.map { ["Content-Type": $0] } ?? [:])
        switch validation.failure(of: response, body) {
        case nil: return nil
        case .endpointError(_, let data): return data == body ? "endpoint" : "endpoint without body"
        case .unacceptableResponse(_, let data, let reason): return data == body ? reason : "unacceptable without body"
        case let error?: return "\(error)"
        }
    }

    @Test("by default every status below 400 is a success, and the others are the endpoint's error with the body")
    func byDefault() {
        for status in [100, 200, 204, 299, 300, 304, 399] { #expect(failure(.default, status) == nil) }
        for status in [400, 401, 404, 499, 500, 599, 999] { #expect(failure(.default, status) == "endpoint") }
    }

    @Test("without validation everything is a success", arguments: [200, 302, 404, 500, 999])
    func none(status: Int) {
        #expect(failure(.none, status) == nil)
    }

    @Test("of ranges given, only those pass; below 400 the others are unacceptable")
    func ranges() {
        let validation = ResponseValidation.statuses(200..<203, 404..<405)
        for status in [200, 202, 404] { #expect(failure(validation, status) == nil) }
        #expect(failure(validation, 203) == "status 203")
        #expect(failure(validation, 302) == "status 302")
        #expect(failure(validation, 405) == "endpoint")
    }

    @Test("no range, empty ranges and endless ones are harmless")
    func oddRanges() {
        #expect(failure(.statuses(), 200) == "status 200")
        #expect(failure(.statuses(200..<200, Int.min..<Int.min, Int.max..<Int.max), 200) == "status 200")
        #expect(failure(.statuses(Int.min..<Int.max), 500) == nil)
    }

    @Test(
        "content types are compared without case and parameters, and wildcards count",
        arguments: ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8", " application/json ;x"])
    func contentTypes(type: String) {
        for pattern in ["application/json", "Application/Json", "application/*", "*/*", "application/json; q=1"] {
            #expect(failure(.default.contentTypes("text/plain", pattern), type: type) == nil)
        }
        #expect(failure(.default.contentTypes("text/*", "image/png"), type: type) == "content type application/json")
    }

    @Test("a wildcard for subtypes is none for prefixes")
    func wildcardPrefix() {
        #expect(failure(.default.contentTypes("text/*"), type: "textual/plain") == "content type textual/plain")
        #expect(failure(.default.contentTypes("application/js"), type: "application/json") != nil)
    }

    @Test("a body without content type fails, unless any type will do; no body always passes")
    func missingType() {
        #expect(failure(.default.contentTypes("text/plain")) == "no content type")
        #expect(failure(.default.contentTypes("*/*")) == nil)
        #expect(failure(.default.contentTypes("text/plain"), type: "image/png", body: Data()) == nil)
    }

    @Test("the status is looked at before the content type, and that before the caller's check")
    func order() {
        let validation = ResponseValidation.default.contentTypes("text/plain").checked { _, _ in "checked" }
        #expect(failure(validation, 404, type: "image/png") == "endpoint")
        #expect(failure(validation, type: "image/png") == "content type image/png")
        #expect(failure(validation, type: "text/plain") == "checked")
    }

    @Test("the caller's check sees response and body, and its reason is the failure")
    func check() {
        let validation = ResponseValidation.none.checked { response, data in
            response.statusCode == 418 ? "\(data.count) bytes of tea" : nil
        }
        #expect(failure(validation, 418) == "1 bytes of tea")
        #expect(failure(validation, 500) == nil)
        #expect(validation.callsOut && !ResponseValidation.default.contentTypes("a/b").callsOut)
    }

    @Test("each rule leaves the value that it was made from as it was")
    func values() {
        let plain = ResponseValidation.default
        _ = plain.contentTypes("text/plain").checked { _, _ in "no" }
        #expect(failure(plain, type: "image/png") == nil)
    }
}

@Suite("NetworkResponse")
struct NetworkResponseTests {
    private struct Item: Codable, Equatable { let name: String }

    private func response(_ text: String, status: Int = 200) -> NetworkResponse {
        NetworkResponse(data: Data(text.utf8), http: Made.response(status), request: Made.request())
    }

    @Test("a body that fits is decoded, with the type named or inferred")
    func decoded() throws {
        #expect(try response(#"{"name":"a"}"#).decoded(as: Item.self) == Item(name: "a"))
        let inferred: [Item] = try response(#"[{"name":"a"},{"name":"b"}]"#).decoded()
        #expect(inferred.map(\.name) == ["a", "b"])
        #expect(response("", status: 204).statusCode == 204)
    }

    @Test("the decoder is the caller's")
    func ownDecoder() throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        #expect(try response("[784111777]").decoded(as: [Date].self, using: decoder) == [Made.date])
    }

    @Test("no body is named so")
    func empty() {
        do throws(NetworkError) {
            _ = try response("").decoded(as: Item.self)
            Issue.record("decoded nothing")
        } catch {
            if case .noResponseData = error { return }
            Issue.record("\(error)")
        }
    }

    @Test(
        "a body that does not fit comes with the decoder's error and the response",
        arguments: ["{}", "x", "null", "[1]"])
    func misfit(text: String) {
        do throws(NetworkError) {
            _ = try response(text).decoded(as: Item.self)
            Issue.record("decoded \(text)")
        } catch {
            guard case .decodingFailed(let cause, let response) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(cause is DecodingError && response.data == Data(text.utf8))
            #expect(!error.shouldRetry)
        }
    }
}
