import Foundation

/// A program that a test runs, with the part of Foundation's `Process` that tests use.
///
/// `Process.run()` on Linux reads past the end of its own list of descriptors when a thousand and more are open, as they are
/// when many tests with servers run at once: the process dies. `posix_spawn` closes them without a list.
package final class ChildProcess: @unchecked Sendable {
    package enum TerminationReason: Sendable {
        case exit
        case uncaughtSignal
    }

    // Set before `run`, by the one who runs it; only read afterwards.
    package var executableURL: URL?
    package var arguments: [String] = []
    /// Nil for that of this process.
    package var environment: [String: String]?
    /// A `Pipe` or a `FileHandle`; nil for that of this process.
    package var standardInput: Any?
    package var standardOutput: Any?
    package var standardError: Any?
    /// Called once when the program has ended, on a thread of its own.
    package var terminationHandler: (@Sendable (ChildProcess) -> Void)?

    /// Guards what follows.
    private let condition = NSCondition()
    private var identifier: pid_t = 0
    /// What `waitpid` said.
    private var ending: Int32?

    package init() {}

    /// Starts the program.
    ///
    /// - Throws: `CocoaError` or `POSIXError` if it cannot be started.
    package func run() throws {
        guard let path = executableURL?.path else { throw CocoaError(.fileNoSuchFile) }
        let started = try spawn(path)
        condition.withLock { identifier = started }
        // What the child writes to is its own now: else nobody would see its end.
        for case let pipe as Pipe in [standardOutput, standardError] { try? pipe.fileHandleForWriting.close() }
        Thread { self.wait(for: started) }.start()
    }

    package var processIdentifier: pid_t { condition.withLock { identifier } }
    package var isRunning: Bool { condition.withLock { identifier != 0 && ending == nil } }

    /// The exit status, or the signal that ended the program.
    package var terminationStatus: Int32 {
        let code: Int32 = condition.withLock { ending ?? 0 }
        return code & 0x7F == 0 ? (code >> 8) & 0xFF : code & 0x7F
    }

    package var terminationReason: TerminationReason {
        condition.withLock { (ending ?? 0) & 0x7F == 0 } ? .exit : .uncaughtSignal
    }

    /// Blocks the thread until the program has ended.
    package func waitUntilExit() {
        condition.withLock {
            while ending == nil { condition.wait() }
        }
    }

    /// Asks the program to end, if it runs.
    package func terminate() { send(SIGTERM) }

    package func send(_ signal: Int32) {
        condition.withLock {
            // One that has been waited for may have left its number to another.
            if identifier != 0, ending == nil { kill(identifier, signal) }
        }
    }

    private func wait(for identifier: pid_t) {
        // Without taking its number back, so that a signal sent meanwhile reaches nobody else.
        var information = siginfo_t()
        let options = CInt(WEXITED) | CInt(WNOWAIT)
        while waitid(P_PID, id_t(identifier), &information, options) == -1, errno == EINTR {}
        condition.withLock {
            var status: Int32 = 0
            while waitpid(identifier, &status, 0) == -1, errno == EINTR {}
            ending = status
            condition.broadcast()
        }
        terminationHandler?(self)
    }

    private func spawn(_ path: String) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
            var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
            flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
            let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var (all, none) = (sigset_t(), sigset_t())
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        let descriptors = [
            Self.descriptor(of: standardInput, \.fileHandleForReading) ?? 0,
            Self.descriptor(of: standardOutput, \.fileHandleForWriting) ?? 1,
            Self.descriptor(of: standardError, \.fileHandleForWriting) ?? 2,
        ]
        for (target, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(target))
        }
        #if !canImport(Darwin)
            // glibc 2.34 has it; its headers show it to GNU programs only.
            typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, CInt) -> CInt
            guard let function = dlsym(dlopen(nil, RTLD_NOW), "posix_spawn_file_actions_addclosefrom_np") else {
                throw POSIXError(.ENOSYS)
            }
            _ = unsafeBitCast(function, to: CloseFrom.self)(&actions, 3)
        #endif
        let variables = (environment ?? ProcessInfo.processInfo.environment).map { "\($0)=\($1)" }
        var identifier: pid_t = 0
        let code = Self.withStrings([path] + arguments) { arguments in
            Self.withStrings(variables) { posix_spawn(&identifier, path, &actions, &attributes, arguments, $0) }
        }
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
        return identifier
    }

    private static func descriptor(of stream: Any?, _ end: KeyPath<Pipe, FileHandle>) -> Int32? {
        switch stream {
        case let pipe as Pipe: pipe[keyPath: end].fileDescriptor
        case let handle as FileHandle: handle.fileDescriptor
        default: nil
        }
    }

    private static func withStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}
