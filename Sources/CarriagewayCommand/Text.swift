/// The side on which a column's text stands.
enum Alignment {
    case left
    case right
}

extension String {
    /// The text, filled with spaces to a width; longer text is left as it is.
    func padded(to width: Int, _ alignment: Alignment = .left) -> String {
        let filling = String(repeating: " ", count: max(0, width - count))
        return alignment == .left ? self + filling : filling + self
    }
}
