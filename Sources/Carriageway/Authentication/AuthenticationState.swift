/// The credential, its generation, and the one renewal that may be in flight: pure, without lock, timer or I/O.
///
/// An event is a mutating method; it returns what is to be done once the lock is released. Word of a renewal that is over
/// changes nothing. Nobody is listed as waiting: who is told to wait stands in line at a lane, and the lanes are open
/// again when ``isHeld`` is false.
struct AuthenticationState<Credential: Sendable> {
    enum Answer {
        /// Send with this credential.
        case send(Credential, generation: Int)
        /// Stand in line until the renewal is over, then ask again.
        case wait
        case fail(any Error)
    }

    enum Action {
        /// The lanes are held, or open, as ``isHeld`` says now.
        case updateHolds
        /// Ask the authenticator for a new credential.
        case renew(Credential, renewal: Int)
        /// Tell ``deadlineCame(renewal:now:)`` at this instant.
        case armDeadline(ContinuousClock.Instant, renewal: Int)
        /// Tell ``woke(renewal:)`` at this instant.
        case sleep(until: ContinuousClock.Instant, renewal: Int)
        /// Let the caller store the new credential, then tell ``stored(renewal:now:)``.
        case store(Credential, renewal: Int)
        /// Tell the caller that the credential was refused.
        case signOut(any Error)
    }

    /// Why a renewal failed.
    struct Failure: Error {
        let error: any Error
        /// The credential is worth nothing any longer.
        let isFinal: Bool
        /// How long the next try waits, as a server asked for; nil for the usual wait.
        var wait: Duration?
    }

    private enum Step: Equatable {
        case trying
        case sleeping
        case storing
    }

    private struct Renewal {
        let number: Int
        var tries = 1
        var step = Step.trying
        var deadline: ContinuousClock.Instant
        var received: Credential?
    }

    /// One renewal, for the limit.
    private struct Past {
        let started: ContinuousClock.Instant
        /// The generation it led to, if it succeeded.
        var generation: Int?
        var isAccepted = false
        var isUseless = false

        /// A renewal whose credential a server has taken is none of a loop, unless a request failed with it again.
        var counts: Bool { !isAccepted || isUseless }
    }

    private(set) var credential: Credential?
    /// Counts the credentials; each is another one.
    private(set) var generation = 0
    /// How often the caller has set a credential, or none.
    private(set) var logIns = 0
    private var renewal: Renewal?
    private var renewals = 0
    /// A server has turned the current credential down.
    private var isDead = false
    /// When the current credential came from a renewal.
    private var received: ContinuousClock.Instant?
    /// Why there is no credential any longer.
    private var refusal: (any Error)?
    /// The last renewal found nobody to answer.
    private var outage: (error: any Error, until: ContinuousClock.Instant)?
    private var history: [Past] = []

    init(credential: Credential?) {
        self.credential = credential
    }

    /// Whether requests that need the credential are to be kept in line.
    var isHeld: Bool { renewal != nil }
    /// Why a request that waits for the credential gets none; nil if there is one, or one may be had.
    func loss(at now: ContinuousClock.Instant) -> (any Error)? {
        guard renewal == nil else { return nil }
        guard credential != nil else { return refusal ?? AuthenticationError.missingCredential }
        return outage.flatMap { now < $0.until ? $0.error : nil }
    }

    /// The renewal in flight.
    var renewalInFlight: Int? { renewal?.number }
}

/// The numbers of a renewal.
enum RenewalRule {
    /// How often the authenticator is asked before a renewal fails for want of an answer.
    static let tries = 3
    /// How long a renewal may take in all, storing the credential not included.
    static let timeout = Duration.seconds(30)
    /// How long nobody asks again after a renewal that found no answer; also how long a credential that was just received
    /// is used without looking at its expiry.
    static let rest = Duration.seconds(1)
    /// At most so many renewals in a period.
    static let limit = 5
    static let period = Duration.seconds(30)
    /// How often one operation is sent again for a new credential.
    static let resends = 2

    /// The wait before the second and the third try.
    static func wait(afterTry number: Int) -> Duration { .milliseconds(500) * number }
}

// MARK: - Events

extension AuthenticationState {
    /// A request has its slot and wants to be sent.
    ///
    /// - Parameter expiring: the generation of the credential that the authenticator said is to be renewed, if it did.
    mutating func authorize(expiring: Int?, now: ContinuousClock.Instant) -> (Answer, [Action]) {
        guard renewal == nil else { return (.wait, []) }
        guard let credential else { return (.fail(refusal ?? AuthenticationError.missingCredential), []) }
        guard isDead || expiring == generation && !isFresh(now) else {
            return (.send(credential, generation: generation), [])
        }
        if let outage, now < outage.until { return (.fail(outage.error), []) }
        guard mayRenew(ahead: !isDead, now: now) else {
            return isDead
                ? (.fail(outage?.error ?? AuthenticationError.tooManyRenewals), [])
                : (.send(credential, generation: generation), [])
        }
        return (.wait, begin(with: credential, now: now))
    }

    /// A server turned down a request that carried the credential of `generation`.
    ///
    /// - Parameter wasResent: it had been turned down before, with an older one.
    /// - Returns: whether sending the request again may help.
    mutating func rejected(_ generation: Int, wasResent: Bool, now: ContinuousClock.Instant) -> Bool {
        if wasResent, let index = history.firstIndex(where: { $0.generation == generation }) {
            history[index].isUseless = true
        }
        guard generation == self.generation, credential != nil, !isDead else { return true }
        // What a renewal in flight brings may be good; if it brings nothing, the credential is known to be dead.
        guard renewal != nil || mayRenew(ahead: false, now: now) else { return false }
        isDead = true
        return true
    }

    /// A server took a request that carried the credential of `generation`.
    mutating func accepted(_ generation: Int) {
        guard generation == self.generation, let index = history.indices.last,
            history[index].generation == generation
        else { return }
        history[index].isAccepted = true
    }

    /// The caller sets a credential, or none. A renewal in flight comes to nothing.
    mutating func set(_ credential: Credential?) -> [Action] {
        let isRenewing = renewal != nil
        logIns += 1
        renewal = nil
        take(credential)
        received = nil
        history = []
        return isRenewing ? [.updateHolds] : []
    }

    /// The authenticator has answered.
    mutating func tried(_ result: Result<Credential, Failure>, renewal number: Int, now: ContinuousClock.Instant)
        -> [Action]
    {
        guard var current = renewal, current.number == number, current.step == .trying else { return [] }
        switch result {
        case .success(let credential):
            current.step = .storing
            current.received = credential
            renewal = current
            return [.store(credential, renewal: number)]
        case .failure(let failure):
            if failure.isFinal { return refuse(failure.error) }
            let wake = now.advanced(by: failure.wait ?? RenewalRule.wait(afterTry: current.tries))
            guard current.tries < RenewalRule.tries, wake < current.deadline else {
                return giveUp(failure.error, now: now)
            }
            current.step = .sleeping
            renewal = current
            return [.sleep(until: wake, renewal: number)]
        }
    }

    /// The wait before the next try is over.
    mutating func woke(renewal number: Int) -> [Action] {
        guard let credential, var current = renewal, current.number == number, current.step == .sleeping else {
            return []
        }
        current.step = .trying
        current.tries += 1
        renewal = current
        return [.renew(credential, renewal: number)]
    }

    /// The caller has stored the new credential: from now on it is the one.
    mutating func stored(renewal number: Int, now: ContinuousClock.Instant) -> [Action] {
        guard let current = renewal, current.number == number, let credential = current.received else { return [] }
        renewal = nil
        take(credential)
        received = now
        if let last = history.indices.last { history[last].generation = generation }
        return [.updateHolds]
    }

    /// The renewal has taken too long. One that has its credential, which is being stored, goes on.
    mutating func deadlineCame(renewal number: Int, now: ContinuousClock.Instant) -> [Action] {
        guard let current = renewal, current.number == number, current.step != .storing else { return [] }
        return giveUp(AuthenticationError.unreachable("the credential was not renewed in time"), now: now)
    }
}

// MARK: - Transitions

extension AuthenticationState {
    private mutating func begin(with credential: Credential, now: ContinuousClock.Instant) -> [Action] {
        renewals += 1
        let deadline = now.advanced(by: RenewalRule.timeout)
        renewal = Renewal(number: renewals, deadline: deadline)
        history.append(Past(started: now))
        return [
            .updateHolds, .armDeadline(deadline, renewal: renewals), .renew(credential, renewal: renewals),
        ]
    }

    private mutating func take(_ credential: Credential?) {
        self.credential = credential
        generation += 1
        isDead = false
        refusal = nil
        outage = nil
    }

    private mutating func refuse(_ error: any Error) -> [Action] {
        renewal = nil
        take(nil)
        refusal = error
        return [.signOut(error), .updateHolds]
    }

    private mutating func giveUp(_ error: any Error, now: ContinuousClock.Instant) -> [Action] {
        renewal = nil
        outage = (error, now.advanced(by: RenewalRule.rest))
        return [.updateHolds]
    }

    private func isFresh(_ now: ContinuousClock.Instant) -> Bool {
        received.map { now < $0.advanced(by: RenewalRule.rest) } ?? false
    }

    /// Whether a further renewal keeps within the limit. Those ahead of time all count: nobody has turned anything down.
    private mutating func mayRenew(ahead: Bool, now: ContinuousClock.Instant) -> Bool {
        history.removeAll { $0.started.advanced(by: RenewalRule.period) <= now }
        return history.count { ahead || $0.counts } < RenewalRule.limit
    }
}
