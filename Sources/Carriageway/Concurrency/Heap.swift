/// A binary heap: the smallest element is at hand in O(1) and leaves in O(log n).
struct Heap<Element: Comparable> {
    private(set) var elements: [Element] = []

    var isEmpty: Bool { elements.isEmpty }
    var count: Int { elements.count }
    var first: Element? { elements.first }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard elements[child] < elements[parent] else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    @discardableResult
    mutating func popFirst() -> Element? {
        guard let smallest = elements.first else { return nil }
        let last = elements.removeLast()
        if !elements.isEmpty {
            elements[0] = last
            sink(from: 0)
        }
        return smallest
    }

    /// Drops every element that does not satisfy `isKept`, in O(n).
    mutating func keep(where isKept: (Element) -> Bool) {
        elements.removeAll { !isKept($0) }
        for parent in stride(from: elements.count / 2 - 1, through: 0, by: -1) {
            sink(from: parent)
        }
    }

    private mutating func sink(from start: Int) {
        var parent = start
        while true {
            var smallest = 2 * parent + 1
            guard smallest < elements.count else { return }
            let right = smallest + 1
            if right < elements.count, elements[right] < elements[smallest] { smallest = right }
            guard elements[smallest] < elements[parent] else { return }
            elements.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
