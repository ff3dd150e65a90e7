import Foundation
import Testing

@testable import Carriageway

@Suite("RetryBudget")
struct RetryBudgetTests {
    @Test("a bucket holds 500 tokens; a retry costs 14, a busy one 5, a first success gives 1")
    func defaults() {
        let budget = RetryBudget.default
        #expect(budget == RetryBudget(capacity: 500, cost: 14, busyCost: 5, reward: 1))
    }

    @Test("negative numbers count as 0, given or set")
    func negative() {
        var budget = RetryBudget(capacity: -1, cost: .min, busyCost: -2, reward: -3)
        #expect(budget == RetryBudget(capacity: 0, cost: 0, busyCost: 0, reward: 0))
        budget.capacity = .min
        budget.cost = -1
        budget.busyCost = .min
        budget.reward = -1
        #expect(budget == RetryBudget(capacity: 0, cost: 0, busyCost: 0, reward: 0))
    }

    @Test("C30 in an outage a host is sent thirty-five retries, then none", arguments: [(14, 35), (5, 100)])
    func outage(cost: Int, retries: Int) {
        var spending = RetrySpending()
        var taken = 0
        for _ in 0..<1_000 where spending.take(cost, of: .default, for: "a") { taken += 1 }
        #expect(taken == retries)
        #expect(spending.take(cost, of: .default, for: "b") == true)
    }

    @Test("what is given back can be spent again, and never more than the capacity")
    func giveBack() {
        var spending = RetrySpending()
        for _ in 0..<35 { _ = spending.take(14, of: .default, for: "a") }
        #expect(spending.take(14, of: .default, for: "a") == false)
        spending.give(14, to: "a")
        #expect(spending.take(14, of: .default, for: "a") == true)
        for _ in 0..<10_000 { spending.give(14, to: "a") }
        #expect(spending.spent.isEmpty)
        var taken = 0
        while spending.take(14, of: .default, for: "a") { taken += 1 }
        #expect(taken == 35)
    }

    @Test("a host that owes nothing has no entry, whatever is given to it")
    func entries() {
        var spending = RetrySpending()
        spending.give(1, to: "a")
        #expect(spending.take(0, of: .default, for: "a") == true)
        #expect(spending.spent.isEmpty)
        #expect(spending.take(5, of: .default, for: "a") == true)
        #expect(spending.spent == ["a": 5])
        spending.give(4, to: "a")
        #expect(spending.spent == ["a": 1])
        spending.give(.max, to: "a")
        #expect(spending.spent.isEmpty)
    }

    @Test("no number overflows")
    func overflow() {
        var spending = RetrySpending()
        let endless = RetryBudget(capacity: .max, cost: .max, busyCost: .max, reward: .max)
        #expect(spending.take(endless.cost, of: endless, for: "a") == true)
        #expect(spending.take(1, of: endless, for: "a") == false)
        #expect(spending.take(0, of: endless, for: "a") == true)
        var none = RetryBudget.default
        none.capacity = .min
        #expect(spending.take(1, of: none, for: "a") == false)
        spending.give(.max, to: "a")
        #expect(spending.spent.isEmpty)
    }

    @Test("with queues of different budgets each keeps to its own")
    func twoBudgets() {
        var spending = RetrySpending()
        let small = RetryBudget(capacity: 20)
        for _ in 0..<3 { #expect(spending.take(14, of: .default, for: "a") == true) }
        #expect(spending.take(1, of: small, for: "a") == false)
        #expect(spending.take(14, of: .default, for: "a") == true)
    }

    @Test("at random, a host never owes more than its capacity nor less than nothing")
    func property() {
        var random = SeededRandom(seed: 7)
        var spending = RetrySpending()
        let budget = RetryBudget(capacity: 100)
        var owed = 0
        for _ in 0..<20_000 {
            let tokens = random.below(20)
            if random.once(in: 2) {
                let isTaken = spending.take(tokens, of: budget, for: "a")
                #expect(isTaken == (owed + tokens <= 100))
                if isTaken { owed += tokens }
            } else {
                spending.give(tokens, to: "a")
                owed = max(0, owed - tokens)
            }
            #expect(spending.spent["a", default: 0] == owed)
        }
    }
}
