#if os(Linux)
    import CarriagewayTesting
    import Foundation
    import FoundationNetworking
    import Testing

    @testable import Carriageway

    /// Servers that demand a certificate of the client: one that says so by HTTP, and one that ends the connection.
    @Suite("client certificates over libcurl")
    struct ClientCertificateTests {
        /// What is shown to the server.
        enum Shown: CaseIterable {
            case nothing, stranger, own

            func certificate(_ server: TLSServer) -> NetworkSession.ClientCertificate? {
                switch self {
                case .nothing: nil
                case .stranger: .pem(certificate: server.strangerFile, key: server.strangerFile)
                case .own: .pem(certificate: server.certificateFile, key: server.keyFile)
                }
            }
        }

        private func send(_ shown: Shown, to url: String, of server: TLSServer, method: String = "GET") async throws
            -> NetworkOperation
        {
            var options = NetworkSession.CurlOptions()
            options.clientCertificate = shown.certificate(server)
            let session = NetworkSession(serverTrust: .anchors([server.certificate]), transport: .curl(options))
            var request = URLRequest(url: try #require(URL(string: url)))
            request.httpMethod = method
            let operation = NetworkQueue(session: session) {
                $0.retryPolicy = .fixed(interval: .zero, maxRetries: 2)
            }.send(request)
            await operation.finished()
            return operation
        }

        @Test(
            "nginx answers 400 to who has none, or a stranger's, and that is not sent again", arguments: Shown.allCases)
        func statusOfServer(shown: Shown) async throws {
            guard let server = try await TLSServer() else { return }
            let operation = try await send(shown, to: "https://localhost:\(server.demandingPort)/", of: server)
            #expect(operation.attempts.count == 1)
            if shown == .own {
                let text = String(decoding: try await operation.response.data, as: UTF8.self)
                #expect(text.hasSuffix("SUCCESS"), "\(text)")
            } else {
                let error = try #require(operation.result?.error)
                #expect(error.response?.statusCode == 400 && !error.shouldRetry)
            }
        }

        @Test("a server that ends the connection: a clear error, and no second try", arguments: Shown.allCases)
        func alertOfServer(shown: Shown) async throws {
            guard let server = try await TLSServer(), let demanding = try await DemandingServer(of: server) else {
                return
            }
            // It answers nothing but GET.
            for method in shown == .own ? ["GET"] : ["GET", "POST"] {
                let operation = try await send(shown, to: demanding.address, of: server, method: method)
                #expect(operation.attempts.count == 1)
                if shown == .own {
                    #expect(try await operation.response.statusCode == 200)
                } else {
                    let error = try #require(operation.result?.error)
                    #expect(
                        error.urlErrorCode
                            == (shown == .nothing ? .clientCertificateRequired : .clientCertificateRejected),
                        "\(error)")
                    #expect(!error.shouldRetry)
                }
            }
        }

        @Test("TLS 1.2 has no word for a certificate that is missing, but for one that is not liked")
        func oldAlerts() async throws {
            guard let server = try await TLSServer(), let demanding = try await DemandingServer(of: server, "-tls1_2")
            else { return }
            let none = try await send(.nothing, to: demanding.address, of: server)
            #expect(none.result?.error?.innermost.urlErrorCode == .secureConnectionFailed)
            let stranger = try await send(.stranger, to: demanding.address, of: server)
            #expect(stranger.result?.error?.urlErrorCode == .clientCertificateRejected && stranger.attempts.count == 1)
            #expect(try await send(.own, to: demanding.address, of: server).response.statusCode == 200)
        }
    }

    /// `openssl s_server`, which ends a connection whose client has no certificate that it likes.
    private final class DemandingServer: Sendable {
        let address: String
        private let process: ChildProcess

        init?(of server: TLSServer, _ options: String...) async throws {
            guard let openssl = TLSServer.find("openssl") else { return nil }
            let output = Pipe()
            process = ChildProcess()
            process.executableURL = openssl
            process.arguments =
                [
                    "s_server", "-accept", "127.0.0.1:0", "-www", "-Verify", "1", "-verify_return_error",
                    "-CAfile", server.certificateFile.path, "-cert", server.certificateFile.path,
                    "-key", server.keyFile.path,
                ] + options
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            process.standardInput = FileHandle.nullDevice
            try process.run()
            // "ACCEPT 127.0.0.1:40123", once it listens.
            var text = ""
            while !text.hasSuffix("\n") || !text.contains("ACCEPT ") {
                let part = output.fileHandleForReading.availableData
                guard !part.isEmpty else { throw TLSServer.Failure(text: "openssl s_server said \(text)") }
                text += String(decoding: part, as: UTF8.self)
            }
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") })
            address = "https://\(line.dropFirst("ACCEPT ".count))/"
        }

        deinit {
            process.terminate()
        }
    }
#endif
