import Foundation

/// A file that is there whole or not at all.
enum AtomicFile {
    /// Writes beside the destination under a temporary name, then renames; a file that was there is replaced.
    ///
    /// - Parameter permissions: of the new file, before the process's mask.
    static func write(_ data: Data, to destination: URL, permissions: mode_t = 0o666) throws {
        let temporary = destination.deletingLastPathComponent()
            .appendingPathComponent(".carriageway-\(UUID().uuidString)")
        // New, or an error: never into a file or through a link that somebody else put there.
        let descriptor = open(temporary.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions)
        guard descriptor >= 0 else { throw systemError() }
        do {
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.write(contentsOf: data)
            try handle.synchronize()
            try handle.close()
            // A link at the destination is replaced, not followed.
            guard rename(temporary.path, destination.path) == 0 else { throw systemError() }
        } catch {
            try? FileManager.default.removeItem(at: temporary)
            throw error
        }
    }

    private static func systemError() -> POSIXError {
        POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}
