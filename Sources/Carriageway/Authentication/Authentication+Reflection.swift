extension Authentication: CustomReflectable {
    /// What dumps show: how requests get the credential, not the credential.
    public var customMirror: Mirror {
        Mirror(self, children: ["authenticator": authenticator], displayStyle: .class)
    }
}
