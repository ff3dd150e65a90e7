import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What queues and operations need of an ``Authentication``, whatever its credential is. Reports come on a queue of its
/// own, outside every lock.
protocol RequestAuthorizer: AnyObject, Sendable {
    /// Whether the credential goes to this URL.
    func covers(_ url: URL) -> Bool

    /// What is wrong with the authenticator itself, whatever the request.
    var fault: NetworkError? { get }

    /// How often the caller has set the credential: as whom requests are sent, however often it is renewed.
    var logIns: Int { get }

    /// Why no request gets the credential now; nil if it can be had, or waited for.
    var loss: NetworkError? { get }

    /// A request that needs the credential has its slot.
    func authorize(over session: NetworkSession, report: @escaping @Sendable (Authorization) -> Void)

    /// A request that carried the credential got a response.
    func review(
        _ response: HTTPURLResponse, _ data: Data, generation: Int, wasResent: Bool,
        report: @escaping @Sendable (CredentialReview) -> Void)

    /// A queue whose requests wait while the credential is renewed.
    func join(_ place: LaneMembership)
    func part(_ member: Lane.MemberID, of lane: Lane)
}

/// What becomes of a request that has its slot.
enum Authorization: Sendable {
    /// It is sent with this.
    case send(CredentialStamp)
    /// It goes back in line; there it is held until the credential has been renewed.
    case wait
    case fail(NetworkError)
}

/// What a response says of the credential.
enum CredentialReview: Sendable {
    /// The credential is not good any longer: the request goes back in line, for the next one.
    case sendAgain
    /// The response is the request's answer.
    case leave
}

/// A credential as it goes into the requests of one attempt.
struct CredentialStamp: Sendable {
    let generation: Int
    /// Puts the credential in, if it may go to the request's URL; says whether.
    let apply: @Sendable (inout URLRequest) -> Bool
}

/// A queue's membership in a lane.
struct LaneMembership: Sendable {
    let session: NetworkSession
    let member: Lane.MemberID

    var lane: Lane { session.lane }
}

/// Marks the tasks in which a credential is renewed, or stored: a request that is made there gets none of these
/// authentications, else it would wait for itself. That of another it gets: so one may be renewed with the other's help.
enum Renewing {
    @TaskLocal static var underWay: Set<ObjectIdentifier> = []
}
