import Foundation

/// One function for each method; ``Endpoint/init(_:_:query:headers:body:as:)-(_,_,_,_,_,Value.Type)`` says what the
/// parameters are.
extension Endpoint where Value: Decodable {
    /// Gets what is there.
    public static func get(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], as type: Value.Type = Value.self
    ) -> Endpoint {
        Endpoint(.get, path, query: query, headers: headers, as: type)
    }

    /// Gives something to work on. It is sent again only where that is allowed; see ``RetryPolicy``.
    public static func post(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Value.self
    ) -> Endpoint {
        Endpoint(.post, path, query: query, headers: headers, body: body, as: type)
    }

    /// Puts something in a place.
    public static func put(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Value.self
    ) -> Endpoint {
        Endpoint(.put, path, query: query, headers: headers, body: body, as: type)
    }

    /// Changes a part. It is sent again only where that is allowed; see ``RetryPolicy``.
    public static func patch(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Value.self
    ) -> Endpoint {
        Endpoint(.patch, path, query: query, headers: headers, body: body, as: type)
    }

    /// Removes what is there.
    public static func delete(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Value.self
    ) -> Endpoint {
        Endpoint(.delete, path, query: query, headers: headers, body: body, as: type)
    }

    /// Gets the headers only; the response has no body.
    public static func head(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], as type: Value.Type = Value.self
    ) -> Endpoint {
        Endpoint(.head, path, query: query, headers: headers, as: type)
    }

    /// Asks what can be done.
    public static func options(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Value.self
    ) -> Endpoint {
        Endpoint(.options, path, query: query, headers: headers, body: body, as: type)
    }

    /// Gets the request back as it arrived.
    public static func trace(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], as type: Value.Type = Value.self
    ) -> Endpoint {
        Endpoint(.trace, path, query: query, headers: headers, as: type)
    }

    /// Asks a proxy for a tunnel.
    public static func connect(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], as type: Value.Type = Value.self
    ) -> Endpoint {
        Endpoint(.connect, path, query: query, headers: headers, as: type)
    }

    /// Gets what the body asks for; safe, and may be sent again.
    public static func query(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Value.self
    ) -> Endpoint {
        Endpoint(.query, path, query: query, headers: headers, body: body, as: type)
    }
}

/// The same for responses that have nothing to say.
extension Endpoint where Value == Void {
    /// Gets what is there.
    public static func get(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], as type: Value.Type = Void.self
    ) -> Endpoint {
        Endpoint(.get, path, query: query, headers: headers, as: type)
    }

    /// Gives something to work on. It is sent again only where that is allowed; see ``RetryPolicy``.
    public static func post(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Void.self
    ) -> Endpoint {
        Endpoint(.post, path, query: query, headers: headers, body: body, as: type)
    }

    /// Puts something in a place.
    public static func put(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Void.self
    ) -> Endpoint {
        Endpoint(.put, path, query: query, headers: headers, body: body, as: type)
    }

    /// Changes a part. It is sent again only where that is allowed; see ``RetryPolicy``.
    public static func patch(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Void.self
    ) -> Endpoint {
        Endpoint(.patch, path, query: query, headers: headers, body: body, as: type)
    }

    /// Removes what is there.
    public static func delete(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Void.self
    ) -> Endpoint {
        Endpoint(.delete, path, query: query, headers: headers, body: body, as: type)
    }

    /// Gets the headers only; the response has no body.
    public static func head(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], as type: Value.Type = Void.self
    ) -> Endpoint {
        Endpoint(.head, path, query: query, headers: headers, as: type)
    }

    /// Asks what can be done.
    public static func options(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Void.self
    ) -> Endpoint {
        Endpoint(.options, path, query: query, headers: headers, body: body, as: type)
    }

    /// Gets the request back as it arrived.
    public static func trace(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], as type: Value.Type = Void.self
    ) -> Endpoint {
        Endpoint(.trace, path, query: query, headers: headers, as: type)
    }

    /// Asks a proxy for a tunnel.
    public static func connect(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], as type: Value.Type = Void.self
    ) -> Endpoint {
        Endpoint(.connect, path, query: query, headers: headers, as: type)
    }

    /// Gets what the body asks for; safe, and may be sent again.
    public static func query(
        _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:], body: RequestBody? = nil,
        as type: Value.Type = Void.self
    ) -> Endpoint {
        Endpoint(.query, path, query: query, headers: headers, body: body, as: type)
    }
}
