import Foundation

/// The circuits of one queue, by host: pure, without lock or timer.
struct Circuits {
    /// What an attempt says about the host.
    enum Sign: Equatable {
        case alive
        case failing
        /// Nothing: it was cancelled, or never left.
        case none
    }

    private enum Phase {
        case closed
        /// From `until` on one probe may pass.
        case open(until: Moment, probe: ObjectIdentifier?)
    }

    private struct Circuit {
        var phase = Phase.closed
        var failures: Int
        var last: NetworkError
        var lastFailure: Moment

        var isProbed: Bool {
            if case .open(_, .some) = phase { return true }
            return false
        }
    }

    let breaker: CircuitBreaker
    /// Only hosts that failed last have an entry.
    private var circuits: [String: Circuit] = [:]
    private var tidiesAt = 64

    init(_ breaker: CircuitBreaker) {
        self.breaker = breaker
    }

    var count: Int { circuits.count }

    /// Why a request to the host could not go at an instant; nil if it could.
    ///
    /// - Parameter client: whose request it is, which may be the probe.
    func refusal(of host: String, at now: Moment, for client: ObjectIdentifier? = nil) -> NetworkError? {
        guard let circuit = circuits[host], case .open(let until, let probe) = circuit.phase else { return nil }
        return now >= until && (probe == nil || probe == client) ? nil : circuit.last
    }

    /// A request is about to go; if it goes to a host that may be tried again it is the probe.
    ///
    /// - Returns: why it may not go; nil if it may.
    mutating func admit(_ client: ObjectIdentifier, to host: String, now: Moment) -> NetworkError? {
        if let refusal = refusal(of: host, at: now, for: client) { return refusal }
        if case .open(let until, _)? = circuits[host]?.phase {
            circuits[host]?.phase = .open(until: until, probe: client)
        }
        return nil
    }

    /// A client that may be the probe ends its attempt without a sign of the host.
    mutating func release(_ client: ObjectIdentifier, host: String) {
        guard case .open(let until, client)? = circuits[host]?.phase else { return }
        circuits[host]?.phase = .open(until: until, probe: nil)
    }

    /// An attempt has ended. While the circuit is open only the probe counts: what comes else was sent before.
    ///
    /// - Returns: whether the circuit has been opened by it.
    mutating func ended(
        _ client: ObjectIdentifier, to host: String, sign: Sign, error: NetworkError?, now: Moment
    ) -> Bool {
        if case .open(_, let probe)? = circuits[host]?.phase, probe != client { return false }
        switch sign {
        case .none:
            release(client, host: host)
            return false
        case .alive:
            circuits[host] = nil
            return false
        case .failing:
            guard let error else { return false }
            return failed(host, with: error, now: now)
        }
    }

    private mutating func failed(_ host: String, with error: NetworkError, now: Moment) -> Bool {
        var circuit = circuits[host] ?? Circuit(failures: 0, last: error, lastFailure: now)
        circuit.failures += 1
        circuit.last = error
        circuit.lastFailure = now
        let opens = circuit.failures >= breaker.failures
        if opens { circuit.phase = .open(until: now.advanced(by: breaker.coolDown), probe: nil) }
        circuits[host] = circuit
        tidy(now: now)
        return opens
    }

    /// Forgets hosts that nobody has asked for long, so that many hosts that fail do not pile up.
    private mutating func tidy(now: Moment) {
        guard circuits.count > tidiesAt else { return }
        let age = max(breaker.coolDown, .seconds(60))
        circuits = circuits.filter { $0.value.lastFailure.advanced(by: age) > now || $0.value.isProbed }
        tidiesAt = max(64, 2 * circuits.count)
    }
}

extension NetworkError {
    /// What the failure of an attempt says about the host.
    var sign: Circuits.Sign {
        if let response { return response.statusCode >= 500 ? .failing : .alive }
        guard case .urlError(let error) = self else { return .none }
        switch error.code {
        case .timedOut, .networkConnectionLost, .badServerResponse, .cannotFindHost, .dnsLookupFailed,
            .cannotConnectToHost, .cannotParseResponse, .secureConnectionFailed, .serverCertificateUntrusted,
            .serverCertificateHasBadDate, .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot,
            .cannotDecodeContentData, .cannotDecodeRawData, .resourceUnavailable, .unknown:
            return .failing
        default:
            return .none
        }
    }
}
