import CarriagewayTesting
import Foundation

/// Runs programs that would take the tests down with them: `Tests/CarriagewayTrial` and `Tests/CarriagewayProbe`.
enum TrialProcess {
    struct Outcome {
        let status: Int32
        let text: String
    }

    /// A program of the package, which the package manager puts beside the tests.
    static func executable(_ name: String = "CarriagewayTrial") -> URL? {
        var folders = [Bundle.main.bundleURL, Bundle.main.executableURL?.deletingLastPathComponent()].compactMap { $0 }
        folders += Bundle.allBundles.map { $0.bundleURL.deletingLastPathComponent() }
        if let path = CommandLine.arguments.first {
            folders.append(URL(fileURLWithPath: path).deletingLastPathComponent())
        }
        return folders.map { $0.appendingPathComponent(name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    /// Runs a program to its end. What it prints is read only then: it must not be much.
    static func run(_ program: String, _ arguments: [String]) async throws -> Outcome {
        let process = ChildProcess()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        // A trap is to be reported at once, not with a backtrace that takes minutes.
        process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return Outcome(status: status, text: text)
    }
}
