import Foundation
import Testing

@testable import Carriageway

struct TransferRateTests {
    private let start = Moment.now

    @Test("the speed is that of the last seconds, not of all time")
    func recent() {
        var rate = TransferRate()
        #expect(rate.bytesPerSecond == nil)
        rate.add(0, at: start)
        #expect(rate.bytesPerSecond == nil)
        rate.add(1_000, at: start.advanced(by: .seconds(1)))
        #expect(rate.bytesPerSecond == 1_000)
        for second in 2...20 { rate.add(1_000 + Int64(second - 1) * 10, at: start.advanced(by: .seconds(second))) }
        #expect(rate.bytesPerSecond.map { abs($0 - 10) < 0.001 } == true)
    }

    @Test("many samples in a moment are one; a new beginning forgets the old")
    func samples() {
        var rate = TransferRate()
        for index in 0..<10_000 { rate.add(Int64(index), at: start.advanced(by: .microseconds(index * 100))) }
        #expect(rate.bytesPerSecond.map { abs($0 - 10_000) < 200 } == true)
        rate.add(0, at: start.advanced(by: .seconds(2)))
        #expect(rate.bytesPerSecond == nil)
        rate.add(5, at: start.advanced(by: .seconds(2)))
        #expect(rate.bytesPerSecond == nil)
    }
}
