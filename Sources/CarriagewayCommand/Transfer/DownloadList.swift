import Foundation

/// The URLs of the command line and of files, and the digests that their files must have.
struct DownloadList {
    /// Why a list cannot be used.
    struct Fault: Error, Equatable {
        let text: String
    }

    let targets: [FetchTarget]

    /// Reads the files of a plan.
    init(_ plan: DownloadPlan) throws(Fault) {
        var targets = plan.fetch.targets
        for input in plan.inputs {
            for line in try Self.text(of: input).split(whereSeparator: \.isNewline) {
                let word = line.trimmingCharacters(in: .whitespaces)
                guard !word.isEmpty, !word.hasPrefix("#") else { continue }
                do throws(UsageError) {
                    targets.append(try FetchTarget(word, number: targets.count + 1))
                } catch {
                    throw Fault(text: "\(UsageError.quoted(input)): \(error.text)")
                }
            }
        }
        self.targets = targets
    }

    /// Digests by the names of files, as `sha256sum` writes them: 64 digits, a blank, a blank or an asterisk, the name.
    static func digests(in text: String) throws(Fault) -> [String: String] {
        var digests: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let digest = line.prefix { $0.isHexDigit }
            let rest = line.dropFirst(digest.count)
            guard digest.count == 64, rest.hasPrefix("  ") || rest.hasPrefix(" *"), rest.count > 2 else {
                throw Fault(text: "no line of digests: \(UsageError.quoted(line))")
            }
            let name = rest.dropFirst(2).split(separator: "/").last.map(String.init) ?? ""
            digests[name] = digest.lowercased()
        }
        return digests
    }

    static func text(of path: String) throws(Fault) -> String {
        do {
            let data =
                path == "-"
                ? try FileHandle.standardInput.readToEnd() ?? Data() : try Data(contentsOf: URL(fileURLWithPath: path))
            return String(decoding: data, as: UTF8.self)
        } catch {
            throw Fault(text: "cannot read \(UsageError.quoted(path)): \(error.inWords)")
        }
    }
}
