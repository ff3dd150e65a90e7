import Foundation

extension NetworkOperation: CustomReflectable {
    /// What dumps show: the state, and the attempts. The request is left out, since it may hold a credential, and so is
    /// what Foundation keeps: on Linux its pointers end the process when they are read so.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "name": name as Any, "isExecuting": isExecuting, "isFinished": isFinished, "isCancelled": isCancelled,
                "attempts": attempts,
            ], displayStyle: .class, ancestorRepresentation: .suppressed)
    }
}
