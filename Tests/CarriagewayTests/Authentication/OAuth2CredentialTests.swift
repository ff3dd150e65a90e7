import Foundation
import Testing

@testable import Carriageway

@Suite("An OAuth 2 credential")
struct OAuth2CredentialTests {
    private func credential(_ lifetime: Duration?) -> OAuth2Credential {
        OAuth2Credential(accessToken: "a", lifetime: lifetime, received: Made.instant)
    }

    @Test(
        "the leeway is a tenth of the lifetime, at most a minute",
        arguments: [
            (Duration.seconds(3_600), Duration.seconds(60)), (.seconds(600), .seconds(60)),
            (.seconds(300), .seconds(30)),
            (.seconds(1), .milliseconds(100)), (.zero, .zero), (.seconds(-5), .zero),
            (.seconds(Int64.max), .seconds(60)),
        ])
    func leeway(lifetime: Duration, leeway: Duration) {
        #expect(credential(lifetime).leeway == leeway)
    }

    @Test("C11: it is to be renewed from the leeway on, not before")
    func expiring() throws {
        let credential = credential(.seconds(3_600))
        let expiry = try #require(credential.expiry)
        #expect(expiry == Made.instant + .seconds(3_600))
        #expect(!credential.isExpiring(at: Made.instant))
        #expect(!credential.isExpiring(at: Made.instant - .seconds(1_000)))
        #expect(!credential.isExpiring(at: expiry - .seconds(60) - .nanoseconds(1)))
        #expect(credential.isExpiring(at: expiry - .seconds(60)))
        #expect(credential.isExpiring(at: expiry + .seconds(1)))
        #expect(self.credential(.zero).isExpiring(at: Made.instant))
    }

    @Test("without a known lifetime it does not expire")
    func unknownLifetime() {
        #expect(credential(nil).expiry == nil)
        #expect(!credential(nil).isExpiring(at: Made.instant + .longest))
    }

    @Test("without an access token it is to be fetched")
    func pending() {
        #expect(OAuth2Credential.pending.isExpiring(at: Made.instant))
        #expect(OAuth2Credential.pending.refreshToken == nil)
        #expect(OAuth2Credential(refreshToken: "r").isExpiring(at: Made.instant))
        #expect(OAuth2Credential(refreshToken: "r").refreshToken == "r")
    }

    @Test("it survives a restart, and its expiry with it", arguments: [3_600, 30, -30, 1e30, 0] as [Double])
    func coding(left: Double) throws {
        // What is left is more or less than the lifetime by the time that the process was away.
        let lifetime = Duration.saturating(seconds: max(left, 600))
        let received =
            ContinuousClock.now - (lifetime - .saturating(seconds: left)) + (left < 0 ? .seconds(left) : .zero)
        let credential = OAuth2Credential(
            accessToken: "access \"1\"", refreshToken: "refresh", lifetime: lifetime, scopes: ["write", "read"],
            tokenType: "bearer", received: received)
        let data = try JSONEncoder().encode(credential)
        let read = try JSONDecoder().decode(OAuth2Credential.self, from: data)
        #expect(read.accessToken == credential.accessToken)
        #expect(read.refreshToken == credential.refreshToken)
        #expect(read.scopes == credential.scopes)
        #expect(read.tokenType == "bearer")
        #expect(read.leeway == credential.leeway)
        let shift = try #require(read.expiry) - (try #require(credential.expiry))
        // A hundred years as a number of seconds are exact to a microsecond; reading takes its time.
        #expect(abs(shift.inSeconds) < 30)
    }

    @Test("what was stored without a lifetime has none when it is read")
    func codingWithoutLifetime() throws {
        let data = try JSONEncoder().encode(OAuth2Credential(accessToken: "a"))
        let read = try JSONDecoder().decode(OAuth2Credential.self, from: data)
        #expect(read.lifetime == nil && read.refreshToken == nil && read.scopes.isEmpty)
        let shortest = try JSONDecoder().decode(OAuth2Credential.self, from: Data(#"{"accessToken":"a"}"#.utf8))
        #expect(shortest.tokenType == "Bearer" && shortest.expiry == nil)
    }

    @Test("what is left after a restart is told by the calendar, and is never more than the lifetime")
    func calendar() throws {
        func read(lifetime: Double, expiresIn left: Double) throws -> Duration {
            let expires = Date().timeIntervalSince1970 + left
            let text = #"{"accessToken":"a","lifetime":\#(lifetime),"expires":\#(expires)}"#
            let read = try JSONDecoder().decode(OAuth2Credential.self, from: Data(text.utf8))
            return try #require(read.expiry) - .now
        }
        #expect(abs(try read(lifetime: 600, expiresIn: 100).inSeconds - 100) < 30)
        #expect(abs(try read(lifetime: 600, expiresIn: -1_000).inSeconds + 1_000) < 30)
        // The clock was set back meanwhile.
        #expect(try read(lifetime: 600, expiresIn: 1e9) <= .seconds(600))
        #expect(try read(lifetime: 1e300, expiresIn: 1e300) <= .longest)
        #expect(try read(lifetime: -5, expiresIn: 1e300) <= .zero)
        #expect(try read(lifetime: 600, expiresIn: -1e300) < .zero)
    }

    @Test("its description says what it is")
    func description() {
        let credential = OAuth2Credential(
            accessToken: "acc3ss", refreshToken: "r3fresh", lifetime: .seconds(60), scopes: ["b", "a"])
        #expect(credential.description == "OAuth2Credential(Bearer, lifetime 60 s, with refresh token, scopes: a b)")
        #expect(
            OAuth2Credential.pending.description
                == "OAuth2Credential(to be fetched, lifetime unknown, no refresh token)")
    }
}
