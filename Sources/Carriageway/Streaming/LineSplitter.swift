import Foundation

/// Cuts bytes into lines at LF, CR LF and CR, wherever the pieces end: pure.
struct LineSplitter {
    private var pending: [UInt8] = []
    private var endedWithReturn = false

    /// How many bytes of an unfinished line there are.
    var pendingCount: Int { pending.count }

    /// The lines that end in these bytes, without their ends.
    mutating func add(_ data: Data) -> [String] {
        var lines: [String] = []
        data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            // CR LF may be torn apart between two pieces.
            if endedWithReturn, rest.first == 0x0A { rest = rest.dropFirst() }
            if !bytes.isEmpty { endedWithReturn = false }
            while let end = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) {
                pending.append(contentsOf: rest[..<end])
                lines.append(take())
                let isReturn = rest[end] == 0x0D
                rest = rest[rest.index(after: end)...]
                guard isReturn else { continue }
                if rest.isEmpty { endedWithReturn = true } else if rest.first == 0x0A { rest = rest.dropFirst() }
            }
            pending.append(contentsOf: rest)
        }
        return lines
    }

    /// What comes after the last line end; nil if nothing does.
    mutating func finish() -> String? {
        pending.isEmpty ? nil : take()
    }

    private mutating func take() -> String {
        defer { pending.removeAll(keepingCapacity: true) }
        return String(decoding: pending, as: UTF8.self)
    }
}
