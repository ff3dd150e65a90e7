import CarriagewayTesting
import Foundation

/// The built command, running as a child process.
final class CommandProcess: Sendable {
    struct Outcome: Sendable {
        /// As shells count it: 128 and more for a signal.
        let status: Int32
        let output: String
        let errors: String

        var lines: [Substring] { output.split(separator: "\n") }
    }

    private let process = ChildProcess()
    private let output = Pipe()
    private let errors = Pipe()

    /// Starts the command.
    ///
    /// - Parameters:
    ///   - environment: added to this process's own.
    ///   - hasReader: false for a standard output whose reader has left.
    init(_ arguments: [String], environment: [String: String] = [:], hasReader: Bool = true) throws {
        process.executableURL = try Self.executable()
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        if !hasReader { try output.fileHandleForReading.close() }
        try process.run()
    }

    /// Runs the command to its end.
    static func run(_ arguments: String...) async throws -> Outcome {
        try await CommandProcess(arguments).outcome()
    }

    func send(_ signal: Int32) {
        process.send(signal)
    }

    /// The first line of standard output, once it is there.
    func firstLine() async -> String {
        await onThread { [output] in
            var line = Data()
            while let byte = try? output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte != Data("\n".utf8)
            {
                line.append(byte)
            }
            return String(decoding: line, as: UTF8.self)
        }
    }

    /// The exit status, with nothing read.
    func status() async -> Int32 {
        await ended {
            self.process.waitUntilExit()
            return self.exitStatus
        }
    }

    /// What the command printed, from where it has not been read yet, and how it ended.
    func outcome(readsOutput: Bool = true) async -> Outcome {
        await ended {
            let printed = readsOutput ? Self.text(of: self.output) : ""
            let complained = Self.text(of: self.errors)
            self.process.waitUntilExit()
            return Outcome(status: self.exitStatus, output: printed, errors: complained)
        }
    }

    private var exitStatus: Int32 {
        process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
    }

    /// Waits off every pool; a test whose time is up leaves no child behind.
    private func ended<Value: Sendable>(_ wait: @escaping @Sendable () -> Value) async -> Value {
        await withTaskCancellationHandler {
            await onThread(wait)
        } onCancel: {
            send(SIGKILL)
        }
    }

    private static func text(of pipe: Pipe) -> String {
        String(decoding: (try? pipe.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
    }

    /// The command stands beside the test bundle, or beside the process that runs it.
    private static func executable() throws -> URL {
        let places = [
            Bundle.main.bundleURL, Bundle(for: Marker.self).bundleURL.deletingLastPathComponent(),
            URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent(),
        ]
        let candidates = places.map { $0.appendingPathComponent("carriageway") }
        guard let found = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }) else {
            throw CocoaError(.fileNoSuchFile)
        }
        return found
    }

    private final class Marker {}
}

private func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: work()) }.start()
    }
}
