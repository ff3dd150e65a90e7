extension Dictionary {
    /// Changes the value of a key, if there is one, where it lies.
    ///
    /// `dictionary[key]?.part = …` moves a value of some size out and back again, with an allocation for each step of that.
    mutating func change(_ key: Key, _ change: (inout Value) -> Void) {
        guard let index = index(forKey: key) else { return }
        change(&values[index])
    }
}
