import Foundation

/// The one lock of this package: a value that is reached only while its lock is held.
///
/// Inside `withLock` state is read and decided upon, nothing else: no callback, no task creation, no KVO signal.
/// What has been decided is returned and done outside.
package final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) {
        self.value = value
    }

    package func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}

extension Locked: CustomReflectable {
    /// Nothing: a dump would read the value without the lock, and print what it holds, be it a credential.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
