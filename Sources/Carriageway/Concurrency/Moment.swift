/// A moment on the monotonic clock, as the machines of this package reckon with it.
///
/// It counts what `ContinuousClock.Instant` does. But the size of that is known at run time only, also on Linux, and so would
/// be the size of every state that holds one: all of them would be copied and destroyed by way of tables.
package struct Moment: Comparable, Hashable, Sendable {
    /// What has passed since ``start``.
    private let age: Duration

    /// Any moment; that of the first use.
    private static let start = ContinuousClock.now

    package init(_ instant: ContinuousClock.Instant) {
        age = instant - Self.start
    }

    private init(age: Duration) {
        self.age = age
    }

    package static var now: Moment { Moment(.now) }

    package var instant: ContinuousClock.Instant { Self.start.advanced(by: age) }

    package func advanced(by duration: Duration) -> Moment { Moment(age: age + duration) }

    package func duration(to other: Moment) -> Duration { other.age - age }

    package static func < (left: Moment, right: Moment) -> Bool { left.age < right.age }

    package static func - (left: Moment, right: Moment) -> Duration { left.age - right.age }
    package static func - (left: Moment, right: Duration) -> Moment { Moment(age: left.age - right) }
    package static func + (left: Moment, right: Duration) -> Moment { Moment(age: left.age + right) }
}

extension TimeSource {
    /// The present on the monotonic clock.
    package var moment: Moment { Moment(now) }

    /// The same as `schedule(at:action:)`.
    package func schedule(at moment: Moment, action: @escaping @Sendable () -> Void) -> ScheduledTimer {
        schedule(at: moment.instant, action: action)
    }
}
