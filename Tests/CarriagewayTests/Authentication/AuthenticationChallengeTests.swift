import Foundation
import Testing

@testable import Carriageway

@Suite("WWW-Authenticate")
struct AuthenticationChallengeTests {
    private func challenge(
        _ scheme: String, _ parameters: [String: String] = [:], token: String? = nil
    ) -> AuthenticationChallenge {
        AuthenticationChallenge(scheme: scheme, token: token, parameters: parameters)
    }

    private func parse(_ text: String) -> [AuthenticationChallenge] { AuthenticationChallenge.parse(text) }

    @Test("the example of RFC 9110, section 11.6.1")
    func example() {
        #expect(
            parse(#"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#) == [
                challenge("basic", ["realm": "simple"]),
                challenge("newauth", ["realm": "apps", "type": "1", "title": #"Login to "apps""#]),
            ])
    }

    @Test("the examples of RFC 6750, section 3")
    func bearer() {
        #expect(parse(#"Bearer realm="example""#) == [challenge("bearer", ["realm": "example"])])
        let text = "Bearer realm=\"example\",\n                  error=\"invalid_token\"".replacingOccurrences(
            of: "\n", with: "")
        #expect(parse(text) == [challenge("bearer", ["realm": "example", "error": "invalid_token"])])
    }

    @Test("schemes alone, with a token, and with parameters, in one value")
    func kinds() {
        #expect(parse("Negotiate") == [challenge("negotiate")])
        #expect(parse("Negotiate, NTLM") == [challenge("negotiate"), challenge("ntlm")])
        #expect(
            parse("Negotiate YWJj+/-._~==, Bearer error=x ,NTLM abc=") == [
                challenge("negotiate", token: "YWJj+/-._~=="), challenge("bearer", ["error": "x"]),
                challenge("ntlm", token: "abc="),
            ])
    }

    @Test("commas, quotes and equals signs between quotes are text")
    func quoted() {
        #expect(
            parse(#"Bearer realm="a, Bearer error=\"insufficient_scope\", b=c\\", error="invalid_token""#) == [
                challenge(
                    "bearer",
                    ["realm": #"a, Bearer error="insufficient_scope", b=c\"#, "error": "invalid_token"])
            ])
        #expect(parse(#"Bearer realm="""#) == [challenge("bearer", ["realm": ""])])
        #expect(parse(#"Bearer realm="ä€""#) == [challenge("bearer", ["realm": "ä€"])])
    }

    @Test("blanks around equals signs and commas, empty elements, and any case of names")
    func loose() {
        let expected = [challenge("bearer", ["realm": "A", "error": "b"])]
        #expect(parse(#",, BEARER  Realm = "A" ,\#t, ERROR\#t=b ,"#) == expected)
        #expect(parse(#"Bearer realm="A" error=b"#) == expected)
        #expect(parse(#"Bearer,realm="A",error=b,error=c"#) == expected)
    }

    @Test("what cannot be read is passed over")
    func broken() {
        let good = challenge("bearer", ["error": "b"])
        #expect(parse("").isEmpty)
        #expect(parse(" , ,").isEmpty)
        #expect(parse("=").isEmpty)
        #expect(parse(#""Bearer error=x""#).isEmpty)
        #expect(parse("realm=x, Bearer error=b") == [good])
        #expect(parse("(), Bearer error=b") == [good])
        #expect(parse(#"("a, b" c), Bearer error=b"#) == [good])
        #expect(parse(#"Bearer error=b, realm=, scope=;"#) == [good])
        #expect(parse(#"Bearer error=b, realm="never closed, Basic"#) == [good])
        #expect(parse(#"Bearer error=b, realm="never closed\"#) == [good])
        #expect(parse("Bearer error=b, é=1") == [good])
        #expect(parse("Bearer ==, Basic") == [challenge("basic")])
    }

    @Test("every text ends, in time that grows with its length")
    func anything() {
        var random = SystemRandomNumberGenerator()
        let pieces = ["Bearer", " ", ",", "=", "\"", "\\", "a", "error", "\t", "é", "\u{0}", "(", "==", "a=b", "\"x\""]
        for _ in 0..<2_000 {
            let text = (0..<40).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            for challenge in parse(text) { #expect(!challenge.scheme.isEmpty) }
        }
        #expect(parse(String(repeating: "a ", count: 50_000)).count > 0)
        #expect(parse(String(repeating: "a=", count: 50_000)).isEmpty)
        #expect(parse(String(repeating: "(\"", count: 50_000)).isEmpty)
    }
}
