import Foundation

/// A text that no description, dump or mirror shows.
struct Secret: Sendable, Hashable {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "***" }
    var debugDescription: String { "***" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension String {
    /// The text of a server as part of a message: on one line, cut to `limit` characters, with `secrets` left out.
    ///
    /// A server may repeat what it was sent, as it came or encoded for a form.
    func inMessage(limit: Int, without secrets: [Secret] = []) -> String {
        var text = self
        // The longest first: one may be a part of another.
        let forms = secrets.flatMap { [$0.text, FormEncoding.encode($0.text)] }.filter { !$0.isEmpty }
        for form in forms.sorted(by: { $0.count > $1.count }) {
            text = text.replacingOccurrences(of: form, with: "***")
        }
        let visible = text.unicodeScalars.map { $0.properties.isVisible ? Character($0) : " " }
        text = String(visible).split(separator: " ").joined(separator: " ")
        return text.count > limit ? "\(text.prefix(limit))..." : text
    }
}

extension Unicode.Scalar.Properties {
    /// Neither a control character nor one that ends a line or turns the direction of the text.
    fileprivate var isVisible: Bool {
        switch generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
        default: true
        }
    }
}
