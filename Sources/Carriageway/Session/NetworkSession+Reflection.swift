extension NetworkSession: CustomReflectable {
    /// What dumps show. The requests on the wire are left out, since they hold credentials; so is what Foundation keeps,
    /// which would be read while it changes.
    public var customMirror: Mirror {
        Mirror(self, children: ["isInvalidated": isInvalidated], displayStyle: .class)
    }
}
