import Foundation

/// Plain text in columns: the first to the left, the others to the right.
struct Table {
    let title: String
    let columns: [String]
    var rows: [[String]] = []

    var text: String {
        let lines = [columns] + rows
        let widths = columns.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        let body = lines.map { line in
            line.indices.map { column in
                let padding = String(repeating: " ", count: widths[column] - line[column].count)
                return column == 0 ? line[column] + padding : padding + line[column]
            }.joined(separator: "  ")
        }
        let rule = String(repeating: "-", count: widths.reduce(0, +) + 2 * (widths.count - 1))
        return ([title, rule, body[0], rule] + body.dropFirst() + [""]).joined(separator: "\n")
    }
}

extension Double? {
    /// With so many digits after the point; "-" for what was not measured.
    func shown(_ digits: Int = 0) -> String {
        guard let self, self.isFinite else { return "-" }
        return String(format: "%.\(digits)f", self)
    }
}

/// A figure that the package promises.
struct Target {
    let text: String
    let value: Double?
    let limit: Double
    var isAtLeast = false

    /// Nil if it was not measured.
    var holds: Bool? { value.map { isAtLeast ? $0 >= limit : $0 <= limit } }

    static func table(of targets: [Target]) -> Table {
        var table = Table(title: "Targets", columns: ["", "measured", "limit", ""])
        for target in targets {
            let verdict = target.holds.map { $0 ? "ok" : "MISSED" } ?? "-"
            let bound = target.isAtLeast ? ">= " : "<= "
            table.rows.append([
                target.text, target.value.shown(2), bound + Optional(target.limit).shown(2), verdict,
            ])
        }
        return table
    }
}
