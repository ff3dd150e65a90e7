/// What an endpoint makes of a response without body: after 204, 205 or 304, for HEAD, or because the server sent none.
public enum EmptyBodyRule<Value: Sendable>: Sendable {
    /// By the type: an optional is nil; `Void`, `Data` and ``NoContent`` are empty; of others it is
    /// ``NetworkError/noResponseData(_:)``.
    case byType
    /// This value.
    case value(Value)
    /// ``NetworkError/noResponseData(_:)``, whatever the type.
    case failure
}
