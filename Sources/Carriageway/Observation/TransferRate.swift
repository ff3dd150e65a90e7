/// Bytes a second, over the last seconds: pure.
struct TransferRate {
    /// For how long a sample counts, and how far two are apart at least.
    private static let span = Duration.seconds(5)
    private static let step = Duration.milliseconds(100)

    private var samples: [(instant: Moment, bytes: Int64)] = []

    /// So many bytes have come in all; fewer than before is a new beginning.
    mutating func add(_ bytes: Int64, at instant: Moment) {
        if let last = samples.last, bytes < last.bytes { samples = [] }
        // Two that are close together count as one, the later.
        if samples.count > 1, instant - samples[samples.count - 2].instant < Self.step { samples.removeLast() }
        samples.append((instant, bytes))
        while samples.count > 2, instant - samples[1].instant > Self.span { samples.removeFirst() }
    }

    /// Nil before there are two samples that are some time apart.
    var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last else { return nil }
        let seconds = (last.instant - first.instant).inSeconds
        return seconds > 0 ? Double(last.bytes - first.bytes) / seconds : nil
    }
}
