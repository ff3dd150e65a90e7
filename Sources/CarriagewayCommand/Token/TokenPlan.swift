/// Where the requests get their token from, as the command line says it.
struct TokenPlan: Equatable, Sendable {
    /// Where a secret is to be found.
    enum Source: Equatable, Sendable {
        case word(String)
        case file(String)
    }

    let url: FetchTarget
    let clientID: String
    /// Nil for the environment, or none.
    var clientSecret: Source?
    /// Nil for the environment, or none.
    var refreshToken: Source?
    var scopes: [String] = []
}

/// What of a ``TokenPlan`` has been read so far; options come in any order.
struct TokenWords {
    enum Option: String, CaseIterable {
        case tokenURL = "--token-url"
        case clientID = "--client-id"
        case clientSecret = "--client-secret"
        case clientSecretFile = "--client-secret-file"
        case refreshToken = "--refresh-token"
        case refreshTokenFile = "--refresh-token-file"
        case scope = "--scope"
    }

    private var values: [Option: String] = [:]
    private var scopes: [String] = []

    /// - Throws: ``UsageError`` without the value, which may be a secret.
    mutating func set(_ option: Option, to value: String) throws(UsageError) {
        guard !value.isEmpty, !value.utf8.contains(0) else { throw UsageError("\(option.rawValue) needs a value") }
        if option == .scope {
            scopes += value.split(separator: " ").map(String.init)
        } else {
            values[option] = value
        }
    }

    /// What the options together ask for; nil if none was given.
    func plan() throws(UsageError) -> TokenPlan? {
        guard let address = values[.tokenURL] else {
            guard let stray = Option.allCases.first(where: { values[$0] != nil || $0 == .scope && !scopes.isEmpty })
            else { return nil }
            throw UsageError("\(stray.rawValue) needs a --token-url")
        }
        guard let url = try? FetchTarget(address, number: 0) else {
            throw UsageError("--token-url needs a URL that begins with http:// or https://")
        }
        guard let clientID = values[.clientID] else { throw UsageError("--token-url needs a --client-id") }
        return TokenPlan(
            url: url, clientID: clientID, clientSecret: try source(.clientSecret, .clientSecretFile),
            refreshToken: try source(.refreshToken, .refreshTokenFile), scopes: scopes)
    }

    private func source(_ word: Option, _ file: Option) throws(UsageError) -> TokenPlan.Source? {
        switch (values[word], values[file]) {
        case (nil, nil): nil
        case (let text?, nil): .word(text)
        case (nil, let path?): .file(path)
        case (_?, _?): throw UsageError("\(word.rawValue) and \(file.rawValue) exclude each other")
        }
    }
}
