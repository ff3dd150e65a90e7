import Foundation

/// One redirect that was followed on the way to a response.
public struct NetworkRedirect: Sendable, Hashable {
    /// The status that led on, as 302.
    public let statusCode: Int

    /// The URL that answered with it.
    public let from: URL

    /// The URL that was asked next.
    public let to: URL
}
