import Foundation

/// Standard output and standard error, a whole line at a time.
enum Console {
    /// Why standard output takes no more.
    enum Failure: Error, Equatable {
        /// The reader has left, as `head` does.
        case closed
        /// A fault, in words.
        case failed(String)
    }

    /// Whether somebody reads standard output on a terminal that shows colours.
    static var showsColours: Bool {
        let environment = ProcessInfo.processInfo.environment
        return isatty(STDOUT_FILENO) == 1 && environment["NO_COLOR", default: ""].isEmpty
            && environment["TERM", default: "dumb"] != "dumb"
    }

    /// Whether somebody looks at standard output on a terminal whose cursor can be moved.
    static var isTerminal: Bool {
        isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM", default: "dumb"] != "dumb"
    }

    /// Writes to the terminal as it is, without a line end. What goes wrong shows with the next line.
    static func draw(_ text: String) {
        guard !text.isEmpty else { return }
        try? put(text, to: STDOUT_FILENO, end: "")
    }

    /// Makes the process survive a reader that leaves: writing then fails, and ends nothing.
    static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        // A descriptor that was closed by the caller would be given to the first socket, and what is printed with it.
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Writes a line to standard output.
    static func print(_ line: String) throws(Failure) {
        try put(line, to: STDOUT_FILENO)
    }

    /// Writes a line to standard error, under the program's name, and what belongs to it below.
    static func complain(_ line: String, details: [String] = []) {
        let lines = ["carriageway: \(line)"] + details.map { "  \($0)" }
        // Where else could a failure be told?
        try? put(lines.joined(separator: "\n"), to: STDERR_FILENO)
    }

    private static func put(_ line: String, to descriptor: Int32, end: String = "\n") throws(Failure) {
        var rest = Array("\(line)\(end)".utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else {
                try recover(from: errno, on: descriptor)
            }
        }
    }

    private static func recover(from code: Int32, on descriptor: Int32) throws(Failure) {
        switch code {
        case EINTR: break
        case EAGAIN:
            // Somebody made the terminal non-blocking, and it is full.
            var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&waiting, 1, -1)
        case EPIPE: throw .closed
        default: throw .failed(String(cString: strerror(code)))
        }
    }
}
