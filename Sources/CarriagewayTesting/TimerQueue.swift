/// Deadlines in order, a binary heap. Equal deadlines come out in the order they went in.
struct TimerQueue<Payload> {
    private struct Entry {
        let deadline: ContinuousClock.Instant
        let order: Int
        let payload: Payload

        static func < (left: Entry, right: Entry) -> Bool {
            left.deadline == right.deadline ? left.order < right.order : left.deadline < right.deadline
        }
    }

    private var heap: [Entry] = []
    private var nextOrder = 0

    var nextDeadline: ContinuousClock.Instant? { heap.first?.deadline }

    mutating func add(_ payload: Payload, at deadline: ContinuousClock.Instant) {
        heap.append(Entry(deadline: deadline, order: nextOrder, payload: payload))
        nextOrder += 1
        var child = heap.count - 1
        while child > 0, heap[child] < heap[(child - 1) / 2] {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// The payload whose deadline is first, if that has come.
    mutating func popDue(at now: ContinuousClock.Instant) -> Payload? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return first.payload
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child] < heap[smallest] {
                smallest = child
            }
            guard smallest != parent else { return }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
