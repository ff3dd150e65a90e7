#if os(Linux)
    import Carriageway
    import Foundation
    import Glibc

    /// A bad network in a box: a TUN device whose packets come back with sender and receiver exchanged, late, or not at all.
    ///
    /// A client that connects to 10.9.0.2 so reaches a server on 10.9.0.1 of the same machine, over IP packets that this
    /// program holds in its hands: it works where the kernel has no netem.
    final class PacketMirror: Sendable {
        struct Conditions: Sendable {
            /// In each direction, in milliseconds.
            var delay = 0
            /// Of a hundred packets.
            var lostOfHundred = 0
            /// Whether nothing comes through.
            var isDown = false
        }

        private let descriptor: Int32
        private let conditions = Locked((Conditions(), SplitMix(state: 1)))
        private let queue = DispatchQueue(label: "mirror")

        /// Opens the device "bad0", which has to be there with the address 10.9.0.1/24.
        init() throws {
            descriptor = open("/dev/net/tun", O_RDWR)
            try Fault.unless(descriptor >= 0, "no /dev/net/tun")
            // struct ifreq: the name in 16 bytes, then the flags IFF_TUN and IFF_NO_PI.
            var request = [UInt8](repeating: 0, count: 40)
            request.replaceSubrange(0..<4, with: Array("bad0".utf8))
            request[16] = 0x01
            request[17] = 0x10
            let tunSetInterface: UInt = 0x4004_54CA
            try Fault.unless(ioctl(descriptor, tunSetInterface, &request) == 0, "no TUN device: errno \(errno)")
            Thread { [self] in reflect() }.start()
        }

        func set(_ new: Conditions) { conditions.withLock { $0.0 = new } }

        private func reflect() {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 else { return }
                // IPv4 only: sender at 12, receiver at 16. Their exchange leaves all checksums right.
                guard count >= 20, buffer[0] >> 4 == 4 else { continue }
                let now: Conditions? = conditions.withLock { state in
                    let isLost = state.0.isDown || state.1.below(100) < state.0.lostOfHundred
                    return isLost ? nil : state.0
                }
                guard let now else { continue }
                let packet = Array(buffer[..<12] + buffer[16..<20] + buffer[12..<16] + buffer[20..<count])
                queue.asyncAfter(deadline: .now() + .milliseconds(now.delay)) { [descriptor] in
                    _ = write(descriptor, packet, packet.count)
                }
            }
        }
    }
#endif
