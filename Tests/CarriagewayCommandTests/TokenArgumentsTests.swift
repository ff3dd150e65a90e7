import Foundation
import Testing

@testable import CarriagewayCommand

@Suite("The command line of a token")
struct TokenArgumentsTests {
    private static let base = ["http://api.test/", "--token-url", "https://auth.test/token", "--client-id", "app"]

    private func token(_ words: [String]) throws -> TokenPlan? {
        guard case .fetch(let plan) = try Arguments.parse(words) else { throw UsageError("not a fetch") }
        return plan.token
    }

    @Test("without its options there is no token")
    func none() throws {
        #expect(try token(["http://a/"]) == nil)
    }

    @Test("the options stand anywhere; scopes add up")
    func options() throws {
        let plan = try #require(
            try token(
                Self.base + ["--scope", "read  write", "--client-secret=--s", "--refresh-token-file", "f", "--scope=x"])
        )
        #expect(plan.url.url.absoluteString == "https://auth.test/token")
        #expect(plan.clientID == "app")
        #expect(plan.clientSecret == .word("--s"))
        #expect(plan.refreshToken == .file("f"))
        #expect(plan.scopes == ["read", "write", "x"])
        let other = try #require(try token(Self.base + ["--client-secret-file", "f", "--refresh-token", "r"]))
        #expect(other.clientSecret == .file("f"))
        #expect(other.refreshToken == .word("r"))
    }

    @Test(
        "what is missing, doubled or malformed is named, and no secret is shown",
        arguments: [
            (["http://a/", "--client-id", "app"], "--client-id needs a --token-url"),
            (["http://a/", "--client-secret", "s3cret"], "--client-secret needs a --token-url"),
            (["http://a/", "--refresh-token=s3cret"], "--refresh-token needs a --token-url"),
            (["http://a/", "--scope", "s3cret"], "--scope needs a --token-url"),
            (["http://a/", "--token-url", "https://a/"], "--token-url needs a --client-id"),
            (["http://a/", "--token-url", "s3cret", "--client-id", "app"], "--token-url needs a URL that begins"),
            (["http://a/", "--token-url", "ftp://u:s3cret@a/", "--client-id", "app"], "--token-url needs a URL"),
            (base + ["--client-secret", "s3cret", "--client-secret-file", "s3cret"], "exclude each other"),
            (base + ["--refresh-token", "s3cret", "--refresh-token-file", "s3cret"], "exclude each other"),
            (base + ["--client-secret"], "--client-secret needs a value"),
            (base + ["--client-secret", "--json"], "--client-secret needs a value"),
            (base + ["--client-secret="], "--client-secret needs a value"),
            (base + ["--header", "authorization: s3cret"], "exclude each other"),
            (base + ["--client-secrets=s3cret"], "unknown option '--client-secrets'"),
        ] as [([String], String)])
    func faults(words: [String], text: String) throws {
        let fault = try #require(usageFault(words))
        #expect(fault.contains(text))
        #expect(!fault.contains("s3cret"))
    }
}
