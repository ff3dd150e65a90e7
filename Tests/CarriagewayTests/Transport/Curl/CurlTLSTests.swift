#if os(Linux)
    import CarriagewayTesting
    import Foundation
    import FoundationNetworking
    import Testing

    @testable import Carriageway

    /// TLS and HTTP/2 over libcurl.
    struct CurlTLSTests {
        private func session(_ trust: CurlTrust?, _ change: (inout NetworkSession.CurlOptions) -> Void = { _ in })
            throws
            -> NetworkSession
        {
            var options = NetworkSession.CurlOptions()
            change(&options)
            let settled = options
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = 0
            return try NetworkSession { events in
                try CurlTransport(configuration: configuration, options: settled, trust: { _ in trust }, events: events)
            }
        }

        private func lines(_ session: NetworkSession, _ url: String) async throws(NetworkError) -> [String] {
            let request = URLRequest(url: URL(string: url) ?? URL(fileURLWithPath: "/"))
            return String(decoding: try await session.data(for: request), as: UTF8.self).components(separatedBy: "\n")
        }

        private func code(_ session: NetworkSession, _ url: String) async -> URLError.Code? {
            await failure { () async throws(NetworkError) in try await lines(session, url) }?.urlErrorCode
        }

        @Test("authorities of one's own, and they alone; the name must be right in every case")
        func anchors() async throws {
            guard let server = try await TLSServer() else { return }
            let url = "https://localhost:\(server.port)/"
            #expect(await code(try session(nil), url) == .serverCertificateUntrusted)
            let trusting = try session(CurlTrust(anchors: [server.certificate]))
            #expect(try await lines(trusting, url).count == 4)
            #expect(await code(trusting, "https://127.0.0.2:\(server.port)/") == .serverCertificateUntrusted)
            #expect(await code(try session(CurlTrust(anchors: [])), url) == .serverCertificateUntrusted)
            let nonsense = await code(try session(CurlTrust(anchors: [Data("nonsense".utf8)])), url)
            #expect(nonsense == .serverCertificateUntrusted || nonsense == .secureConnectionFailed)
        }

        @Test("the system's authorities are read for the first connection, and not again for each")
        func systemAuthorities() async throws {
            guard let server = try await TLSServer() else { return }
            guard CurlLibrary.keepsAuthorities else {
                print("skipped: this libcurl keeps no authorities, or has no bundle of them")
                return
            }
            let bundle = server.folder.url.appendingPathComponent("bundle.pem")
            try FileManager.default.copyItem(at: server.certificateFile, to: bundle)
            let script = """
                mount --bind "$1" /etc/ssl/certs/ca-certificates.crt || exit 100
                exec "$2" authorities --transport curl --bundle "$1" --url "$3" --other "$4"
                """
            let trial = try #require(TrialProcess.executable())
            let outcome = try await TrialProcess.run(
                "/usr/bin/unshare",
                [
                    "-m", "sh", "-c", script, "sh", bundle.path, trial.path, "https://localhost:\(server.port)/",
                    "https://127.0.0.1:\(server.port)/",
                ])
            if outcome.status == 100 || outcome.text.contains("unshare failed") {
                print("skipped: no mount namespace can be had")
            } else {
                #expect(outcome.status == 0, "\(outcome.text)")
            }
        }

        @Test("a pinned key must be the server's, whoever signed")
        func pins() async throws {
            guard let server = try await TLSServer() else { return }
            let url = "https://127.0.0.1:\(server.port)/"
            let other = Data(repeating: 7, count: 32)
            let right = CurlTrust(anchors: [server.certificate], publicKeys: [other, server.publicKey])
            #expect(try await lines(try session(right), url).count == 4)
            for keys in [[other], [], [Data()], [server.publicKey.prefix(31)]] as [Set<Data>] {
                let wrong = CurlTrust(anchors: [server.certificate], publicKeys: keys)
                #expect(await code(try session(wrong), url) == .serverCertificateUntrusted)
            }
            // A pin does not stand in for the check.
            #expect(
                await code(try session(CurlTrust(publicKeys: [server.publicKey])), url) == .serverCertificateUntrusted)
        }

        @Test("what ServerTrust says is what is asked of libcurl, or refused")
        func serverTrust() async throws {
            #expect(CurlTrust(.system) == nil)
            #expect(CurlTrust(.pinnedPublicKeys([Data([1])])) == CurlTrust(publicKeys: [Data([1])]))
            guard let server = try await TLSServer() else { return }
            let url = "https://localhost:\(server.port)/"
            let byHost = ServerTrust.byHost(["localhost:\(server.port)": .anchors([server.certificate])])
            let session = NetworkSession(serverTrust: byHost, transport: .curl)
            #expect(try await lines(session, url).count == 4)
            #expect(await code(session, "https://127.0.0.1:\(server.port)/") == .serverCertificateUntrusted)
            let pinned = NetworkSession(serverTrust: .pinnedCertificates([server.certificate]), transport: .curl)
            let error = await failure { () async throws(NetworkError) in try await lines(pinned, url) }
            #expect(error?.name == "invalidRequest")
        }

        @Test("HTTP/2 is spoken where the server can, by many requests over one connection")
        func http2() async throws {
            guard let server = try await TLSServer() else { return }
            guard CurlLibrary.has(CurlLibrary.http2) else {
                print("skipped: this libcurl has no HTTP/2")
                return
            }
            let session = try session(CurlTrust(anchors: [server.certificate]))
            let url = "https://localhost:\(server.port)/"
            let answers = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<50 { group.addTask { try await lines(session, url) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0[0] == "HTTP/2.0" })
            #expect(Set(answers.map { $0[2] }).count == 1)
            var post = URLRequest(url: try #require(URL(string: url)))
            post.httpMethod = "POST"
            // Not one that is too large for the window: this server answers without reading it, and libcurl 7.88, as a
            // command too, then waits for ever.
            post.httpBody = Data.pattern(10_000)
            #expect(try await session.response(for: post).statusCode == 200)
        }

        @Test("the oldest version of TLS is kept to")
        func versions() async throws {
            guard let server = try await TLSServer() else { return }
            let trust = CurlTrust(anchors: [server.certificate])
            let url = "https://localhost:\(server.oldPort)/"
            let answer = try await lines(try session(trust), url)
            #expect(answer.prefix(2) == ["HTTP/1.1", "TLSv1.2"])
            #expect(await code(try session(trust) { $0.minimumTLSVersion = .v1_3 }, url) == .secureConnectionFailed)
        }

        @Test("a client certificate is shown; one that cannot be read fails the request")
        func clientCertificates() async throws {
            guard let server = try await TLSServer() else { return }
            let trust = CurlTrust(anchors: [server.certificate])
            let url = "https://localhost:\(server.port)/"
            #expect(try await lines(try session(trust), url)[3] == "NONE")
            let own = NetworkSession.ClientCertificate.pem(certificate: server.certificateFile, key: server.keyFile)
            #expect(try await lines(try session(trust) { $0.clientCertificate = own }, url)[3] != "NONE")
            for password in ["swordfish", "wrong", nil] {
                for locked in [
                    NetworkSession.ClientCertificate.pem(
                        certificate: server.certificateFile, key: server.lockedKeyFile, password: password),
                    .pkcs12(server.bundleFile, password: password),
                ] {
                    let session = try session(trust) { $0.clientCertificate = locked }
                    if password == "swordfish" {
                        #expect(try await lines(session, url)[3] != "NONE")
                    } else {
                        #expect(await code(session, url) == .clientCertificateRejected)
                    }
                }
            }
            let missing = server.folder.url.appendingPathComponent("missing")
            let broken = NetworkSession.ClientCertificate.pem(certificate: missing, key: missing, password: "swordfish")
            #expect(!"\(broken)".contains("swordfish"))
            #expect(await code(try session(trust) { $0.clientCertificate = broken }, url) == .clientCertificateRejected)
        }

        @Test("https to a server that speaks http is no secure connection")
        func plainServer() async throws {
            let server = try LoopbackServer()
            #expect(await code(Wire.curl.session(), "https://127.0.0.1:\(server.port)/") == .secureConnectionFailed)
        }
    }
#endif
