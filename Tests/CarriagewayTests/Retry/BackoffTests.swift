import Foundation
import Testing

@testable import Carriageway

@Suite("Backoff")
struct BackoffTests {
    @Test("the default bound doubles from half a second to twenty seconds")
    func defaultBounds() {
        let backoff = Backoff.exponential()
        let bounds = (1...8).map { backoff.delay(beforeRetry: $0, isBusy: false, random: 1) }
        #expect(bounds == [0.5, 1, 2, 4, 8, 16, 20, 20].map { .seconds($0) })
    }

    @Test("after 429 and 503 the bound starts at a second")
    func busyBounds() {
        let backoff = Backoff.exponential()
        let bounds = (1...6).map { backoff.delay(beforeRetry: $0, isBusy: true, random: 1) }
        #expect(bounds == [1, 2, 4, 8, 16, 20].map { .seconds($0) })
    }

    @Test("full jitter spreads the wait over all of 0 to the bound")
    func fullJitter() {
        let backoff = Backoff.exponential(base: .seconds(8))
        let waits = [0, 0.25, 0.5, 1].map { backoff.delay(beforeRetry: 1, isBusy: false, random: $0) }
        #expect(waits == [.zero, .seconds(2), .seconds(4), .seconds(8)])
    }

    @Test("a part of jitter leaves the rest of the wait fixed; none leaves all of it")
    func partOfJitter() {
        let half = Backoff.exponential(base: .seconds(8), jitter: 0.5)
        #expect(half.delay(beforeRetry: 1, isBusy: false, random: 0) == .seconds(4))
        #expect(half.delay(beforeRetry: 1, isBusy: false, random: 1) == .seconds(8))
        let none = Backoff.exponential(base: .seconds(8), jitter: false)
        #expect(none.delay(beforeRetry: 1, isBusy: false, random: 0) == .seconds(8))
    }

    @Test(
        "jitter out of bounds counts as the nearer bound, and not a number as none",
        arguments: [(-1, 0), (-Double.infinity, 0), (2, 1), (.infinity, 1), (.nan, 0)] as [(Double, Double)])
    func jitterBounds(given: Double, fraction: Double) {
        #expect(Backoff.Jitter(fraction: given).fraction == fraction)
    }

    @Test("a base of 0 is at once, however far the retries go", arguments: [1, 2, 1_000, .max])
    func baseZero(retry: Int) {
        for base in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
            let backoff = Backoff.exponential(base: base, multiplier: .infinity)
            #expect(backoff.delay(beforeRetry: retry, isBusy: true, random: 1) == .zero)
        }
    }

    @Test("the number of a retry may be anything", arguments: [Int.min, -1, 0, 1, 64, 1_025, 1_000_000, .max])
    func hugeRetries(retry: Int) {
        let backoff = Backoff.exponential(base: .seconds(1), cap: .seconds(20), jitter: false)
        let expected: Duration = retry <= 1 ? .seconds(1) : .seconds(20)
        #expect(backoff.delay(beforeRetry: retry, isBusy: false, random: 1) == expected)
    }

    @Test("a small multiplier reaches the cap too")
    func smallMultiplier() {
        let backoff = Backoff.exponential(base: .seconds(1), multiplier: 1.0001, cap: .seconds(20), jitter: false)
        #expect(backoff.delay(beforeRetry: 1_000_000, isBusy: false, random: 1) == .seconds(20))
    }

    @Test("a multiplier below 1, or not a number, counts as 1", arguments: [0.5, 0, -3, .nan, -.infinity])
    func multiplierBelowOne(multiplier: Double) {
        let backoff = Backoff.exponential(base: .seconds(3), multiplier: multiplier, jitter: false)
        #expect(backoff.delay(beforeRetry: 9, isBusy: false, random: 1) == .seconds(3))
    }

    @Test("an endless multiplier is the cap from the second retry on")
    func endlessMultiplier() {
        let backoff = Backoff.exponential(base: .seconds(1), multiplier: .infinity, jitter: false)
        #expect(backoff.delay(beforeRetry: 1, isBusy: false, random: 1) == .seconds(1))
        #expect(backoff.delay(beforeRetry: 2, isBusy: false, random: 1) == .seconds(20))
    }

    @Test("the cap holds for the base too, and a cap of 0 or below is at once")
    func caps() {
        let low = Backoff.exponential(base: .seconds(30), cap: .seconds(5), jitter: false)
        #expect(low.delay(beforeRetry: 1, isBusy: true, random: 1) == .seconds(5))
        for cap in [Duration.zero, .seconds(-5)] {
            let none = Backoff.exponential(cap: cap, jitter: false)
            #expect(none.delay(beforeRetry: 5, isBusy: false, random: 1) == .zero)
        }
    }

    @Test("huge bases and caps saturate")
    func saturation() {
        let huge = Duration.seconds(Int64.max)
        let backoff = Backoff.exponential(base: huge, cap: huge, jitter: false)
        #expect(backoff.delay(beforeRetry: .max, isBusy: true, random: 1) == .longest)
        #expect(Backoff.fixed(huge).delay(beforeRetry: 1, isBusy: false, random: 0) == .longest)
    }

    @Test("a fixed wait is always the same, and negative counts as 0")
    func fixed() {
        let backoff = Backoff.fixed(.milliseconds(500))
        for retry in [1, 2, 1_000] {
            #expect(backoff.delay(beforeRetry: retry, isBusy: retry == 2, random: 0.3) == .milliseconds(500))
        }
        #expect(Backoff.fixed(.seconds(-1)).delay(beforeRetry: 1, isBusy: false, random: 1) == .zero)
    }

    @Test("every wait lies between 0 and its bound")
    func propertyOfBounds() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<2_000 {
            let base = Duration.milliseconds(random.below(5_000)), cap = Duration.milliseconds(random.below(30_000))
            let backoff = Backoff.exponential(base: base, multiplier: Double(random.below(4)), cap: cap)
            let wait = backoff.delay(
                beforeRetry: random.below(100), isBusy: random.once(in: 2), random: Double(random.below(1_001)) / 1_000)
            #expect(wait >= .zero && wait <= cap)
        }
    }
}

@Suite("Durations")
struct DurationTests {
    @Test("negative counts as 0, and more than a hundred years as that")
    func saturated() {
        #expect(Duration.seconds(-1).saturated == .zero)
        #expect(Duration.seconds(Int64.min).saturated == .zero)
        #expect(Duration.seconds(Int64.max).saturated == .longest)
        #expect(Duration.milliseconds(1_500).saturated == .milliseconds(1_500))
    }

    @Test(
        "seconds that are no time at all, or too long a one, saturate",
        arguments: [
            (-1, .zero), (-Double.infinity, .zero), (.nan, .zero), (0, .zero), (.infinity, .longest), (1e300, .longest),
            (1.5, .milliseconds(1_500)),
        ] as [(Double, Duration)])
    func fromSeconds(seconds: Double, duration: Duration) {
        #expect(Duration.saturating(seconds: seconds) == duration)
    }

    @Test("a duration in seconds has its fraction")
    func inSeconds() {
        #expect(Duration.milliseconds(1_250).inSeconds == 1.25)
        #expect(Duration.milliseconds(-1_250).inSeconds == -1.25)
        #expect(Duration.longest.inSeconds == 3_153_600_000)
    }
}
