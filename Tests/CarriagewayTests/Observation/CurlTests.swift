#if os(Linux) || os(macOS)
    import CarriagewayTesting
    import Foundation
    import Testing

    @testable import Carriageway

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    @Suite("cURL")
    struct CurlTests {
        /// Lets the shell read a command, and gives the words that it found, and what comes by standard input.
        private func read(_ command: String) throws -> (words: [String], input: Data) {
            let shell = ChildProcess()
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            let input = command.hasPrefix("printf") ? "cat >&2" : ":"
            // In a file: a command line has a limit, and the text is then read as it stands.
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).sh")
            let script = "curl() { printf '%s\\0' \"$@\"; \(input); }\n\(command)\n"
            try Data(script.utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            shell.arguments = [file.path]
            let (output, error) = (Pipe(), Pipe())
            shell.standardOutput = output
            shell.standardError = error
            try shell.run()
            let words = output.fileHandleForReading.readDataToEndOfFile()
            let piped = error.fileHandleForReading.readDataToEndOfFile()
            shell.waitUntilExit()
            #expect(shell.terminationStatus == 0)
            return (
                words.split(separator: 0, omittingEmptySubsequences: false).dropLast().map {
                    String(decoding: $0, as: UTF8.self)
                }, piped
            )
        }

        @Test("every character comes out of the shell as it went in")
        func quoting() throws {
            var text = (1...0x7F).map { String(UnicodeScalar($0)!) }.joined()
            text += "'''$HOME`id`\\n\r\n\"!%s\u{2028}äöü漢字🚲\u{301}--flag @file"
            var post = URLRequest(url: Made.url("https://example.com/a'b?c=$(id)&d='"))
            post.httpMethod = "POST"
            post.setValue("it's $HOME \"quoted\" \\ `id` é", forHTTPHeaderField: "X-Text")
            post.setValue("text/plain", forHTTPHeaderField: "Content-Type")
            post.httpBody = Data(text.utf8)
            let words = try read(post.curlCommand(showsBody: true)).words
            #expect(
                words == [
                    "--request", "POST", "--url", post.url?.absoluteString ?? "", "--header",
                    "Content-Type: text/plain", "--header", "X-Text: it's $HOME \"quoted\" \\ `id` é", "--data-raw",
                    text,
                ])
        }

        @Test("a body of any bytes comes whole")
        func binary() throws {
            var put = URLRequest(url: Made.url("https://example.com/"))
            put.httpMethod = "PUT"
            let body = Data((0...255).map { UInt8($0) } + [0x27, 0, 0x5C, 0x25, 0x0A])
            put.httpBody = body
            let (words, input) = try read(put.curlCommand(showsBody: true))
            #expect(words.suffix(2) == ["--data-binary", "@-"])
            #expect(input == body)
        }

        @Test("what is masked, what is left out, and the opt-out")
        func masking() throws {
            var request = URLRequest(url: Made.url("https://ada:pw@example.com/?token=t&a=b"))
            request.httpMethod = "PATCH"
            request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
            request.setValue("", forHTTPHeaderField: "X-Empty")
            request.httpBody = Data("secret".utf8)
            #expect(
                request.curlCommand == "curl --request 'PATCH' --url 'https://***@example.com/?token=***&a=b' "
                    + "--header 'Authorization: ***' --header 'X-Empty;' "
                    + "--header 'Content-Type: application/octet-stream' --data-raw '<6 bytes>'")
            #expect(
                request.curlCommand(masking: .none, showsBody: true)
                    == "curl --request 'PATCH' --url 'https://ada:pw@example.com/?token=t&a=b' "
                    + "--header 'Authorization: Bearer t' --header 'X-Empty;' "
                    + "--header 'Content-Type: application/octet-stream' --data-raw 'secret'")
        }

        @Test("HEAD, patterns in URLs, dot segments, streams, and headers that cannot be sent")
        func special() throws {
            var head = URLRequest(url: Made.url("https://example.com/a/../b"))
            head.httpMethod = "HEAD"
            head.setValue("a\r\nInjected: b", forHTTPHeaderField: "X-Bad")
            #expect(head.curlCommand == "curl --head --path-as-is --url 'https://example.com/a/../b'")
            #expect(Made.request("GET", "https://example.com/").curlCommand == "curl --url 'https://example.com/'")
            var stream = URLRequest(url: Made.url("https://[::1]/"))
            stream.httpMethod = "PUT"
            stream.httpBodyStream = InputStream(data: Data([1]))
            #expect(stream.curlCommand.hasPrefix("curl --request 'PUT' --globoff --url 'https://[::1]/'"))
            #expect(stream.curlCommand(showsBody: true).hasSuffix("--data-raw '<stream>'"))
        }
    }
#endif
