import Foundation

/// Where bodies are written. A file is there whole or not at all.
struct OutputDirectory {
    /// The directory as it was given.
    let path: String

    /// Makes the directory if it is missing.
    init(creating path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        self.path = path
    }

    /// Writes under a temporary name, then renames; a file of an earlier run is replaced.
    ///
    /// - Parameter name: one component, as ``FileNames`` gives it.
    /// - Returns: the path of the file, from where the directory was given.
    func write(_ data: Data, as name: String) throws -> String {
        let directory = URL(fileURLWithPath: path, isDirectory: true)
        try AtomicFile.write(data, to: directory.appendingPathComponent(name))
        return path.hasSuffix("/") ? path + name : "\(path)/\(name)"
    }
}
