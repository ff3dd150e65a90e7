import Testing

@testable import Carriageway

@Suite("Heap")
struct HeapTests {
    @Test("an empty heap has no first")
    func empty() {
        var heap = Heap<Int>()
        let popped = heap.popFirst()
        #expect(popped == nil && heap.first == nil && heap.isEmpty)
        heap.keep { _ in false }
        #expect(heap.isEmpty)
    }

    @Test("elements leave in order", arguments: [1, 2, 3, 10, 1_000])
    func order(count: Int) {
        var random = SeededRandom(seed: UInt64(count))
        let elements = (0..<count).map { _ in random.below(count) }
        var heap = Heap<Int>()
        for element in elements { heap.insert(element) }
        var popped: [Int] = []
        while let first = heap.first, let element = heap.popFirst() {
            #expect(first == element)
            popped.append(element)
        }
        #expect(popped == elements.sorted())
    }

    @Test("walked at random, the heap holds what a sorted list holds")
    func randomWalk() {
        RandomWalk.run("heap") { steps, random in
            var heap = Heap<Int>()
            var model: [Int] = []
            for _ in 0..<steps {
                switch random.below(12) {
                case 0..<6:
                    let element = random.below(100)
                    heap.insert(element)
                    model.insert(element, at: model.firstIndex { $0 > element } ?? model.count)
                case 6..<11:
                    let popped = heap.popFirst()
                    try demand(popped == (model.isEmpty ? nil : model.removeFirst()), "popped \(popped ?? -1)")
                default:
                    let divisor = 2 + random.below(3)
                    heap.keep { $0 % divisor != 0 }
                    model.removeAll { $0 % divisor == 0 }
                }
                try demand(heap.first == model.first && heap.count == model.count, "first \(heap.first ?? -1)")
            }
        }
    }
}
