import Foundation

extension JSONValue: CustomStringConvertible {
    /// The depth that is read unless the caller says otherwise, and at most: as many arrays and objects may stand in each
    /// other. Deeper values could be read, but to let go of one would overflow the stack of a small thread.
    public static let maxDepth = 512

    /// Reads JSON in UTF-8.
    ///
    /// Half of a surrogate pair in an escape, which is no character, becomes U+FFFD.
    ///
    /// - Parameters:
    ///   - data: one value, with blanks around it at most.
    ///   - maxDepth: how many arrays and objects may stand in each other; at most ``maxDepth``. 0 allows none.
    /// - Throws: ``JSONParseError``
    public init(parsing data: Data, maxDepth: Int = JSONValue.maxDepth) throws(JSONParseError) {
        var parser = JSONParser([UInt8](data), maxDepth: min(maxDepth, JSONValue.maxDepth))
        self = try parser.parse()
    }

    /// Reads JSON from text; see ``init(parsing:maxDepth:)-(Data,_)``.
    ///
    /// - Throws: ``JSONParseError``
    public init(parsing text: String, maxDepth: Int = JSONValue.maxDepth) throws(JSONParseError) {
        try self.init(parsing: Data(text.utf8), maxDepth: maxDepth)
    }

    /// The value as JSON in UTF-8: members sorted by name, numbers as they were written.
    ///
    /// - Parameter isPretty: whether to write a line for each element and member, indented by two blanks for each level.
    public func data(isPretty: Bool = false) -> Data {
        var writer = JSONWriter(isPretty: isPretty)
        writer.write(self)
        return Data(writer.bytes)
    }

    /// The value as JSON, in one line.
    public var description: String { String(decoding: data(), as: UTF8.self) }
}
