import Foundation

/// A body of type `multipart/form-data` (RFC 7578): fields, data and files, one after the other.
///
/// Names and file names go out in UTF-8, with `"`, CR and LF as `%22`, `%0D` and `%0A`, as browsers send them (WHATWG HTML,
/// "multipart/form-data encoding algorithm"). Values are sent as they are. Files are read while they are sent; the length of
/// the whole is known ahead unless a stream of unknown length is in it.
public struct MultipartForm: Sendable {
    struct Part {
        let head: Data
        let body: TransportBody
    }

    /// What separates the parts.
    let boundary: String
    private(set) var parts: [Part] = []

    /// An empty form.
    public init() {
        boundary = "carriageway-\(UUID().uuidString)"
    }

    /// The value of `Content-Type`, with the boundary.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// Appends a field of text.
    public mutating func append(name: String, value: String) {
        append(name: name, fileName: nil, contentType: nil, .data(Data(value.utf8)))
    }

    /// Appends bytes from memory.
    ///
    /// - Parameters:
    ///   - name: the name of the field.
    ///   - data: the bytes.
    ///   - fileName: with it the server takes the part for a file.
    ///   - contentType: by the file name if not given; a part without file name then has none.
    public mutating func append(name: String, data: Data, fileName: String? = nil, contentType: String? = nil) {
        append(name: name, fileName: fileName, contentType: contentType, .data(data))
    }

    /// Appends a file, which is read while it is sent. That it is missing shows when the request is sent, as
    /// ``NetworkError/fileError(_:)``.
    ///
    /// - Parameters:
    ///   - name: the name of the field.
    ///   - file: where the file is.
    ///   - fileName: what the server is told; the file's own name if not given.
    ///   - contentType: by the file name if not given.
    public mutating func append(name: String, file: URL, fileName: String? = nil, contentType: String? = nil) {
        append(name: name, fileName: fileName ?? file.lastPathComponent, contentType: contentType, .file(file))
    }

    /// Appends bytes from a stream; see ``RequestBody/stream(length:contentType:open:)``.
    public mutating func append(
        name: String, length: Int64? = nil, fileName: String? = nil, contentType: String? = nil,
        stream open: @escaping @Sendable () throws -> InputStream
    ) {
        append(name: name, fileName: fileName, contentType: contentType, .stream(length: length, open: open))
    }

    private mutating func append(name: String, fileName: String?, contentType: String?, _ body: TransportBody) {
        var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let fileName { head += "; filename=\"\(Self.escaped(fileName))\"" }
        if let type = contentType ?? fileName.map(MediaType.forFile(named:)) {
            // A line end in it would begin a header of the caller's making.
            head += "\r\nContent-Type: \(String(type.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }))"
        }
        parts.append(Part(head: Data("\(head)\r\n\r\n".utf8), body: body))
    }

    private static func escaped(_ name: String) -> String {
        var escaped = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"": escaped += "%22"
            case "\r": escaped += "%0D"
            case "\n": escaped += "%0A"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// The number of bytes of the whole body; nil if a stream of unknown length is in it.
    ///
    /// - Throws: ``NetworkError/fileError(_:)`` if a file cannot be read.
    public func length() throws(NetworkError) -> Int64? {
        try transportBody().length()
    }
}

extension MultipartForm {
    /// Everything in the order in which it is sent.
    private var pieces: [TransportBody] {
        let end = Data("--\(boundary)--\r\n".utf8)
        return parts.flatMap { [.data($0.head), $0.body, .data(Data("\r\n".utf8))] } + [.data(end)]
    }

    func transportBody() throws(NetworkError) -> TransportBody {
        let pieces = try pieces.measured()
        var total: Int64? = 0
        for piece in pieces {
            guard let length = piece.length, let sum = total else {
                total = nil
                continue
            }
            let (result, overflows) = sum.addingReportingOverflow(length)
            guard length >= 0, !overflows else { throw .invalidRequest("the length of a part is no length") }
            total = result
        }
        return .stream(length: total) { ChainedInputStream.make(of: pieces) }
    }
}

extension [TransportBody] {
    /// Each with its length as it is now, so that what is announced is what is sent.
    fileprivate func measured() throws(NetworkError) -> [(body: TransportBody, length: Int64?)] {
        var measured: [(body: TransportBody, length: Int64?)] = []
        for body in self { measured.append((body, try body.length())) }
        return measured
    }
}
