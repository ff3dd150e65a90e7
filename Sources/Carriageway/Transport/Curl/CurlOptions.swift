#if os(Linux)
    /// What a session over libcurl can be told beyond its configuration.
    struct CurlOptions: Sendable, Equatable {
        /// Every request goes over this Unix-domain socket, whatever host its URL has.
        var unixSocketPath: String?
    }
#endif
