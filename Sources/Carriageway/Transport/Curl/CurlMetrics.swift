#if os(Linux)
    import CarriagewayCurl

    extension TransferMetrics {
        /// What libcurl has measured of the handle's last transfer; nil if that did not get as far as a connection's name.
        init?(_ easy: OpaquePointer) {
            var measured = cwcurl_measured()
            cwcurl_measure(easy, &measured)
            guard measured.total > 0 else { return nil }
            // Without a connection of its own, and yet sent: it went over one that was there. How much was sent is of no use
            // otherwise: of which bytes it is the sum has changed from version to version.
            let isReused = measured.connections == 0 && measured.request_sent > 0
            // For steps that were not taken libcurl has the time at which it knew that.
            let times = Times(
                nameLookedUp: isReused ? 0 : measured.name_lookup, connected: isReused ? 0 : measured.connect,
                secured: isReused ? 0 : measured.tls, firstByte: measured.head_received > 0 ? measured.first_byte : 0,
                total: measured.total)
            self.init(
                times: times, bodyBytesSent: measured.body_sent, headerBytesReceived: Int64(measured.head_received),
                bodyBytesReceived: measured.body_received, isReusedConnection: isReused,
                networkProtocolName: measured.head_received > 0 ? Self.protocolName(measured.http_version) : nil)
        }

        private static func protocolName(_ version: Int) -> String? {
            switch version {
            case CWCURL_HTTP_1_0: "http/1.0"
            case CWCURL_HTTP_1_1: "http/1.1"
            case CWCURL_HTTP_2_0: "h2"
            case CWCURL_HTTP_3: "h3"
            default: nil
            }
        }
    }
#endif
