import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension URLRequest {
    /// The request as a command for the shell, with secrets masked and without its body; see ``curlCommand(masking:showsBody:)``.
    public var curlCommand: String { curlCommand() }

    /// The request as a command for `curl` in a POSIX shell.
    ///
    /// ```swift
    /// print(response.request.curlCommand)
    /// // With all its secrets:
    /// print(request.curlCommand(masking: .none, showsBody: true))
    /// ```
    ///
    /// Headers that the session or the transport adds are not in it. Those that cannot be sent, as with line ends, are left
    /// out. A body that is a stream is never shown, since it can be read only once.
    ///
    /// - Parameters:
    ///   - mask: what is replaced by `***`; ``SecretMask/none`` shows everything.
    ///   - showsBody: whether the body is part of the command; if not its size stands in its place.
    public func curlCommand(masking mask: SecretMask = .standard, showsBody: Bool = false) -> String {
        var words = ["curl"]
        let method = httpMethod ?? "GET"
        let body = httpBody.flatMap { $0.isEmpty ? nil : $0 }
        switch method {
        case "GET" where body == nil && httpBodyStream == nil: break
        // With --request HEAD curl would wait for a body.
        case "HEAD": words.append("--head")
        default: words += ["--request", method.quotedForShell]
        }
        let address = url.map { mask.masked($0) } ?? ""
        // What curl would take for patterns, or shorten.
        if address.contains(where: { "[]{}".contains($0) }) { words.append("--globoff") }
        if address.contains("/.") { words.append("--path-as-is") }
        words += ["--url", address.quotedForShell]
        for (name, value) in (allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key })
        where RequestCheck.isSendable(name, value) {
            // curl would leave a header out that has no value, unless it ends so.
            let line = value.isEmpty ? "\(name);" : "\(name): \(mask.hides(headerName: name) ? SecretMask.mask : value)"
            words += ["--header", line.quotedForShell]
        }
        if body != nil || httpBodyStream != nil, value(forHTTPHeaderField: "Content-Type") == nil {
            words += ["--header", "Content-Type: application/octet-stream".quotedForShell]
        }
        return Self.command(words, body: body, hasStream: httpBodyStream != nil, showsBody: showsBody)
    }

    private static func command(_ words: [String], body: Data?, hasStream: Bool, showsBody: Bool) -> String {
        let command = words.joined(separator: " ")
        if hasStream { return command + " --data-raw '<stream>'" }
        guard let body else { return command }
        guard showsBody else { return command + " --data-raw '<\(body.count) bytes>'" }
        if !body.contains(0), let text = String(data: body, encoding: .utf8) {
            return command + " --data-raw " + text.quotedForShell
        }
        // An argument can hold no zero byte, and a command as text nothing but UTF-8.
        let octal = body.map { byte in
            let digits = String(byte, radix: 8)
            return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
        }
        return "printf '\(octal.joined())' | \(command) --data-binary @-"
    }
}

extension String {
    /// The text as one word of a POSIX shell, whatever is in it but the zero byte, which is left out.
    var quotedForShell: String {
        "'" + replacingOccurrences(of: "\0", with: "").replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
