import Carriageway
import CarriagewayTesting
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension Scenario {
    /// K6: transfers that are paused, and go on, at any moment: nothing is sent twice, and every byte comes once.
    static func pausedTransfers() async throws {
        let server = try LoopbackServer()
        let text = String(repeating: "some text ", count: 2_000)
        server.on("/", LoopbackServer.Response.text(text).dripped(size: 5_000, interval: .milliseconds(1)))
        let queue = NetworkQueue(session: NetworkSession.probed()) { $0.retryPolicy = .never }
        let operations = (0..<400).map { index in
            let operation = queue.send(URLRequest(url: server.url()))
            for moment in 0..<3 {
                let delay = DispatchTimeInterval.microseconds((index * 131 + moment * 977) % 9_000)
                DispatchQueue.global().asyncAfter(deadline: .now() + delay) {
                    operation.progress.pause()
                    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(2)) {
                        operation.progress.resume()
                    }
                }
            }
            return operation
        }
        for operation in operations {
            try Fault.unless(try await operation.response.data == Data(text.utf8), "not the whole text")
        }
        try Fault.unless(server.requestCount == 400, "\(server.requestCount) requests for 400")
    }

    /// K8: there is no folder for temporary files, where `URLSession` would put downloads.
    static func noTemporaryFolder() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("carriageway-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        setenv("TMPDIR", "/nowhere/at/all", 1)
        let server = try LoopbackServer()
        server.on("/*", .data(Data(count: 100_000)))
        let queue = NetworkQueue(session: NetworkSession.probed())
        for index in 0..<10 {
            let file = folder.appendingPathComponent("\(index)")
            try await queue.download(URLRequest(url: server.url("/\(index)")), to: file)
            try Fault.unless(try Data(contentsOf: file).count == 100_000, "not the whole file")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        try Fault.unless(names.count == 10, "\(names)")
    }

    /// K8: no descriptor is left: requests and downloads fail, and work again once there are some.
    static func noDescriptors() async throws {
        let server = try LoopbackServer()
        server.on("/", .text("x"))
        let folder = FileManager.default.temporaryDirectory
        let session = NetworkSession.probed()
        let queue = NetworkQueue(session: session) { $0.retryPolicy = .never }
        // Whatever is made once is there. Dispatch itself ends the process when it has no descriptor for its first timer, so
        // one has come before.
        _ = try await queue.data(for: URLRequest(url: server.url()))
        server.on("/hang", .hang)
        let hanging = NetworkOperation(URLRequest(url: server.url("/hang")))
        hanging.attemptTimeout = .milliseconds(20)
        queue.addOperation(hanging)
        _ = try? await hanging.response
        let elsewhere = try LoopbackServer()
        // Each request needs a connection of its own.
        elsewhere.on("/", LoopbackServer.Response.text("x").closing)
        var limit = rlimit(rlim_cur: 200, rlim_max: 1_024)
        #if canImport(Glibc)
            let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let kind = RLIMIT_NOFILE
        #endif
        try Fault.unless(setrlimit(kind, &limit) == 0, "no limit can be set")
        try await server.waitForOpenConnections(atMost: 1)
        var taken: [Int32] = []
        var fates: [String] = []
        for index in 0..<20 {
            // What has been closed meanwhile is taken too.
            while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { taken.append(descriptor) }
            let request = URLRequest(url: elsewhere.url())
            let file = folder.appendingPathComponent("carriageway-\(UUID())")
            let operation =
                index.isMultiple(of: 2) ? NetworkOperation(request) : NetworkOperation(download: request, to: file)
            operation.attemptTimeout = .seconds(5)
            queue.addOperation(operation)
            do throws(NetworkError) {
                _ = try await operation.response
                fates.append("success")
            } catch {
                fates.append("\(error)")
            }
        }
        for descriptor in taken { close(descriptor) }
        // One that is closed at the wrong moment may let one of them through.
        try Fault.unless(fates.count { $0 == "success" } <= 5, "it worked without descriptors: \(fates)")
        _ = try await queue.data(for: URLRequest(url: elsewhere.url()))
    }
}
