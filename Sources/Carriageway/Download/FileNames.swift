import Foundation

/// Gives each URL the name of a file: pure, without looking at the disk.
///
/// A name is one component of a path, never hidden, never "." or "..", short enough for every file system, and no two
/// are equal, also where case and Unicode form do not count.
package struct FileNames {
    /// File systems take 255 bytes; some leave room for suffixes of their own.
    private static let limit = 200
    /// An extension that is longer than this is none.
    private static let extensionLimit = 20

    private var taken: Set<String> = []

    package init() {}

    /// A name from the last part of the URL's path; "index" where that says nothing.
    package mutating func next(for url: URL) -> String {
        let path = url.path(percentEncoded: true)
        let last = path.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init) ?? ""
        let wanted = Self.safe(last.removingPercentEncoding ?? last)
        for number in 1... {
            let name = Self.numbered(wanted, number)
            if taken.insert(Self.folded(name)).inserted { return name }
        }
        preconditionFailure("the numbers never end")
    }

    /// The name with a number before its extension, from 2 on: "report-2.pdf".
    static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, suffix) = parts(of: name)
        return self.name(stem: stem, number: number, suffix: suffix)
    }

    /// The text with everything replaced that means something to a shell's reader or to a file system.
    static func safe(_ text: String) -> String {
        let replaced = String(text.unicodeScalars.map { isSafe($0) ? Character($0) : "_" })
        var name = Substring(replaced)
        // A leading dot hides the file, a leading dash is an option to the next command; trailing dots and spaces are
        // cut off by Windows.
        while let last = name.last, last == "." || last == " " { name.removeLast() }
        if let first = name.first, first == "." || first == "-" || first == " " { name = "_" + name.dropFirst() }
        return name.isEmpty ? "index" : String(name)
    }

    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
        default: !"/\\:*?\"<>|".unicodeScalars.contains(scalar)
        }
    }

    /// The name before the last dot, and the rest with the dot; "archive.tar" and ".gz".
    private static func parts(of name: String) -> (stem: String, suffix: String) {
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return (name, "") }
        let suffix = String(name[dot...])
        return suffix.utf8.count > extensionLimit ? (name, "") : (String(name[..<dot]), suffix)
    }

    private static func name(stem: String, number: Int, suffix: String) -> String {
        let ending = (number == 1 ? "" : "-\(number)") + suffix
        var stem = stem
        while stem.utf8.count + ending.utf8.count > limit { stem.unicodeScalars.removeLast() }
        return stem + ending
    }

    /// What a file system without case would compare.
    private static func folded(_ name: String) -> String {
        name.precomposedStringWithCanonicalMapping.lowercased()
    }
}
