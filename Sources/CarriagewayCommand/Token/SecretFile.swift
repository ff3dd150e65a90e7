import Foundation

/// A file that holds one secret, and white space around it.
struct SecretFile {
    /// Why a secret cannot be had, in words without it.
    struct Fault: Error {
        let text: String
    }

    /// More is no secret.
    private static let limit = 1 << 16

    /// The option that named the file.
    let option: String
    let path: String

    func read() throws(Fault) -> String {
        let data: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            data = try handle.read(upToCount: Self.limit) ?? Data()
        } catch {
            throw Fault(text: "cannot read \(shown): \(error.inWords)")
        }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty, data.count < Self.limit else { throw Fault(text: "\(shown) does not hold a secret") }
        return text
    }

    /// Whether ``write(_:)`` will succeed as far as can be told: asked before a server gives a secret that must not be lost.
    func checkWritable() throws(Fault) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            access(target.deletingLastPathComponent().path, W_OK) == 0
        else {
            throw Fault(
                text: "\(shown) has to be a file in a directory that can be written: new refresh tokens go there")
        }
    }

    /// Puts another secret into the file, which only its owner can read from then on.
    func write(_ secret: String) throws(Fault) {
        do {
            try AtomicFile.write(Data("\(secret)\n".utf8), to: target, permissions: 0o600)
        } catch {
            throw Fault(text: "cannot write the new secret to \(shown): \(error.inWords)")
        }
    }

    /// Where the file is: a link to it stays a link.
    private var target: URL { URL(fileURLWithPath: path).resolvingSymlinksInPath() }

    private var shown: String { "the file \(UsageError.quoted(path)) of \(option)" }
}
