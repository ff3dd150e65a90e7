import CarriagewayTesting
import Foundation
import Testing

@testable import Carriageway

/// What needs a process, or a network, of its own: a short run of the fuzzer, large bodies in little memory, a bad network.
/// One after the other, so that the other tests have something of the machine.
@Suite(.serialized)
struct TrialTests {
    @Test("random responses: no trap but the known one of URLSession, no hang", arguments: Wire.all)
    func fuzz(wire: Wire) async throws {
        let trial = try #require(TrialProcess.executable())
        let outcome = try await TrialProcess.run(
            trial.path, ["fuzz", "--inputs", "2000", "--transport", wire.rawValue])
        #expect(outcome.status == 0, "\(outcome.text)")
    }

    #if os(Linux)
        @Test(
            "a slow reader of a gigabyte takes little memory: the network waits, or the stream ends with a clear error",
            arguments: Wire.all)
        func slowReader(wire: Wire) async throws {
            let trial = try #require(TrialProcess.executable())
            let arguments = ["slow-reader", "--chunks", "5000", "--transport", wire.rawValue]
            let outcome = try await TrialProcess.run(trial.path, arguments)
            #expect(outcome.status == 0, "\(outcome.text)")
            #expect(outcome.text.contains("ended with") == (wire == .urlSession), "\(outcome.text)")
        }

        @Test("10,000 small files, 32 in flight: all there, no descriptor is left open", arguments: Wire.all)
        func smallFiles(wire: Wire) async throws {
            let trial = try #require(TrialProcess.executable())
            let outcome = try await TrialProcess.run(trial.path, ["small-files", "--transport", wire.rawValue])
            #expect(outcome.status == 0, "\(outcome.text)")
        }

        /// Why there can be no namespace here; nil if there can.
        private static let obstacle: String? = {
            let check = ChildProcess()
            check.executableURL = URL(fileURLWithPath: "/bin/sh")
            check.arguments = ["-c", "unshare -n -m sh -c 'ip tuntap add dev t0 mode tun' >/dev/null 2>&1"]
            guard (try? check.run()) != nil else { return "no shell" }
            check.waitUntilExit()
            return check.terminationStatus == 0 ? nil : "no network namespace with a TUN device (unshare, ip, root)"
        }()

        @Test(
            "5 % loss, 200 ms delay, a link that goes down and comes back, a port that is silent",
            .enabled(if: obstacle == nil, "\(obstacle ?? "")"), arguments: Wire.all)
        func badNetwork(wire: Wire) async throws {
            let trial = try #require(TrialProcess.executable())
            let folder = try TemporaryFolder()
            // The device throws away what is IPv6, so of these two addresses one is silent.
            let hosts = try folder.file(
                "hosts", Data("127.0.0.1 localhost\n2001:db8:9::2 both.test\n10.9.0.2 both.test\n".utf8))
            let script = """
                ip link set lo up && ip tuntap add dev bad0 mode tun && ip addr add 10.9.0.1/24 dev bad0 \
                    && ip link set bad0 up && { ip -6 addr add 2001:db8:9::1/64 dev bad0 nodad || true; } \
                    && mount --bind "$3" /etc/hosts && exec "$1" network --transport "$2"
                """
            let outcome = try await TrialProcess.run(
                "/usr/bin/unshare", ["-n", "-m", "sh", "-c", script, "sh", trial.path, wire.rawValue, hosts.path])
            #expect(outcome.status == 0, "\(outcome.text)")
        }
    #endif
}
