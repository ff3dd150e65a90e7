import Foundation
import Testing

/// A generator that gives the same numbers for the same seed (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound` - 1; cheaper than `Int.random` where the last bit of evenness does not matter.
    mutating func below(_ bound: Int) -> Int { Int(truncatingIfNeeded: next() >> 33) % bound }

    /// True once in so many times.
    mutating func once(in times: Int) -> Bool { below(times) == 0 }
}

/// A random walk over a machine: the same for the same seed, with the seed in the report of what it finds.
///
/// `CARRIAGEWAY_WALK_STEPS` says how many steps it takes, `CARRIAGEWAY_SEED` where it begins.
enum RandomWalk {
    struct Violation: Error {
        let text: String
    }

    static let steps = environment("CARRIAGEWAY_WALK_STEPS").flatMap { Int($0) } ?? 200_000

    /// Takes the steps; the first violation ends the walk and fails the test.
    static func run(_ name: String, _ walk: (_ steps: Int, inout SeededRandom) throws -> Void) {
        let seed = environment("CARRIAGEWAY_SEED").flatMap { UInt64($0) } ?? .random(in: 0...UInt64.max)
        var random = SeededRandom(seed: seed)
        do {
            try walk(steps, &random)
        } catch {
            let again = "CARRIAGEWAY_SEED=\(seed) CARRIAGEWAY_WALK_STEPS=\(steps)"
            Issue.record("\(name): \(error); walk it again with \(again)")
        }
    }

    private static func environment(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }
}

/// Says what is wrong, unless it holds. Unlike `#expect` it costs next to nothing when it does.
func demand(_ condition: Bool, _ text: @autoclosure () -> String) throws(RandomWalk.Violation) {
    if !condition { throw RandomWalk.Violation(text: text()) }
}
