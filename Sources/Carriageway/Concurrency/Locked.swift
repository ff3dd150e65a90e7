#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The one lock of this package: a value that is reached only while its lock is held.
///
/// Inside `withLock` state is read and decided upon, nothing else: no callback, no task creation, no KVO signal.
/// What has been decided is returned and done outside.
///
/// The system's lock in one piece of memory with the value: `NSLock` makes six of it on Linux, and a request has several.
package struct Locked<Value>: @unchecked Sendable {
    private let storage: ManagedBuffer<SystemLock, Value>

    package init(_ value: Value) {
        storage = Storage<Value>.make(value)
    }

    package func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        try storage.withUnsafeMutablePointers { (lock, value) throws(Failure) -> Result in
            acquire(lock)
            defer { release(lock) }
            return try body(&value.pointee)
        }
    }
}

extension Locked: CustomReflectable {
    /// Nothing: a dump would read the value without the lock, and print what it holds, be it a credential.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

private final class Storage<Value>: ManagedBuffer<SystemLock, Value> {
    static func make(_ value: Value) -> ManagedBuffer<SystemLock, Value> {
        let buffer = create(minimumCapacity: 1) { _ in SystemLock() }
        buffer.withUnsafeMutablePointers { lock, place in
            setUp(lock)
            place.initialize(to: value)
        }
        return buffer
    }

    deinit {
        withUnsafeMutablePointers { lock, value in
            value.deinitialize(count: 1)
            tearDown(lock)
        }
    }
}

#if canImport(Darwin)
    private typealias SystemLock = os_unfair_lock

    private func setUp(_ lock: UnsafeMutablePointer<SystemLock>) {}
    private func tearDown(_ lock: UnsafeMutablePointer<SystemLock>) {}
    private func acquire(_ lock: UnsafeMutablePointer<SystemLock>) { os_unfair_lock_lock(lock) }
    private func release(_ lock: UnsafeMutablePointer<SystemLock>) { os_unfair_lock_unlock(lock) }
#else
    private typealias SystemLock = pthread_mutex_t

    private func setUp(_ lock: UnsafeMutablePointer<SystemLock>) {
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        #if canImport(Glibc)
            // What is done under a lock takes less time than going to sleep and being woken.
            pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
        #endif
        pthread_mutex_init(lock, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    private func tearDown(_ lock: UnsafeMutablePointer<SystemLock>) { pthread_mutex_destroy(lock) }
    private func acquire(_ lock: UnsafeMutablePointer<SystemLock>) { pthread_mutex_lock(lock) }
    private func release(_ lock: UnsafeMutablePointer<SystemLock>) { pthread_mutex_unlock(lock) }
#endif
