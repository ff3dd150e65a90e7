extension NetworkResponse {
    /// The body as JSON of any shape; see ``JSONValue``.
    ///
    /// - Parameter maxDepth: how many arrays and objects may stand in each other; at most ``JSONValue/maxDepth``.
    /// - Throws: ``NetworkError/noResponseData(_:)`` if there is no body, ``NetworkError/decodingFailed(_:_:)`` with a
    ///   ``JSONParseError`` if it is no JSON.
    public func json(maxDepth: Int = JSONValue.maxDepth) throws(NetworkError) -> JSONValue {
        guard !data.isEmpty else { throw .noResponseData(http) }
        do throws(JSONParseError) {
            return try JSONValue(parsing: data, maxDepth: maxDepth)
        } catch {
            throw .decodingFailed(error, self)
        }
    }
}
