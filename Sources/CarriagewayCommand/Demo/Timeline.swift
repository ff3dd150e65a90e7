import Foundation

/// Prints events in the order in which they are told, with the time since the start.
final class Timeline: Sendable {
    private let start = ContinuousClock.now
    private let showsColours = Console.showsColours
    /// Takes the time and prints, one event after the other, so that times never run backwards.
    private let queue = DispatchQueue(label: "carriageway.command.timeline")

    /// A heading, after an empty line.
    func title(_ text: String) {
        line("\n\(styled(text, "1"))")
    }

    /// An event of a request or of the queue.
    func add(_ name: String, _ event: String) {
        queue.sync {
            let time = "\((ContinuousClock.now - start).inWholeMilliseconds) ms".padded(to: 8, .right)
            write("\(styled(time, "2"))  \(styled(name.padded(to: 8), "36"))  \(event)")
        }
    }

    /// A line without a time.
    func line(_ text: String) {
        queue.sync { write(text) }
    }

    private func write(_ line: String) {
        // The story goes on without a reader: its exit status still counts.
        try? Console.print(line)
    }

    private func styled(_ text: String, _ code: String) -> String {
        showsColours ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
