import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension NetworkResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Status, size or file name, and the number of attempts. The request is left out: its headers hold the credential.
    public var description: String {
        let body = fileURL.map { "file \($0.lastPathComponent)" } ?? "\(data.count) bytes"
        return
            "NetworkResponse(status \(statusCode), \(body), \(attempts.count) attempt\(attempts.count == 1 ? "" : "s"))"
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
