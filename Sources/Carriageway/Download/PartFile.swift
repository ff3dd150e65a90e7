import Foundation

/// The part of a file that has come, and what is known of it: `.name.part` and `.name.part.json` beside the target.
///
/// Used on one queue at a time. What is on disk fits together at every moment, so that the process may be killed at any: the
/// part is emptied before its state is replaced, and the state is there before the first byte is written. Bytes are only
/// ever appended, so that the length of the part is the number of bytes that are right.
///
/// That is true of a process that dies, not of a machine that loses power: nothing is forced to the disk, as with curl, wget
/// and `URLSession`. It would make a small file twelve times as dear (10,000 files on ext4: 0.3 ms each, 4 ms with `fsync`).
/// Whoever must know gives the SHA-256.
///
/// The part is locked while it is open. The lock goes with the process.
struct PartFile {
    let url: URL
    private let stateURL: URL
    private let descriptor: Int32
    private(set) var length: Int64
    private let digests: Bool
    /// Of all that has been written, if it was from the first byte on and is wanted.
    private var digest: SHA256?

    /// Opens the part, or makes it.
    ///
    /// - Parameter digests: whether the SHA-256 is to be made while bytes come.
    /// - Throws: ``DownloadError/fileInUse`` if somebody else has it open, or a `POSIXError`.
    init(for target: URL, digests: Bool = false) throws {
        self.digests = digests
        let names = Self.urls(for: target)
        url = names.part
        stateURL = names.state
        descriptor = try Self.openAndLock(url)
        length = try Self.length(of: descriptor)
    }

    static func urls(for target: URL) -> (part: URL, state: URL) {
        let folder = target.deletingLastPathComponent()
        var name = ".\(target.lastPathComponent).part"
        if name.utf8.count > longestName {
            var hash = SHA256()
            hash.update(Data(name.utf8))
            name = ".\(hash.hexDigest()).part"
        }
        return (folder.appendingPathComponent(name), folder.appendingPathComponent("\(name).json"))
    }

    /// So that `.json.new` can be appended within the 255 bytes of most file systems.
    private static let longestName = 240

    private static func openAndLock(_ url: URL) throws -> Int32 {
        while true {
            // Not through a link that somebody put there.
            let descriptor = open(url.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
            guard descriptor >= 0 else { throw POSIXError.last }
            do {
                guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                    throw errno == EWOULDBLOCK ? DownloadError.fileInUse as any Error : POSIXError.last
                }
                // Whoever had it may have moved or deleted it between the two calls.
                if try isStill(descriptor, at: url) { return descriptor }
            } catch {
                close(descriptor)
                throw error
            }
            close(descriptor)
        }
    }

    private static func isStill(_ descriptor: Int32, at url: URL) throws -> Bool {
        var (own, named) = (stat(), stat())
        guard fstat(descriptor, &own) == 0 else { throw POSIXError.last }
        guard own.st_mode & S_IFMT == S_IFREG else { throw POSIXError(.EINVAL) }
        guard lstat(url.path, &named) == 0 else { return false }
        return own.st_ino == named.st_ino && own.st_dev == named.st_dev
    }

    private static func length(of descriptor: Int32) throws -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw POSIXError.last }
        return Int64(status.st_size)
    }

    /// From where a download can go on; nil if it has to start over.
    var resumePoint: ResumePoint? {
        guard length > 0, let data = try? Data(contentsOf: stateURL),
            let state = try? JSONDecoder().decode(PartState.self, from: data), length <= state.total ?? .max
        else { return nil }
        return ResumePoint(offset: length, state: state)
    }

    /// Cuts the part to where the bytes that come next belong, and notes what they are of.
    mutating func begin(at start: Int64, state: PartState?) throws {
        guard ftruncate(descriptor, off_t(start)) == 0, lseek(descriptor, off_t(start), SEEK_SET) == start else {
            throw POSIXError.last
        }
        length = start
        digest = digests && start == 0 ? SHA256() : nil
        // That of bytes which are kept is there already; the length may have become known.
        guard let state else { return removeState() }
        let data = try JSONEncoder().encode(state)
        try? FileManager.default.removeItem(at: newStateURL)
        try data.write(to: newStateURL, options: .withoutOverwriting)
        guard rename(newStateURL.path, stateURL.path) == 0 else { throw POSIXError.last }
    }

    mutating func append(_ data: Data) throws {
        try data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw POSIXError.last }
                rest = rest.dropFirst(count)
                length += Int64(count)
            }
        }
        digest?.update(data)
    }

    /// The SHA-256 of all bytes; a part that was gone on with is read once more for it.
    ///
    /// - Throws: `POSIXError` if it cannot be read.
    func hexDigest() throws -> String {
        try digest?.hexDigest() ?? SHA256.hexDigest(of: url)
    }

    /// Moves the complete part to its place, in one step.
    ///
    /// - Returns: where it is now.
    func move(to target: URL, existing: DownloadOptions.ExistingFile) throws -> URL {
        var place = target
        switch existing {
        case .replace:
            guard rename(url.path, target.path) == 0 else { throw POSIXError.last }
        case .refuse:
            guard try linkIfFree(target) else { throw DownloadError.fileExists }
        case .number:
            var number = 1
            while try !linkIfFree(place) {
                number += 1
                let name = FileNames.numbered(target.lastPathComponent, number)
                place = target.deletingLastPathComponent().appendingPathComponent(name)
            }
        }
        // Nothing else: the part is no longer here, and its lock keeps nobody from beginning another.
        unlink(stateURL.path)
        close(descriptor)
        return place
    }

    /// Gives the part a name that nobody has; false if somebody has it. Unlike `rename` that never replaces a file.
    private func linkIfFree(_ place: URL) throws -> Bool {
        if link(url.path, place.path) == 0 {
            unlink(url.path)
            return true
        }
        switch errno {
        case EEXIST: return false
        case EPERM, ENOTSUP, EMLINK, ENOSYS:
            // A file system without links: the best that there is.
            guard access(place.path, F_OK) != 0 else { return false }
            guard rename(url.path, place.path) == 0 else { throw POSIXError.last }
            return true
        default: throw POSIXError.last
        }
    }

    /// Lets go of the part, which stays for a later run unless it is of no use to one.
    func letGo(keeping isKept: Bool) {
        if !isKept {
            removeState()
            unlink(url.path)
        }
        close(descriptor)
    }

    private func removeState() {
        unlink(stateURL.path)
        unlink(newStateURL.path)
    }

    /// Where a state is written before it replaces the one that is there.
    private var newStateURL: URL { stateURL.appendingPathExtension("new") }
}

extension POSIXError {
    /// The failure of the system call that was just made.
    static var last: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
