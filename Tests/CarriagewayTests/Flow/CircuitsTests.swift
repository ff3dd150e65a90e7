import Foundation
import Testing

@testable import Carriageway

/// Clients, and a clock that stands until told.
private final class CircuitRun {
    final class Client {}

    var circuits: Circuits
    var now = Made.moment
    let clients = (0..<6).map { _ in Client() }

    init(failures: Int = 3, coolDown: Duration = .seconds(30)) {
        circuits = Circuits(CircuitBreaker(failures: failures, coolDown: coolDown))
    }

    func identifier(_ client: Int) -> ObjectIdentifier { ObjectIdentifier(clients[client]) }

    func admits(_ client: Int, _ host: String = "a") -> Bool {
        circuits.admit(identifier(client), to: host, now: now) == nil
    }

    /// Whether it would be let into the line.
    func isOpen(_ host: String = "a") -> Bool { circuits.refusal(of: host, at: now) != nil }

    func ends(_ client: Int, _ sign: Circuits.Sign, _ host: String = "a") -> Bool {
        circuits.ended(identifier(client), to: host, sign: sign, error: Made.urlError(.timedOut), now: now)
    }

    func release(_ client: Int) { circuits.release(identifier(client), host: "a") }

    func pass(_ time: Duration) { now = now.advanced(by: time) }

    /// Three failures in a row.
    func open() {
        for client in 0..<3 { _ = ends(client, .failing) }
    }
}

@Suite("Circuits")
struct CircuitsTests {
    @Test("so many failures in a row open the circuit, of that host only")
    func opens() {
        let run = CircuitRun()
        #expect(!run.ends(0, .failing))
        #expect(!run.ends(1, .failing))
        #expect(!run.ends(1, .alive))
        #expect(run.circuits.count == 0)
        #expect(!run.ends(0, .failing))
        #expect(!run.ends(0, .none))
        #expect(!run.ends(0, .failing))
        #expect(!run.isOpen())
        #expect(run.ends(0, .failing))
        #expect(run.isOpen())
        #expect(!run.admits(4))
        #expect(run.admits(4, "b"))
    }

    @Test("after the cool-down one probe is let through, not a flood; its success closes the circuit")
    func oneProbe() {
        let run = CircuitRun()
        run.open()
        run.pass(.milliseconds(29_999))
        #expect(!run.admits(0))
        run.pass(.milliseconds(1))
        #expect(!run.isOpen())
        #expect(run.admits(0))
        for client in 1..<6 { #expect(!run.admits(client)) }
        #expect(run.isOpen())
        #expect(!run.ends(0, .alive))
        #expect(run.circuits.count == 0)
        for client in 1..<6 { #expect(run.admits(client)) }
    }

    @Test("the probe's failure begins a new cool-down, and is one more opening")
    func probeFails() {
        let run = CircuitRun()
        run.open()
        run.pass(.seconds(31))
        #expect(run.admits(0))
        #expect(run.ends(0, .failing))
        run.pass(.seconds(29))
        #expect(!run.admits(1))
        run.pass(.seconds(1))
        #expect(run.admits(1))
    }

    @Test("a probe that is cancelled, or never leaves, lets another one probe", arguments: [true, false])
    func probeCancelled(byRelease: Bool) {
        let run = CircuitRun()
        run.open()
        run.pass(.seconds(30))
        #expect(run.admits(0))
        run.release(1)
        #expect(!run.admits(1))
        if byRelease { run.release(0) } else { _ = run.ends(0, .none) }
        #expect(!run.isOpen())
        #expect(run.admits(1))
        #expect(!run.admits(0))
    }

    @Test("what was sent before the circuit opened changes nothing when it ends")
    func lateEnds() {
        let run = CircuitRun()
        run.open()
        #expect(!run.ends(3, .alive))
        #expect(run.isOpen())
        run.pass(.seconds(30))
        #expect(run.admits(0))
        #expect(!run.ends(3, .failing))
        #expect(!run.ends(0, .alive))
        #expect(!run.isOpen())
    }

    @Test("the probe is admitted again after it went back to its place in line")
    func probeAgain() {
        let run = CircuitRun()
        run.open()
        run.pass(.seconds(30))
        #expect(run.admits(0))
        #expect(run.admits(0))
        #expect(!run.admits(1))
    }

    @Test("the probe is not refused because of itself")
    func probeAsks() {
        let run = CircuitRun()
        run.open()
        run.pass(.seconds(30))
        #expect(run.admits(3))
        #expect(run.circuits.refusal(of: "a", at: run.now, for: run.identifier(3)) == nil)
        #expect(run.circuits.refusal(of: "a", at: run.now, for: run.identifier(4)) != nil)
        #expect(run.isOpen())
    }

    @Test("hosts that failed long ago are forgotten")
    func manyHosts() {
        let run = CircuitRun()
        for number in 0..<10_000 {
            _ = run.ends(0, .failing, "host \(number)")
            run.pass(.seconds(1))
        }
        #expect(run.circuits.count < 200)
    }

    @Test("what counts as a failure of the host")
    func signs() {
        for code in [URLError.Code.timedOut, .cannotConnectToHost, .networkConnectionLost, .secureConnectionFailed] {
            #expect(Made.urlError(code).sign == .failing)
        }
        for code in [URLError.Code.notConnectedToInternet, .cancelled, .badURL, .httpTooManyRedirects] {
            #expect(Made.urlError(code).sign == .none)
        }
        for status in [500, 502, 503, 504, 599] { #expect(Made.status(status).sign == .failing) }
        for status in [400, 401, 404, 408, 425, 429] { #expect(Made.status(status).sign == .alive) }
        #expect(NetworkError.cancelled.sign == .none)
        #expect(NetworkError.deadlineExceeded.sign == .none)
        #expect(CircuitBreaker(failures: -3, coolDown: .seconds(-1)) == CircuitBreaker(failures: 1, coolDown: .zero))
    }

    @Test("a random walk: never two probes, and the circuit is what a list of the last ends says")
    func randomWalk() {
        RandomWalk.run("circuits") { steps, random in
            let run = CircuitRun()
            var row = 0
            var openUntil: Moment?
            var probe: Int?
            for step in 0..<steps {
                let client = random.below(6)
                switch random.below(8) {
                case 0..<3:
                    let mayGo = openUntil.map { run.now >= $0 && (probe == nil || probe == client) } ?? true
                    try demand(run.admits(client) == mayGo, "step \(step): admits \(!mayGo)")
                    if mayGo, openUntil != nil { probe = client }
                case 3..<6:
                    let sign: Circuits.Sign = [.alive, .failing, .failing, .none][random.below(4)]
                    var opens = false
                    if openUntil == nil || probe == client {
                        if openUntil != nil { probe = nil }
                        switch sign {
                        case .alive: (row, openUntil) = (0, nil)
                        case .failing:
                            row += 1
                            opens = row >= 3
                            if opens { openUntil = run.now.advanced(by: .seconds(30)) }
                        case .none: break
                        }
                    }
                    try demand(run.ends(client, sign) == opens, "step \(step): opens \(!opens)")
                case 6:
                    run.release(client)
                    if probe == client { probe = nil }
                default: run.pass(.seconds(random.below(20)))
                }
                let isOpen = openUntil.map { run.now < $0 || probe != nil } ?? false
                try demand(run.isOpen() == isOpen, "step \(step): open \(!isOpen)")
            }
        }
    }
}
