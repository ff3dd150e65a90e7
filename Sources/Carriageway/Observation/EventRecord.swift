import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What is noted of an event where it happens; the event is made of it on the observer's queue.
struct EventRecord {
    let operation: Int
    let kind: NetworkEvent.Kind
    let request: URLRequest?
    let attempt: Int
    let moment: Moment
    let date: Date

    func event(masking mask: SecretMask) -> NetworkEvent {
        NetworkEvent(
            operation: operation, kind: kind, method: request.map { $0.httpMethod ?? "GET" } ?? "",
            url: request?.url.map { mask.masked($0) } ?? "", attempt: attempt, instant: moment.instant, date: date)
    }
}
