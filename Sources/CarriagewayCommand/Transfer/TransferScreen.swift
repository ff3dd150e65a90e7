import Carriageway
import Foundation

/// What runs, as lines at the bottom of a terminal: one for each transfer, and a total. Nothing where there is no terminal.
final class TransferScreen: Sendable {
    private struct State {
        var running: [(index: Int, name: String, progress: Progress)] = []
        var drawn = 0
        var ended = 0
    }

    private let count: Int
    private let total: Progress
    private let isShown: Bool
    private let state = Locked(State())
    private let ticker = Locked<Ticker?>(nil)
    private static let mostLines = 10

    init(count: Int, total: Progress, isShown: Bool) {
        self.count = count
        self.total = total
        self.isShown = isShown
        guard isShown else { return }
        let ticker = Ticker(every: .milliseconds(200)) { [weak self] in self?.draw() }
        self.ticker.withLock { $0 = ticker }
    }

    func watch(_ index: Int, _ name: String, _ progress: Progress) {
        guard isShown else { return }
        state.withLock { $0.running.append((index, name, progress)) }
    }

    /// Takes the lines away, prints what is to stay, and draws them again.
    func printing(ended index: Int?, _ body: () -> Void) {
        if isShown {
            let text = state.withLock { state in
                if let index {
                    state.running.removeAll { $0.index == index }
                    state.ended += 1
                }
                return Self.erasing(&state)
            }
            Console.draw(text)
        }
        body()
    }

    private func draw() {
        guard isShown else { return }
        let text = state.withLock { state in
            let moving = state.running.filter { $0.progress.completedUnitCount > 0 }
            var lines = moving.prefix(Self.mostLines).map { Self.line($0.name, $0.progress) }
            if moving.count > Self.mostLines { lines.append("  and \(moving.count - Self.mostLines) more") }
            lines.append(Self.line("\(state.ended) of \(count) done", total))
            let erasing = Self.erasing(&state)
            state.drawn = lines.count
            return erasing + lines.joined(separator: "\n") + "\n"
        }
        Console.draw(text)
    }

    /// Up to the first of the lines, and all below gone.
    private static func erasing(_ state: inout State) -> String {
        defer { state.drawn = 0 }
        return state.drawn > 0 ? "\u{1B}[\(state.drawn)A\u{1B}[J" : ""
    }

    static func line(_ name: String, _ progress: Progress) -> String {
        let (bytes, expected) = (progress.completedUnitCount, progress.totalUnitCount)
        let share = expected > 0 ? "\(min(bytes * 100 / expected, 100)) %" : ""
        let speed = progress.bytesPerSecond.map { "\(size(Int64($0)))/s" } ?? ""
        let columns = [
            share.padded(to: 5, .right), size(bytes).padded(to: 10, .right), speed.padded(to: 12, .right),
            String(name.suffix(40)),
        ]
        return columns.joined(separator: "  ")
    }

    /// Bytes as people read them.
    static func size(_ bytes: Int64) -> String {
        let units = ["B", "KB", "MB", "GB", "TB"]
        var value = Double(bytes)
        var unit = 0
        while value >= 1_000, unit < units.count - 1 {
            value /= 1_000
            unit += 1
        }
        return unit == 0 ? "\(bytes) B" : String(format: "%.1f ", value) + units[unit]
    }
}
