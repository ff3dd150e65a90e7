import Carriageway
import Foundation

/// Ctrl-C and SIGTERM: the first is told, so that work can end in order; the second ends the process on the spot.
///
/// It listens as long as it is kept.
final class Interrupts: Sendable {
    /// The exit status of a process that a signal ended, as shells count it.
    static func status(of signal: Int32) -> Int32 { 128 + signal }

    private let first = Locked<Int32?>(nil)
    private let sources = Locked<[any DispatchSourceSignal]>([])

    /// The first signal that came, if one came.
    var received: Int32? { first.withLock { $0 } }

    /// - Parameter onFirst: called once, on a queue of its own.
    init(onFirst: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "carriageway.command.interrupts")
        for number in [SIGINT, SIGTERM] {
            #if canImport(Darwin)
                // Dispatch only watches there; on Linux it takes the signal, which must then not be ignored.
                signal(number, SIG_IGN)
            #endif
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [first] in
                let isFirst = first.withLock { first in
                    defer { first = first ?? number }
                    return first == nil
                }
                guard isFirst else { _exit(Self.status(of: number)) }
                onFirst()
            }
            source.resume()
            sources.withLock { $0.append(source) }
        }
    }

    deinit {
        for source in sources.withLock({ $0 }) { source.cancel() }
    }
}
