import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension NetworkResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Status, size, and the number of attempts. The request is left out: its headers hold the credential.
    public var description: String {
        "NetworkResponse(status \(statusCode), \(data.count) bytes, \(attempts.count) attempts)"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// What dumps show: the same as ``description``.
    public var customMirror: Mirror {
        Mirror(
            self, children: ["statusCode": statusCode, "bytes": data.count, "attempts": attempts.count],
            displayStyle: .struct)
    }
}
