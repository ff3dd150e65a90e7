import CarriagewayTesting
import Foundation

/// A `LoopbackServer` in a process of its own, so that its CPU is not the client's.
final class ServerProcess {
    static let command = "serve"

    let address: String
    private let process: Process
    /// Closing it, as our end does, ends the server.
    private let input = Pipe()

    init(command: String = ServerProcess.command) throws {
        let (process, output) = ChildProcess.make([ChildProcess.flag, command])
        process.standardInput = input
        try process.run()
        self.process = process
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        address = line.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The server's side: answers until its standard input ends.
    static func serve() throws {
        let server = try LoopbackServer()
        Usage.raiseFileLimit()
        server.recordsRequests = false
        server.on("/hang", .hang)
        server.on("/count") { _ in .text("\(server.requestCount)") }
        server.on("/small", .text(String(repeating: "x", count: 100)))
        FileHandle.standardOutput.write(Data("\(server.url("/small"))\n".utf8))
        _ = FileHandle.standardInput.readDataToEndOfFile()
        server.stop()
    }
}
