import Foundation

/// What the file system says of a file.
enum RegularFile {
    /// The length in bytes of a file that can be read.
    ///
    /// - Throws: ``NetworkError/fileError(_:)`` if it is not there, is a folder or a device, or may not be read.
    static func length(of url: URL) throws(NetworkError) -> Int64 {
        guard url.isFileURL else { throw .invalidRequest("the body's URL is not that of a file") }
        var status = stat()
        guard stat(url.path, &status) == 0 else { throw .posix(errno, url) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .posix(status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL, url)
        }
        guard access(url.path, R_OK) == 0 else { throw .posix(errno, url) }
        return Int64(status.st_size)
    }
}

extension NetworkError {
    /// A failure of the file system, with its `errno` and the file.
    static func posix(_ code: Int32, _ url: URL) -> NetworkError {
        .fileError(POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO, userInfo: [NSFilePathErrorKey: url.path]))
    }
}
