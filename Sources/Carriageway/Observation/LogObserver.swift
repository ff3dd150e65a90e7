import Foundation

/// An observer that writes one line for each event, as
/// `2026-11-30T10:15:00.123Z #7 GET https://api.example.com/user?token=*** attempt 1: on the wire`.
///
/// ```swift
/// let queue = NetworkQueue(session: session) {
///     $0.observers = [LogObserver(to: .standardError)]
/// }
/// ```
public struct LogObserver: NetworkObserver {
    private let write: @Sendable (String) -> Void

    /// Hands each line, without a line end, to a closure.
    public init(write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    /// Writes each line to a file; what cannot be written is lost.
    public init(to file: FileHandle) {
        write = { try? file.write(contentsOf: Data(($0 + "\n").utf8)) }
    }

    /// Writes the event's line.
    public func observe(_ event: NetworkEvent) {
        write("\(event.date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))) \(event)")
    }
}
