/// Where an operation stands in line, or has its slot: on its queue's lane, or, without a queue, just counted among the
/// session's connections to the host.
struct LinePlace {
    let queue: NetworkQueue?
    let session: NetworkSession
    let host: String
    var round: Int
    var entered: Moment

    func leave(_ operation: NetworkOperation) {
        if let queue {
            queue.session.lane.leave(operation, round: round)
        } else {
            session.lane.vacate(host: host)
        }
    }
}
