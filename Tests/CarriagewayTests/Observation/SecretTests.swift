import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Secrets")
struct SecretTests {
    private static let secret = "s3cr3t"

    @Test(
        "C39 no secret is in any event, log line, error, record or cURL text", .overEveryWire,
        arguments: [200, 404, 503])
    func everywhere(status: Int) async throws {
        let server = try LoopbackServer()
        let secret = Self.secret
        server.on(
            "/start", LoopbackServer.Response.redirect(to: "/end?session_id=\(secret)#\(secret)", status: 307))
        server.on(
            "/end",
            LoopbackServer.Response.status(status, headers: ["Set-Cookie": "sid=\(secret)"], body: Data(secret.utf8)))
        let lines = Locked<[String]>([])
        let log = EventLog()
        let queue = NetworkQueue(session: Wire.session()) {
            $0.observers = [log, LogObserver { line in lines.withLock { $0.append(line) } }]
            $0.secretMask.queryNames = ["Customer"]
            $0.retryPolicy = .fixed(interval: .zero, maxRetries: 1)
        }
        let text =
            server.url("/start").absoluteString.replacingOccurrences(of: "//", with: "//ada:\(secret)@")
            + "?access_token=\(secret)&customer=\(secret)&%74oken=\(secret)&shown=shown#\(secret)"
        var request = URLRequest(url: Made.url(text))
        request.httpMethod = "POST"
        request.httpBody = Data(secret.utf8)
        for header in ["Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "X-Auth-Token"] {
            request.setValue("Bearer \(secret)", forHTTPHeaderField: header)
        }
        let operation = NetworkOperation(request)
        operation.retriesNonIdempotent = true
        queue.addOperation(operation)
        await log.ends.wait(for: 1)
        while (lines.withLock { $0.count }) < log.events.count { await Task.yield() }
        var shown = lines.withLock { $0 }
        for event in log.events {
            var dumped = ""
            dump(event, to: &dumped)
            dump(event.kind, to: &dumped)
            shown += [
                "\(event)", String(reflecting: event), "\(event.kind)", String(reflecting: event.kind), event.url,
            ]
            shown.append(dumped)
        }
        let mask = queue.configuration.secretMask
        shown.append(request.curlCommand(masking: mask))
        shown += operation.attempts.map { "\($0.outcome)" }
        if case .failure(let error) = operation.result { shown += ["\(error)", error.localizedDescription] }
        if case .success(let response) = operation.result { shown.append(response.request.curlCommand(masking: mask)) }
        #expect(log.events.count >= 7)
        #expect(log.events[0].url.hasSuffix("/start?access_token=***&customer=***&%74oken=***&shown=shown#***"))
        for text in shown { #expect(!text.contains(secret), "\(text)") }
        let broken = lines.withLock { $0 }.filter { $0.contains(where: \.isNewline) }
        #expect(broken.isEmpty)
    }

    @Test(
        "URLs are masked as they are written",
        arguments: [
            ("https://ada:s3cr3t@example.com/p", "https://***@example.com/p"),
            ("https://a@b:s3cr3t@example.com:8080?token=x", "https://***@example.com:8080?token=***"),
            ("https://example.com/a@b", "https://example.com/a@b"),
            ("https://example.com/?a=1&Api-Key=x&api_key=y&b", "https://example.com/?a=1&Api-Key=***&api_key=***&b"),
            ("https://example.com/?X-Amz-Signature=x;code=y", "https://example.com/?X-Amz-Signature=***&code=***"),
            ("https://example.com/?pass%77ord=x&page=2", "https://example.com/?pass%77ord=***&page=2"),
            ("https://example.com/#access_token=x", "https://example.com/#***"),
            ("https://example.com/?token=", "https://example.com/?token=***"),
            ("https://example.com/?token=a=b", "https://example.com/?token=***"),
            ("mailto:a@b", "mailto:a@b"),
        ])
    func urls(url: String, masked: String) {
        #expect(SecretMask.standard.masked(Made.url(url)) == masked)
    }

    @Test("which headers are masked; the mask can be extended, and switched off")
    func headers() {
        let hidden = [
            "authorization", "COOKIE", "Set-Cookie", "Proxy-Authorization", "X-Api-Key", "Ocp-Apim-Subscription-Key",
            "X-Goog-Api-Key", "X-CSRF-Token", "X-Auth", "X-Amz-Security-Token", "apikey",
        ]
        for name in hidden { #expect(SecretMask.standard.hides(headerName: name), "\(name)") }
        for name in ["Accept", "Content-Type", "Idempotency-Key", "User-Agent", "If-None-Match"] {
            #expect(!SecretMask.standard.hides(headerName: name), "\(name)")
        }
        #expect(SecretMask(headerNames: ["X-Mine"]).hides(headerName: "x-mine"))
        #expect(!SecretMask.none.hides(headerName: "Authorization"))
        let url = "https://a:b@example.com/?token=x#y"
        #expect(SecretMask.none.masked(Made.url(url)) == url)
    }
}
