/// How a download gets to its file.
///
/// The file has its name once it is complete, also if the process is killed. It is not forced to the disk (`fsync`), as with
/// curl and `URLSession`: after a loss of power it may be incomplete, which ``sha256`` shows.
public struct DownloadOptions: Sendable {
    /// What becomes of a file that is there already.
    public enum ExistingFile: Sendable {
        /// It is kept until the new one is complete, then replaced in one step.
        case replace
        /// The download fails with ``NetworkError/fileError(_:)``, before it begins if the file is there then.
        case refuse
        /// The new file gets a number: `report-2.pdf`.
        case number
    }

    /// Replaced unless set otherwise.
    public var existingFile = ExistingFile.replace

    /// Whether what has come of a download that failed or was cancelled is kept, beside the file as `.name.part`, and a
    /// retry or a later download to the same file goes on from there. True unless set otherwise.
    ///
    /// It goes on only if the server's copy is still the same, by its strong `ETag` or its `Last-Modified` (RFC 9110, section
    /// 13.1.5), wherever it is now fetched from; else it starts over.
    public var resumes = true

    /// The SHA-256 that the file must have, as 64 hexadecimal digits. Another one is ``NetworkError/fileError(_:)`` with
    /// ``DownloadError/wrongDigest(expected:actual:)``, and what has come is deleted. It is made while the bytes come; a
    /// download that was gone on with is read once more.
    public var sha256: String?

    /// Whether the file gets the name of the response's `Content-Disposition` (RFC 6266), if it has one, in the same folder.
    /// What could lead out of the folder, hide the file or break a path is replaced. False unless set otherwise.
    public var usesServerFileName = false

    /// The usual way.
    public init(
        existingFile: ExistingFile = .replace, resumes: Bool = true, sha256: String? = nil,
        usesServerFileName: Bool = false
    ) {
        self.existingFile = existingFile
        self.resumes = resumes
        self.sha256 = sha256
        self.usesServerFileName = usesServerFileName
    }
}
