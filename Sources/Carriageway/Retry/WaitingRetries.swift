/// The operations of a session that wait for a retry and may go before their time, by host: pure, without lock.
///
/// A success lets the two go that have waited longest, and theirs let two more go each: so a host that is back is not
/// met by all at once, and all have gone soon if it stays.
struct WaitingRetries<Client: AnyObject> {
    private struct Entry {
        let client: Client
        let round: Int
        let number: Int
    }

    private struct Line {
        /// In order of arrival, with those that have left until they come to the front.
        var numbers: [Int] = []
        var first = 0
        var waiting: [Int: Entry] = [:]

        mutating func popFirst() -> Entry? {
            while first < numbers.count {
                defer { first += 1 }
                if let entry = waiting.removeValue(forKey: numbers[first]) { return entry }
            }
            return nil
        }

        /// Drops the numbers of those that have left once they are more than the others.
        mutating func tidy() {
            guard numbers.count > 64, numbers.count > 2 * waiting.count else { return }
            numbers = numbers[first...].filter { waiting[$0] != nil }
            first = 0
        }
    }

    static var releasedAtOnce: Int { 2 }

    private var lines: [String: Line] = [:]
    private var places: [ObjectIdentifier: (host: String, number: Int)] = [:]
    private var nextNumber = 0

    var count: Int { places.count }
    /// How much is kept in all; for tests.
    var size: Int { lines.values.reduce(0) { $0 + $1.numbers.count } }

    /// A client waits for the retry of its round. It waits for one at a time.
    mutating func wait(_ client: Client, round: Int, host: String) {
        if let place = places[ObjectIdentifier(client)] { remove(ObjectIdentifier(client), place) }
        nextNumber += 1
        lines[host, default: Line()].numbers.append(nextNumber)
        lines[host]?.waiting[nextNumber] = Entry(client: client, round: round, number: nextNumber)
        places[ObjectIdentifier(client)] = (host, nextNumber)
    }

    /// A client waits no longer. Of no effect if it waits with another round by now.
    mutating func leave(_ client: ObjectIdentifier, round: Int) {
        guard let place = places[client], lines[place.host]?.waiting[place.number]?.round == round else { return }
        remove(client, place)
    }

    private mutating func remove(_ client: ObjectIdentifier, _ place: (host: String, number: Int)) {
        places[client] = nil
        lines[place.host]?.waiting[place.number] = nil
        tidy(place.host)
    }

    /// A request to the host has succeeded.
    ///
    /// - Returns: who may go, in order, each with the round that it waited with.
    mutating func succeeded(_ host: String) -> [(client: Client, round: Int)] {
        guard lines[host] != nil else { return [] }
        var released: [(client: Client, round: Int)] = []
        while released.count < Self.releasedAtOnce, let entry = lines[host]?.popFirst() {
            places[ObjectIdentifier(entry.client)] = nil
            released.append((entry.client, entry.round))
        }
        tidy(host)
        return released
    }

    /// The network is back: every host is tried.
    mutating func networkReturned() -> [(client: Client, round: Int)] {
        Array(lines.keys).sorted().flatMap { succeeded($0) }
    }

    private mutating func tidy(_ host: String) {
        lines[host]?.tidy()
        if lines[host]?.waiting.isEmpty ?? false { lines[host] = nil }
    }
}
