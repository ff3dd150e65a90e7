import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Which responses count as a success.
///
/// ```swift
/// operation.validation = .default.contentTypes("application/json")
/// operation.validation = .statuses(200..<300)
/// operation.validation = .none
/// ```
public struct ResponseValidation: Sendable {
    private var acceptedStatuses: [ClosedRange<Int>]
    private var acceptedTypes: [String] = []
    private var check: (@Sendable (HTTPURLResponse, Data) -> String?)?

    /// Accepts every status below 400, and every content type.
    public static let `default` = ResponseValidation(acceptedStatuses: [Int.min...399])

    /// Accepts everything: a 404 is a response like any other.
    public static let none = ResponseValidation(acceptedStatuses: [Int.min...Int.max])

    /// Accepts the statuses in the given ranges only.
    public static func statuses(_ ranges: Range<Int>...) -> ResponseValidation {
        ResponseValidation(acceptedStatuses: ranges.filter { !$0.isEmpty }.map { $0.lowerBound...($0.upperBound - 1) })
    }

    /// The same, and the response's content type must be one of these, `*/*` and `type/*` among them.
    ///
    /// Parameters such as `charset` are not compared, nor is the case. A response without a body always passes.
    public func contentTypes(_ types: String...) -> ResponseValidation {
        var copy = self
        copy.acceptedTypes = types.map { $0.lowercased() }
        return copy
    }

    /// The same, and `check` must find no fault: it returns nil, or the reason why the response is not acceptable.
    public func checked(by check: @escaping @Sendable (HTTPURLResponse, Data) -> String?) -> ResponseValidation {
        var copy = self
        copy.check = check
        return copy
    }

    /// Whether code of the caller takes part, which must not run on a session's queues.
    var callsOut: Bool { check != nil }

    func accepts(status: Int) -> Bool {
        acceptedStatuses.contains { $0.contains(status) }
    }

    /// Whether status and type are acceptable, before there is a body.
    func acceptsHead(of response: HTTPURLResponse) -> Bool {
        var copy = self
        copy.check = nil
        return copy.failure(of: response, Data(), isElsewhere: true) == nil
    }

    /// The same for a head whose response need not be made for it, as long as only the status is asked about.
    func failure(of head: ReceivedHead, _ data: Data, isElsewhere: Bool) -> NetworkError? {
        if acceptedTypes.isEmpty, check == nil, accepts(status: head.statusCode) { return nil }
        return failure(of: head.http, data, isElsewhere: isElsewhere)
    }

    /// Why the response is a failure; nil if it is none.
    ///
    /// - Parameter isElsewhere: whether the body went to a file or a stream, so that `data` says nothing.
    func failure(of response: HTTPURLResponse, _ data: Data, isElsewhere: Bool = false) -> NetworkError? {
        let status = response.statusCode
        guard accepts(status: status) else {
            return status >= 400
                ? .endpointError(response, data)
                : .unacceptableResponse(response, data, reason: "status \(status)")
        }
        if !acceptedTypes.isEmpty, !data.isEmpty || isElsewhere {
            let type = Self.essence(of: response.value(forHTTPHeaderField: "Content-Type") ?? "")
            guard acceptedTypes.contains(where: { Self.type(type, fits: Self.essence(of: $0)) }) else {
                return .unacceptableResponse(
                    response, data, reason: type.isEmpty ? "no content type" : "content type \(type)")
            }
        }
        return check?(response, data).map { .unacceptableResponse(response, data, reason: $0) }
    }

    /// A media type without its parameters, in small letters.
    static func essence(of type: String) -> String {
        (type.split(separator: ";", omittingEmptySubsequences: false).first ?? "")
            .trimmingCharacters(in: .whitespaces).lowercased()
    }

    private static func type(_ type: String, fits pattern: String) -> Bool {
        if pattern == "*/*" { return true }
        if pattern.hasSuffix("/*") { return type.hasPrefix(pattern.dropLast()) }
        return type == pattern
    }
}
