import Foundation

/// A number of JSON, with every digit that was written.
///
/// Numbers are equal if they are the same number: `1`, `1.0` and `10e-1` are.
public struct JSONNumber: Sendable {
    /// The number as JSON has it.
    public let text: String

    /// Of text that is known to be a number of JSON.
    init(checked text: String) { self.text = text }

    /// A number from its text; nil if JSON does not write numbers so.
    public init?(_ text: String) {
        guard let value = try? JSONValue(parsing: text), case .number(let number) = value, number.text == text else {
            return nil
        }
        self = number
    }

    /// An integer, exact.
    public init(_ value: some BinaryInteger) { text = String(value) }

    /// The shortest number that is read as this one again; nil if it is infinite or no number.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = "\(value)"
    }

    /// A decimal number, exact; nil if it is no number.
    public init?(_ value: Decimal) {
        guard value.isFinite else { return nil }
        text = "\(value)"
    }

    /// The number as an integer, if it is whole and fits.
    public func integer<Integer: FixedWidthInteger>(as type: Integer.Type = Integer.self) -> Integer? {
        if let plain = Integer(text) { return plain }
        guard let parts = Parts(text), (0...40).contains(parts.exponent) else { return nil }
        return Integer(parts.sign + parts.digits + String(repeating: "0", count: parts.exponent))
    }

    /// The nearest `Double`; nil if the number is too large for one. What is too small is 0.
    public var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// The number as `Decimal`; nil if that cannot hold it exactly.
    public var decimal: Decimal? {
        guard let parts = Parts(text), parts.digits.utf8.count <= 39, (-128...127).contains(parts.exponent) else {
            return nil
        }
        guard let digits = Decimal(string: parts.digits, locale: Locale(identifier: "en_US_POSIX")) else { return nil }
        let value = Decimal(
            sign: parts.sign.isEmpty ? .plus : .minus, exponent: parts.exponent, significand: digits)
        // 39 digits may be too many for it, or may not.
        return JSONNumber(value) == self ? value : nil
    }
}

extension JSONNumber: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, CustomStringConvertible {
    /// An integer of at most 64 bits with its sign; larger ones from a value: `JSONNumber(UInt64.max)`.
    public init(integerLiteral value: Int64) { text = String(value) }

    /// A number; one that is infinite counts as 0, since JSON cannot say it.
    public init(floatLiteral value: Double) { text = value.isFinite ? "\(value)" : "0" }

    /// The number as JSON has it.
    public var description: String { text }
}

extension JSONNumber: Hashable {
    /// Sign, digits and exponent, with no zero in front or behind: the same for the same number.
    private struct Parts: Hashable {
        var sign = ""
        var digits: String
        var exponent: Int

        /// Nil if the exponent is beyond reckoning.
        init?(_ text: String) {
            var rest = Substring(text)
            if rest.first == "-" {
                sign = "-"
                rest = rest.dropFirst()
            }
            let mantissa = rest.prefix { $0 != "e" && $0 != "E" }
            let written = rest.dropFirst(mantissa.count + 1)
            let whole = mantissa.prefix { $0 != "." }
            let fraction = mantissa.dropFirst(whole.count + 1)
            let all = (whole + fraction).drop { $0 == "0" }
            let trimmed = all.reversed().drop { $0 == "0" }
            guard !trimmed.isEmpty else {
                self = .zero
                return
            }
            // Far from overflow, so that the sums below are safe.
            guard let power = written.isEmpty ? 0 : Int(written), power.magnitude < 1 << 60 else { return nil }
            digits = String(trimmed.reversed())
            exponent = power - fraction.count + all.count - trimmed.count
        }

        private init(digits: String, exponent: Int) {
            self.digits = digits
            self.exponent = exponent
        }

        static let zero = Parts(digits: "0", exponent: 0)
    }

    /// Whether both are the same number.
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        if left.text == right.text { return true }
        guard let left = Parts(left.text), let right = Parts(right.text) else { return false }
        return left == right
    }

    /// Feeds what makes the number.
    public func hash(into hasher: inout Hasher) {
        if let parts = Parts(text) { hasher.combine(parts) } else { hasher.combine(text) }
    }
}
