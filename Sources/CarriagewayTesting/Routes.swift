import Foundation

/// The routes of a server. All state is guarded by `lock`; handlers are called by the caller, outside it.
final class Routes: @unchecked Sendable {
    private let lock = NSLock()
    private var table = RouteTable()

    func add(_ route: RouteTable.Action, method: String?, pattern: String) {
        // What is replaced is let go outside the lock: a handler may own anything, even the server.
        let replaced = lock.withLock { table.add(route, method: method, pattern: pattern) }
        withExtendedLifetime(replaced) {}
    }

    /// The answer to a request; 404 when no route matches.
    func response(to request: LoopbackServer.Request) -> LoopbackServer.Response {
        switch lock.withLock({ table.match(method: request.method, path: request.path) }) {
        case .response(let response): response
        case .handler(let handler): handler(request)
        case nil: .text("LoopbackServer has no route for \(request.method) \(request.path)", status: 404)
        }
    }

    func removeAll() {
        let removed = lock.withLock {
            defer { table = RouteTable() }
            return table
        }
        withExtendedLifetime(removed) {}
    }
}

/// Which route a request takes: the most specific one.
///
/// An exact path goes before a pattern with a trailing "*", a longer pattern before a shorter one, and for the same
/// path one for the method before one for all methods. HEAD takes the route for GET when it has none of its own.
struct RouteTable {
    typealias Handler = @Sendable (LoopbackServer.Request) -> LoopbackServer.Response

    enum Action {
        case handler(Handler)
        case script([LoopbackServer.Response])
    }

    enum Match {
        case response(LoopbackServer.Response)
        case handler(Handler)
    }

    private struct Route {
        let action: Action
        var position = 0

        /// Moves a script on, and stays at its last answer.
        mutating func take() -> Match? {
            switch action {
            case .handler(let handler): return .handler(handler)
            case .script(let script):
                guard !script.isEmpty else { return nil }
                defer { position = min(position + 1, script.count - 1) }
                return .response(script[position])
            }
        }
    }

    /// The routes of one pattern by method; "" stands for all methods.
    private typealias Methods = [String: Route]

    private var exact: [String: Methods] = [:]
    /// Patterns with a trailing "*", without it, the longest first.
    private var prefixes: [(prefix: String, methods: Methods)] = []

    /// Adds a route in the place of an equal one, which it returns.
    mutating func add(_ action: Action, method: String?, pattern: String) -> Action? {
        let route = Route(action: action)
        let pattern = RequestTarget.decoded(pattern)
        guard pattern.hasSuffix("*") else {
            return exact[pattern, default: [:]].updateValue(route, forKey: method ?? "")?.action
        }
        let prefix = String(pattern.dropLast())
        if let index = prefixes.firstIndex(where: { $0.prefix == prefix }) {
            return prefixes[index].methods.updateValue(route, forKey: method ?? "")?.action
        }
        let index = prefixes.firstIndex { $0.prefix.utf8.count < prefix.utf8.count } ?? prefixes.endIndex
        prefixes.insert((prefix, [method ?? "": route]), at: index)
        return nil
    }

    mutating func match(method: String, path: String) -> Match? {
        if exact[path] != nil, let match = Self.take(method, from: &exact[path, default: [:]]) { return match }
        for index in prefixes.indices where path.utf8.starts(with: prefixes[index].prefix.utf8) {
            if let match = Self.take(method, from: &prefixes[index].methods) { return match }
        }
        return nil
    }

    private static func take(_ method: String, from methods: inout Methods) -> Match? {
        let candidates = method == "HEAD" ? ["HEAD", "GET", ""] : [method, ""]
        for candidate in candidates {
            if let match = methods[candidate]?.take() { return match }
        }
        return nil
    }
}
