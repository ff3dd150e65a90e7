#if os(Linux)
    import Foundation
    import FoundationNetworking

    /// What `connectionProxyDictionary` says, by the names of its keys on Apple's systems: "HTTPEnable", "HTTPProxy",
    /// "HTTPPort", the same with "HTTPS" and "SOCKS", and "ExceptionsList".
    ///
    /// Without a dictionary the environment counts (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`).
    struct CurlProxies: Sendable, Hashable {
        /// For http; nil for none.
        private(set) var plain: String?
        /// For https; nil for none.
        private(set) var secure: String?
        /// Hosts that are reached directly, as libcurl takes them.
        private(set) var exceptions: String?

        init(_ dictionary: [AnyHashable: Any]) {
            let socks = Self.address(in: dictionary, "SOCKS").map { "socks5h://\($0)" }
            plain = Self.address(in: dictionary, "HTTP").map { "http://\($0)" } ?? socks
            secure = Self.address(in: dictionary, "HTTPS").map { "http://\($0)" } ?? socks
            let hosts = (dictionary["ExceptionsList"] as? [String] ?? []).filter(Self.isClean)
            // "*.example.com" is ".example.com" there.
            if !hosts.isEmpty {
                exceptions = hosts.map { $0.hasPrefix("*.") ? String($0.dropFirst()) : $0 }.joined(separator: ",")
            }
        }

        private static func address(in dictionary: [AnyHashable: Any], _ name: String) -> String? {
            guard number(dictionary["\(name)Enable"]) ?? 0 != 0, let host = dictionary["\(name)Proxy"] as? String,
                !host.isEmpty, isClean(host)
            else { return nil }
            let address = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
            return number(dictionary["\(name)Port"]).map { "\(address):\($0)" } ?? address
        }

        private static func number(_ value: Any?) -> Int? {
            switch value {
            case let number as Int: number
            case let flag as Bool: flag ? 1 : 0
            case let number as NSNumber: number.intValue
            case let text as String: Int(text)
            default: nil
            }
        }

        private static func isClean(_ text: String) -> Bool { text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } }
    }
#endif
