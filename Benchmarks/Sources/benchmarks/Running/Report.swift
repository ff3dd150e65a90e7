import Foundation

/// The results as JSON.
struct Report {
    private struct Measurement: Encodable {
        let suite: String
        let subject: String
        let size: Int
        let medians: [String: Double]
        let rounds: [String: [Double]]
    }

    private struct Verdict: Encodable {
        let text: String
        let value: Double?
        let limit: Double
        let bound: String
        let holds: Bool?
    }

    private struct Content: Encodable {
        let measurements: [Measurement]
        let targets: [Verdict]
    }

    let results: Results
    let targets: [Target]

    func json() throws -> String {
        let measurements = results.values.map { key, rounds in
            Measurement(
                suite: key.suite, subject: key.subject, size: key.size, medians: rounds.compactMapValues(\.median),
                rounds: rounds)
        }
        let sorted = measurements.sorted { ($0.suite, $0.subject, $0.size) < ($1.suite, $1.subject, $1.size) }
        let verdicts = targets.map {
            Verdict(
                text: $0.text, value: $0.value, limit: $0.limit, bound: $0.isAtLeast ? "at least" : "at most",
                holds: $0.holds)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return String(
            decoding: try encoder.encode(Content(measurements: sorted, targets: verdicts)), as: UTF8.self)
    }
}
