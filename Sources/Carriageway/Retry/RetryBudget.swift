/// How many retries a host may cost, so that an outage is not answered with a flood.
///
/// A host has `capacity` tokens. A retry takes `cost`, or `busyCost` after 429 and 503; a success gives back what its
/// last retry took, or `reward` if it needed none. A retry that the tokens do not cover is not made.
public struct RetryBudget: Sendable, Hashable {
    /// The tokens of a host to which everything succeeds.
    public var capacity: Int {
        didSet { capacity = max(0, capacity) }
    }
    /// What a retry takes.
    public var cost: Int {
        didSet { cost = max(0, cost) }
    }
    /// What a retry after 429 or 503 takes.
    public var busyCost: Int {
        didSet { busyCost = max(0, busyCost) }
    }
    /// What a success without a retry gives.
    public var reward: Int {
        didSet { reward = max(0, reward) }
    }

    /// A budget; negative numbers count as 0.
    public init(capacity: Int = 500, cost: Int = 14, busyCost: Int = 5, reward: Int = 1) {
        self.capacity = max(0, capacity)
        self.cost = max(0, cost)
        self.busyCost = max(0, busyCost)
        self.reward = max(0, reward)
    }

    /// 500 tokens, 14 for a retry, 5 when the server is busy: thirty-five retries more than successes pay for.
    public static let `default` = RetryBudget()
}

/// What has been spent of the budgets of all hosts.
struct RetrySpending {
    /// Only hosts that owe something have an entry, so the table is as large as the trouble is.
    private(set) var spent: [String: Int] = [:]

    /// Takes `cost` tokens of the host's budget, if they are there.
    mutating func take(_ cost: Int, of budget: RetryBudget, for host: String) -> Bool {
        let owed = spent[host, default: 0]
        guard cost <= budget.capacity - owed else { return false }
        if cost > 0 { spent[host] = owed + cost }
        return true
    }

    /// Gives back `tokens` to the host's budget.
    mutating func give(_ tokens: Int, to host: String) {
        guard let owed = spent[host] else { return }
        spent[host] = owed > tokens ? owed - tokens : nil
    }
}
