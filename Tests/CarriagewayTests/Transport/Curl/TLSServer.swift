#if os(Linux)
    import CarriagewayTesting
    import Foundation
    import Glibc

    /// nginx with a certificate of its own, for tests; nil where nginx or openssl are not installed.
    ///
    /// It answers with the version of HTTP, that of TLS, the number of the connection, and what it thinks of the client's
    /// certificate, each on a line. At `oldPort` it speaks TLS 1.2 alone; at `demandingPort` it answers nobody who has no
    /// certificate that it signed, and its own is one.
    final class TLSServer: Sendable {
        struct Failure: Error {
            let text: String
        }

        let folder: TemporaryFolder
        let port: Int
        let oldPort: Int
        var demandingPort: Int { oldPort + 1 }
        /// In DER; for localhost and 127.0.0.1.
        let certificate: Data
        /// SHA-256 of the public key's SubjectPublicKeyInfo.
        let publicKey: Data
        let certificateFile: URL
        let keyFile: URL
        /// The same key in PEM, and both in PKCS 12, under the password "swordfish".
        let lockedKeyFile: URL
        let bundleFile: URL
        /// Signed by nobody that anybody knows, with its key in the same file.
        let strangerFile: URL
        private let process: ChildProcess

        init?() async throws {
            guard let nginx = Self.find("nginx"), Self.find("openssl") != nil else {
                print("skipped: nginx and openssl are needed for tests of TLS")
                return nil
            }
            folder = try TemporaryFolder()
            certificateFile = folder.url.appendingPathComponent("certificate.pem")
            keyFile = folder.url.appendingPathComponent("key.pem")
            lockedKeyFile = folder.url.appendingPathComponent("locked.pem")
            bundleFile = folder.url.appendingPathComponent("own.p12")
            strangerFile = folder.url.appendingPathComponent("stranger.pem")
            try await Self.shell(
                """
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem \
                    -out certificate.pem -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1
                openssl x509 -in certificate.pem -outform der -out certificate.der
                openssl x509 -in certificate.pem -pubkey -noout | openssl pkey -pubin -outform der \
                    | openssl dgst -sha256 -binary > pin
                openssl pkey -in key.pem -aes256 -passout pass:swordfish -out locked.pem
                openssl pkcs12 -export -in certificate.pem -inkey key.pem -passout pass:swordfish -out own.p12
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout stranger.key \
                    -out stranger.crt -days 2 -subj /CN=stranger
                cat stranger.crt stranger.key >stranger.pem
                """, in: folder.url)
            certificate = try Data(contentsOf: folder.url.appendingPathComponent("certificate.der"))
            publicKey = try Data(contentsOf: folder.url.appendingPathComponent("pin"))
            (process, port, oldPort) = try await Self.start(nginx, in: folder.url)
        }

        deinit {
            process.terminate()
        }

        private static func start(_ nginx: URL, in folder: URL) async throws -> (ChildProcess, Int, Int) {
            for _ in 0..<20 {
                let port = Int.random(in: 20_000...59_000)
                try configuration(folder.path, port).write(
                    to: folder.appendingPathComponent("nginx.conf"), atomically: true, encoding: .utf8)
                let process = ChildProcess()
                process.executableURL = nginx
                process.arguments = ["-p", folder.path, "-c", "nginx.conf", "-e", "stderr"]
                process.standardError = FileHandle.nullDevice
                try process.run()
                while process.isRunning {
                    if FileManager.default.fileExists(atPath: folder.appendingPathComponent("pid").path) {
                        return (process, port, port + 1)
                    }
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
            throw Failure(text: "nginx finds no port")
        }

        private static func configuration(_ folder: String, _ port: Int) -> String {
            let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
            let answer = "$server_protocol\\n$ssl_protocol\\n$connection\\n$ssl_client_verify"
            let common = """
                ssl_certificate \(folder)/certificate.pem; ssl_certificate_key \(folder)/key.pem;
                location / { default_type text/plain; return 200 "\(answer)"; }
                """
            return """
                daemon off; worker_processes 1; pid \(folder)/pid; error_log stderr crit;
                events { worker_connections 512; }
                http {
                    access_log off; \(paths.joined(separator: " "))
                    server { listen 127.0.0.1:\(port) ssl http2; listen 127.0.0.2:\(port) ssl http2;
                        ssl_protocols TLSv1.2 TLSv1.3; ssl_verify_client optional_no_ca; \(common) }
                    server { listen 127.0.0.1:\(port + 1) ssl; ssl_protocols TLSv1.2; \(common) }
                    server { listen 127.0.0.1:\(port + 2) ssl http2; ssl_verify_client on;
                        ssl_client_certificate \(folder)/certificate.pem; \(common) }
                }
                """
        }

        private static func shell(_ script: String, in folder: URL) async throws {
            let process = ChildProcess()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-ec", "cd \"$0\"\n\(script)", folder.path]
            process.standardError = FileHandle.nullDevice
            let status = try await withCheckedThrowingContinuation { continuation in
                process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
                do { try process.run() } catch { continuation.resume(throwing: error) }
            }
            guard status == 0 else { throw Failure(text: "openssl ended with \(status)") }
        }

        static func find(_ name: String) -> URL? {
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin"]
            return folders.map { URL(fileURLWithPath: $0).appendingPathComponent(name) }
                .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        }
    }
#endif
