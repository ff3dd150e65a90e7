import Foundation
import Testing

@testable import Carriageway

@Suite("The answer of a token endpoint")
struct TokenAnswerTests {
    private func answer(_ text: String) throws -> TokenAnswer {
        try #require(TokenAnswer(Data(text.utf8)), "\(text)")
    }

    private func credential(
        _ text: String, renewing old: OAuth2Credential? = nil, asking scopes: Set<String> = []
    ) throws -> OAuth2Credential {
        try answer(text).credential(renewing: old, asking: scopes, received: Made.instant)
    }

    @Test("the example of RFC 6749, section 5.1")
    func example() throws {
        let credential = try credential(
            """
            {
              "access_token":"2YotnFZFEjr1zCsicMWpAA",
              "token_type":"example",
              "expires_in":3600,
              "refresh_token":"tGzv3JOkF0XG5Qx2TlKWIA",
              "example_parameter":"example_value"
            }
            """.replacingOccurrences(of: "\"example\"", with: "\"Bearer\""))
        #expect(credential.accessToken == "2YotnFZFEjr1zCsicMWpAA")
        #expect(credential.refreshToken == "tGzv3JOkF0XG5Qx2TlKWIA")
        #expect(credential.lifetime == .seconds(3_600))
        #expect(credential.received == Made.instant)
    }

    @Test(
        "the lifetime is read however it is written",
        arguments: [
            ("3600", 3_600), ("3600.5", 3_600.5), ("\"3600\"", 3_600), ("\" 3600 \"", 3_600), ("\"3599.5\"", 3_599.5),
            ("3.6e3", 3_600), ("1", 1),
        ] as [(String, Double)])
    func lifetime(text: String, seconds: Double) throws {
        #expect(try credential(#"{"access_token":"a","expires_in":\#(text)}"#).lifetime == .seconds(seconds))
    }

    @Test(
        "a lifetime that says nothing is not known, and the token is used",
        arguments: [
            "0", "-1", "-1e300", "\"\"", "\"soon\"", "null", "true", "[]", "{}", "\"nan\"", "1e999", "\"-inf\"",
            "\"0\"",
            "\"3600s\"", "\"3,600\"",
        ])
    func unknownLifetime(text: String) throws {
        let credential = try credential(#"{"access_token":"a","expires_in":\#(text)}"#)
        #expect(credential.lifetime == nil)
        #expect(!credential.isExpiring(at: Made.instant))
        #expect(try self.credential(#"{"access_token":"a"}"#).lifetime == nil)
    }

    @Test(
        "an absurd lifetime is a hundred years", arguments: ["1e300", "99999999999999999999", "\"1e300\"", "\"inf\""])
    func absurdLifetime(text: String) throws {
        let credential = try credential(#"{"access_token":"a","expires_in":\#(text)}"#)
        #expect(credential.lifetime == .longest)
        #expect(!credential.isExpiring(at: Made.instant))
    }

    @Test("C8: an omitted refresh token keeps the old one, a new one takes its place")
    func rotation() throws {
        let old = OAuth2Credential(accessToken: "a", refreshToken: "old", scopes: ["read"])
        for text in ["", #","refresh_token":null"#, #","refresh_token":"""#, #","refresh_token":7"#] {
            #expect(try credential(#"{"access_token":"b"\#(text)}"#, renewing: old).refreshToken == "old")
        }
        #expect(
            try credential(#"{"access_token":"b","refresh_token":"new"}"#, renewing: old).refreshToken == "new")
        #expect(try credential(#"{"access_token":"b"}"#).refreshToken == nil)
    }

    @Test("scopes are the answer's, else the old ones, else those asked for")
    func scopes() throws {
        let old = OAuth2Credential(accessToken: "a", scopes: ["read"])
        #expect(try credential(#"{"access_token":"b","scope":"a  b a"}"#, renewing: old).scopes == ["a", "b"])
        #expect(try credential(#"{"access_token":"b","scope":["a","b c"]}"#).scopes == ["a", "b c"])
        #expect(try credential(#"{"access_token":"b"}"#, renewing: old, asking: ["x"]).scopes == ["read"])
        #expect(try credential(#"{"access_token":"b"}"#, asking: ["x"]).scopes == ["x"])
        #expect(try credential(#"{"access_token":"b","scope":7}"#, asking: ["x"]).scopes == ["x"])
    }

    @Test("the type of the token is compared without case; another one than bearer cannot be used")
    func tokenType() throws {
        for type in ["Bearer", "bearer", "BEARER"] {
            #expect(try credential(#"{"access_token":"a","token_type":"\#(type)"}"#).tokenType == type)
        }
        #expect(try credential(#"{"access_token":"a"}"#).tokenType == "Bearer")
        for type in ["mac", "DPoP", "bearer ", "s3cret"] {
            let error = #expect(throws: AuthenticationError.self) {
                try credential(#"{"access_token":"s3cret","token_type":"\#(type)"}"#)
            }
            #expect(error?.isFinal == true)
            #expect(error?.description.contains("s3cret") == false)
        }
    }

    @Test(
        "a token that is missing or cannot be sent is none, and the credential stays alive",
        arguments: [
            "{}", #"{"access_token":""}"#, #"{"access_token":null}"#, #"{"access_token":7}"#, #"{"token":"a"}"#,
            #"{"access_token":"a b"}"#, #"{"access_token":"a\r\nX: y"}"#, #"{"access_token":"ä"}"#,
            #"{"access_token":"a\u0000"}"#,
        ])
    func noToken(text: String) throws {
        let error = #expect(throws: AuthenticationError.self) { try credential(text) }
        #expect(error?.isFinal == false)
    }

    @Test(
        "what is no JSON object is no answer",
        arguments: [
            "", "<html>", "[]", "null", "\"access_token\"", "7", "{", #"{"access_token":"a""#,
            "access_token=a&token_type=bearer",
            String(repeating: "[", count: 100_000), String(repeating: #"{"a":"#, count: 100_000),
        ])
    func noJSON(text: String) {
        #expect(TokenAnswer(Data(text.utf8)) == nil)
    }

    @Test("bytes that are no UTF-8, and a byte order mark")
    func bytes() throws {
        #expect(TokenAnswer(Data([0xFF, 0xFE, 0x00])) == nil)
        let marked = Data([0xEF, 0xBB, 0xBF]) + Data(#"{"access_token":"a"}"#.utf8)
        #expect(TokenAnswer(marked)?.accessToken == "a")
    }

    // MARK: Errors

    @Test("the error's code, its description and its page are in the error")
    func refusal() throws {
        let text = #"{"error":"invalid_grant","error_description":"Expired.","error_uri":"https://a.test/e"}"#
        let error = try #require(try answer(text).refusal(status: 400, without: []))
        #expect(
            error
                == OAuth2Error(
                    code: .invalidGrant, explanation: "Expired.", page: "https://a.test/e", statusCode: 400))
        #expect(error.description == "the token endpoint answered invalid_grant: Expired. (https://a.test/e)")
        #expect(error.localizedDescription == error.description)
        #expect(try answer(#"{"error":7}"#).refusal(status: 400, without: []) == nil)
        #expect(try answer(#"{"error":{"code":1}}"#).refusal(status: 400, without: []) == nil)
        let bare = try #require(try answer(#"{"error":"x","error_description":7}"#).refusal(status: 400, without: []))
        #expect(bare.explanation == nil && bare.page == nil)
    }

    @Test("its texts are short, on one line, and without the secrets that were sent")
    func cleanTexts() throws {
        let long = String(repeating: "ä", count: 10_000)
        let text =
            #"{"error":"\#(long)","error_description":"a\r\n\tb\u001b[31m\u202ec \#(long)","error_uri":"\#(long)"}"#
        let error = try #require(try answer(text).refusal(status: 400, without: []))
        #expect(error.code.rawValue.count < 70)
        #expect(error.explanation?.hasPrefix("a b [31m c ää") == true)
        #expect(error.description.count < 700)
        #expect(!error.description.unicodeScalars.contains { $0.properties.generalCategory == .control })

        let secrets = ["p&ss w\u{F6}rd", "t0k+n", "t0k+n/longer", ""].map(Secret.init)
        let echo =
            #"{"error":"t0k+n","error_description":"no t0k+n/longer, p&ss wörd","error_uri":"https://a.test/?t=t0k%2Bn%2Flonger&p=p%26ss+w%C3%B6rd"}"#
        let clean = try #require(try answer(echo).refusal(status: 400, without: secrets))
        #expect(clean.code.rawValue == "***")
        #expect(clean.explanation == "no ***, ***")
        #expect(clean.page == "https://a.test/?t=***&p=***")
    }

    @Test("an error is final, unless the server is busy or at fault")
    func finality() {
        let codes: [OAuth2Error.Code] = [
            .invalidGrant, .invalidClient, .unauthorizedClient, .unsupportedGrantType, .invalidScope, .invalidRequest,
            OAuth2Error.Code(rawValue: "of its own"),
        ]
        for code in codes {
            for status in [200, 400, 401, 403, 404] {
                #expect(OAuth2Error(code: code, statusCode: status).isFinal)
            }
            for status in [408, 429, 500, 502, 503, 599] {
                #expect(!OAuth2Error(code: code, statusCode: status).isFinal)
            }
        }
        #expect(!OAuth2Error(code: .temporarilyUnavailable).isFinal)
        #expect(!OAuth2Error(code: .serverError).isFinal)
    }
}
