import Foundation

/// Why bytes are no JSON.
public struct JSONParseError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// Where reading ended, in bytes from 0.
    public let offset: Int

    /// What is wrong there; nothing of the text itself.
    public let reason: String

    /// Where and what, in one line.
    public var description: String { "malformed JSON at byte \(offset): \(reason)" }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
