import Foundation

/// Writes values as `application/x-www-form-urlencoded`: `name=Ada&tags=a&tags=b`.
///
/// Members of structures come in the order of their encoding, keys of dictionaries sorted. A structure within another is
/// written `user[name]=Ada`. What is nil is left out.
public struct FormEncoder: Sendable {
    /// How an array is written.
    public enum ArrayStyle: Sendable {
        /// `tags=a&tags=b`
        case repeated
        /// `tags[]=a&tags[]=b`
        case brackets
        /// `tags[0]=a&tags[1]=b`
        case indices
    }

    /// How a `Date` is written.
    public enum DateStyle: Sendable {
        /// `2026-11-30T11:00:00Z` (RFC 3339), in whole seconds.
        case iso8601
        /// Seconds since 1970, with a fraction where there is one.
        case secondsSince1970
        /// Whole milliseconds since 1970.
        case millisecondsSince1970
        /// As the closure says.
        case custom(@Sendable (Date) -> String)
    }

    /// How a truth value is written.
    public enum BoolStyle: Sendable {
        /// `true` and `false`
        case words
        /// `1` and `0`
        case numbers
    }

    /// Arrays repeat the name unless set otherwise.
    public var arrays = ArrayStyle.repeated
    /// ISO 8601 unless set otherwise.
    public var dates = DateStyle.iso8601
    /// Words unless set otherwise.
    public var bools = BoolStyle.words

    /// An encoder with the usual styles.
    public init(
        arrays: ArrayStyle = .repeated, dates: DateStyle = .iso8601, bools: BoolStyle = .words
    ) {
        self.arrays = arrays
        self.dates = dates
        self.bools = bools
    }

    /// The value as form text.
    ///
    /// - Throws: what the value's own encoding throws; `EncodingError` if the value has no names on its top level.
    public func encode(_ value: some Encodable) throws -> String {
        let node = try FormNode.encode(value, with: self, at: [])
        var fields: [(name: String, value: String)] = []
        switch node.content {
        case .members(let members):
            for member in Self.ordered(members, of: value) { flatten(member.node, named: member.name, into: &fields) }
        case .text, .elements, .nothing:
            throw EncodingError.invalidValue(
                value, .init(codingPath: [], debugDescription: "A form has names: the value must be a structure"))
        }
        return FormEncoding.encode(fields)
    }

    private func flatten(_ node: FormNode, named name: String, into fields: inout [(name: String, value: String)]) {
        switch node.content {
        case .nothing: break
        case .text(let text): fields.append((name, text))
        case .elements(let elements):
            for (index, element) in elements.enumerated() {
                switch arrays {
                case .repeated: flatten(element, named: name, into: &fields)
                case .brackets: flatten(element, named: "\(name)[]", into: &fields)
                case .indices: flatten(element, named: "\(name)[\(index)]", into: &fields)
                }
            }
        case .members(let members):
            for member in node.isDictionary ? members.sorted(by: { $0.name < $1.name }) : members {
                flatten(member.node, named: "\(name)[\(member.name)]", into: &fields)
            }
        }
    }

    private static func ordered(
        _ members: [(name: String, node: FormNode)], of value: some Encodable
    ) -> [(name: String, node: FormNode)] {
        value is [AnyHashable: Any] ? members.sorted { $0.name < $1.name } : members
    }

    func text(_ date: Date) -> String {
        switch dates {
        case .iso8601: date.formatted(.iso8601)
        case .secondsSince1970: Self.text(date.timeIntervalSince1970)
        case .millisecondsSince1970: String(format: "%.0f", date.timeIntervalSince1970 * 1000)
        case .custom(let write): write(date)
        }
    }

    func text(_ value: Bool) -> String {
        switch bools {
        case .words: value ? "true" : "false"
        case .numbers: value ? "1" : "0"
        }
    }

    /// Without ".0" where the number is whole.
    static func text(_ number: Double) -> String {
        guard number == number.rounded(), abs(number) < 1e15 else { return "\(number)" }
        return String(Int64(number))
    }
}
