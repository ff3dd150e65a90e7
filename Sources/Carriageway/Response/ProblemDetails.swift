import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a server says of a failure in the body of its response (RFC 9457, `application/problem+json`).
///
/// ```swift
/// do {
///     try await client.send(.post("/orders").sending(order))
/// } catch {
///     show(error.problem?.detail ?? error.localizedDescription)
/// }
/// ```
public struct ProblemDetails: Sendable, Hashable {
    /// A URI that names the kind of problem; `about:blank` if it is no more than the status says.
    public var type = "about:blank"

    /// The kind of problem in words, the same each time.
    public var title: String?

    /// The HTTP status code, as the server that made the response set it.
    public var status: Int?

    /// This very problem in words.
    public var detail: String?

    /// A URI that names this very problem.
    public var instance: String?

    /// What else the server says.
    public var extensions: [String: JSONValue] = [:]

    /// From an object; members of the wrong kind are left out, as the RFC asks (section 3.1).
    public init(_ members: [String: JSONValue]) {
        extensions = members
        if let type = extensions.removeValue(forKey: "type").string { self.type = type }
        title = extensions.removeValue(forKey: "title").string
        status = extensions.removeValue(forKey: "status").int
        detail = extensions.removeValue(forKey: "detail").string
        instance = extensions.removeValue(forKey: "instance").string
    }
}

extension NetworkError {
    /// The body of the response that was refused; that of the last attempt once retries are used up.
    public var responseData: Data? {
        switch self {
        case .endpointError(_, let data), .unacceptableResponse(_, let data, _): data
        case .decodingFailed(_, let response): response.data
        case .inaccessible(_, let last): last.responseData
        case .cancelled, .urlError, .generalError, .invalidRequest, .invalidResponseType, .noResponseData,
            .responseTooLarge, .deadlineExceeded, .dependencyFailed, .authenticationFailed, .sessionInvalidated,
            .fileError:
            nil
        }
    }

    /// What the server says of the failure, if it does so by RFC 9457; see ``ProblemDetails``.
    public var problem: ProblemDetails? {
        guard let response, let data = responseData,
            let type = response.value(forHTTPHeaderField: "Content-Type")?.prefix(while: { $0 != ";" }),
            type.trimmingCharacters(in: .whitespaces).lowercased() == "application/problem+json",
            let members = try? JSONValue(parsing: data).object
        else { return nil }
        return ProblemDetails(members)
    }

    /// The body of the response that was refused, as a value: what an API says of its errors in a form of its own.
    ///
    /// Nil if no response came, or if it is of another form.
    public func responseValue<Value: Decodable>(
        as type: Value.Type = Value.self, using decoder: any BodyDecoder = JSONDecoder()
    ) -> Value? {
        responseData.flatMap { try? decoder.decode(type, from: $0) }
    }
}
