import Foundation

extension NetworkQueue: CustomReflectable {
    /// What dumps show. What Foundation keeps is left out: on Linux its pointers end the process when they are read so.
    public var customMirror: Mirror {
        Mirror(
            self, children: ["name": name as Any, "isSuspended": isSuspended], displayStyle: .class,
            ancestorRepresentation: .suppressed)
    }
}
