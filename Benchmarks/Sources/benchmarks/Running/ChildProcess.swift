import Foundation

/// This program, run again for one measurement.
enum ChildProcess {
    static let flag = "--child"

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Throws: ``Failure`` when the process does not end well.
    static func measure(_ job: Job) throws -> [String: Double] {
        let (process, output) = make([flag] + job.arguments)
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw Failure(
                description: "\(job.arguments.joined(separator: " ")) ended with \(process.terminationStatus)")
        }
        return try JSONDecoder().decode([String: Double].self, from: data)
    }

    static func make(_ arguments: [String]) -> (process: Process, output: Pipe) {
        let process = Process()
        let output = Pipe()
        process.executableURL = Bundle.main.executableURL
        process.arguments = arguments
        process.standardOutput = output
        return (process, output)
    }
}
