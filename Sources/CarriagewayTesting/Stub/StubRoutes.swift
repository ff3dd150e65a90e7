import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a stub answers to which requests.
struct StubRoutes {
    struct Route {
        let number: Int
        let isMatch: @Sendable (URLRequest) -> Bool
        let answers: [StubTransport.Answer]
        var position = 0
    }

    private(set) var routes: [Route] = []

    mutating func add(_ isMatch: @escaping @Sendable (URLRequest) -> Bool, _ answers: [StubTransport.Answer]) {
        routes.append(Route(number: routes.count, isMatch: isMatch, answers: answers))
    }

    /// The next answer of a route; it stays at its last.
    mutating func take(_ number: Int) -> StubTransport.Answer {
        let route = routes[number]
        guard !route.answers.isEmpty else { return .none }
        routes[number].position = min(route.position + 1, route.answers.count - 1)
        return route.answers[route.position]
    }
}
