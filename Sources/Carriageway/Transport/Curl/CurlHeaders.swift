#if os(Linux)
    import CarriagewayCurl

    /// Header lines as libcurl takes them.
    ///
    /// `@unchecked Sendable`: made by one thread; nobody adds to one that others have.
    final class CurlHeaders: @unchecked Sendable {
        private(set) var list: OpaquePointer?

        deinit {
            if let list { cwcurl_list_free(list) }
        }

        /// Adds a line; without a value one that takes the header back that libcurl sends by itself. False if it cannot be.
        func add(_ name: String, _ value: String?) -> Bool {
            let line =
                switch value {
                case nil: "\(name):"
                // libcurl's way to send a header without a value.
                case ""?: "\(name);"
                case let value?: "\(name): \(value)"
                }
            guard !line.utf8.contains(0) else { return false }
            // Where it cannot be made longer it is gone.
            list = line.withCString { cwcurl_list_append(list, $0) }
            return list != nil
        }
    }
#endif
