import Foundation

/// What can be wrong with a downloaded file, other than what the system says of it.
public enum DownloadError: Error, Sendable, Equatable, LocalizedError, CustomStringConvertible {
    /// The file has another SHA-256 than it should have.
    case wrongDigest(expected: String, actual: String)
    /// There is a file of that name, and it is not to be replaced.
    case fileExists
    /// Another download writes to the same file.
    case fileInUse

    /// One sentence.
    public var description: String {
        switch self {
        case .wrongDigest(let expected, let actual): "the SHA-256 is \(actual), not \(expected)"
        case .fileExists: "there is a file of that name"
        case .fileInUse: "another download writes to that file"
        }
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
