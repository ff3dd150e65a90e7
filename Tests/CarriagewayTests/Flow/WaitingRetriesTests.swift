import Testing

@testable import Carriageway

@Suite("WaitingRetries")
struct WaitingRetriesTests {
    private final class Client {}

    @Test("each success lets the two go that have waited longest, of that host")
    func twoByTwo() {
        var waiting = WaitingRetries<Client>()
        let clients = (0..<5).map { _ in Client() }
        for (number, client) in clients.enumerated() { waiting.wait(client, round: number, host: "a") }
        let other = Client()
        waiting.wait(other, round: 9, host: "b")
        waiting.leave(ObjectIdentifier(clients[1]), round: 1)
        // Late word of another round.
        waiting.leave(ObjectIdentifier(clients[2]), round: 1)
        #expect(waiting.succeeded("a").map(\.round) == [0, 2])
        #expect(waiting.succeeded("c").isEmpty)
        #expect(waiting.succeeded("a").map(\.round) == [3, 4])
        #expect(waiting.succeeded("a").isEmpty)
        #expect(waiting.networkReturned().map(\.round) == [9])
        #expect(waiting.count == 0 && waiting.size == 0)
    }

    @Test("one that waits again stands at the end, with its new round")
    func again() {
        var waiting = WaitingRetries<Client>()
        let clients = (0..<3).map { _ in Client() }
        for client in clients { waiting.wait(client, round: 1, host: "a") }
        waiting.wait(clients[0], round: 2, host: "a")
        let released = waiting.succeeded("a").map(\.client)
        #expect(released.elementsEqual(clients[1...2], by: ===))
        #expect(waiting.succeeded("a").map(\.round) == [2])
    }

    @Test("a random walk gives whom a plain list gives, and keeps nothing of those that have left")
    func randomWalk() {
        RandomWalk.run("waiting retries") { steps, random in
            let clients = (0..<40).map { _ in Client() }
            let hosts = ["a", "b", "c"]
            var waiting = WaitingRetries<Client>()
            var lists: [[(client: Int, round: Int)]] = [[], [], []]
            for step in 0..<steps {
                let (client, host) = (random.below(clients.count), random.below(hosts.count))
                switch random.below(8) {
                case 0..<5:
                    for index in lists.indices { lists[index].removeAll { $0.client == client } }
                    lists[host].append((client, step))
                    waiting.wait(clients[client], round: step, host: hosts[host])
                case 5, 6:
                    let round = lists.flatMap { $0 }.first { $0.client == client }?.round ?? 0
                    let isLate = random.once(in: 3)
                    if !isLate { for index in lists.indices { lists[index].removeAll { $0.client == client } } }
                    waiting.leave(ObjectIdentifier(clients[client]), round: isLate ? round - 1 : round)
                default:
                    let expected = lists[host].prefix(2).map(\.round)
                    lists[host].removeFirst(expected.count)
                    let released = waiting.succeeded(hosts[host])
                    try demand(released.map(\.round) == expected, "step \(step): \(released.map(\.round))")
                }
                let count = lists.reduce(0) { $0 + $1.count }
                try demand(waiting.count == count, "step \(step): \(waiting.count) wait, not \(count)")
                try demand(waiting.size <= 3 * 65 + 2 * count, "step \(step): numbers pile up: \(waiting.size)")
            }
        }
    }
}
