import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Status and fields of a response, as a transport has got them.
///
/// The `HTTPURLResponse` of a transport of ours is made when somebody asks for it: on Linux that takes longer than all
/// else that is done for a small response, and many callers want no more than the status and the body.
package final class ReceivedHead: Sendable {
    package let statusCode: Int

    /// The length of the body in bytes; -1 if it is not known, as under a content encoding.
    let bodyLength: Int64

    private let parsed: (head: ResponseHead, url: URL)?
    private let made: Locked<HTTPURLResponse?>

    /// The head of a response that the system has made.
    package init(_ response: HTTPURLResponse) {
        statusCode = response.statusCode
        bodyLength = response.bodyLength
        parsed = nil
        made = Locked(response)
    }

    /// The head of a response to a request for `url`, complete.
    init(_ head: ResponseHead, of url: URL) {
        statusCode = head.status
        bodyLength = head.bodyLength
        parsed = (head, url)
        made = Locked(nil)
    }

    package var http: HTTPURLResponse {
        if let known = made.withLock({ $0 }) { return known }
        guard let parsed,
            let response = HTTPURLResponse(
                url: parsed.url, statusCode: statusCode, httpVersion: parsed.head.version,
                headerFields: parsed.head.fields)
        else { preconditionFailure("Foundation makes a response of any status and fields") }
        // Everybody gets the same one.
        return made.withLock { made in
            made = made ?? response
            return made ?? response
        }
    }
}

extension TransportEvents {
    /// The same for a response that the system has made.
    package func task(_ identifier: Int, received response: HTTPURLResponse) {
        task(identifier, received: ReceivedHead(response))
    }
}

extension HTTPURLResponse {
    var bodyLength: Int64 {
        let coding = value(forHTTPHeaderField: "Content-Encoding") ?? "identity"
        return coding == "identity" ? expectedContentLength : -1
    }
}
