import Foundation

/// A part of a value on its way into a form: filled by the containers that `Encodable` asks for.
final class FormNode {
    enum Content {
        case nothing
        case text(String)
        case elements([FormNode])
        case members([(name: String, node: FormNode)])
    }

    var content = Content.nothing
    /// Whether it is a dictionary, whose order means nothing.
    var isDictionary = false
    /// Where the members are, by name.
    private var places: [String: Int] = [:]

    static func encode(_ value: some Encodable, with encoder: FormEncoder, at path: [any CodingKey]) throws -> FormNode
    {
        let node = FormNode()
        switch value {
        case let date as Date: node.content = .text(encoder.text(date))
        case let url as URL: node.content = .text(url.absoluteString)
        case let data as Data: node.content = .text(data.base64EncodedString())
        case let decimal as Decimal: node.content = .text("\(decimal)")
        default:
            try value.encode(to: NodeEncoder(node: node, encoder: encoder, codingPath: path))
            node.isDictionary = value is [AnyHashable: Any]
        }
        return node
    }

    /// Becomes what the other is.
    func take(_ other: FormNode) {
        content = other.content
        isDictionary = other.isDictionary
        places = other.places
    }

    func append(_ element: FormNode) {
        guard case .elements(var elements) = content else {
            content = .elements([element])
            return
        }
        // Nobody else holds the array then, so that it is not copied.
        content = .nothing
        elements.append(element)
        content = .elements(elements)
    }

    func set(_ node: FormNode, as name: String) {
        guard case .members(var members) = content else {
            content = .members([(name, node)])
            places = [name: 0]
            return
        }
        content = .nothing
        if places[name] != nil {
            // The one that was encoded last is at the end.
            members.removeAll { $0.name == name }
            for (place, member) in members.enumerated() { places[member.name] = place }
        }
        places[name] = members.count
        members.append((name, node))
        content = .members(members)
    }
}

private struct NodeEncoder: Encoder {
    let node: FormNode
    let encoder: FormEncoder
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any] = [:]

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .nothing = node.content { node.content = .members([]) }
        return KeyedEncodingContainer(Members(node: node, encoder: encoder, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .nothing = node.content { node.content = .elements([]) }
        return Elements(node: node, encoder: encoder, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        Single(node: node, encoder: encoder, codingPath: codingPath)
    }
}

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: FormNode
    let encoder: FormEncoder
    let codingPath: [any CodingKey]

    func encodeNil(forKey key: Key) {}

    func encode(_ value: some Encodable, forKey key: Key) throws {
        node.set(try FormNode.encode(value, with: encoder, at: codingPath + [key]), as: key.stringValue)
    }

    private func nested(_ key: any CodingKey) -> NodeEncoder {
        let child = FormNode()
        node.set(child, as: key.stringValue)
        return NodeEncoder(node: child, encoder: encoder, codingPath: codingPath + [key])
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key)
        -> KeyedEncodingContainer<Nested>
    { nested(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { nested(key).unkeyedContainer() }

    func superEncoder() -> any Encoder { nested(SuperKey()) }

    func superEncoder(forKey key: Key) -> any Encoder { nested(key) }
}

private struct Elements: UnkeyedEncodingContainer {
    let node: FormNode
    let encoder: FormEncoder
    let codingPath: [any CodingKey]

    var count: Int {
        guard case .elements(let elements) = node.content else { return 0 }
        return elements.count
    }

    func encodeNil() {}

    func encode(_ value: some Encodable) throws {
        node.append(try FormNode.encode(value, with: encoder, at: codingPath))
    }

    private func nested() -> NodeEncoder {
        let child = FormNode()
        node.append(child)
        return NodeEncoder(node: child, encoder: encoder, codingPath: codingPath)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        nested().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }

    func superEncoder() -> any Encoder { nested() }
}

private struct Single: SingleValueEncodingContainer {
    let node: FormNode
    let encoder: FormEncoder
    let codingPath: [any CodingKey]

    func encodeNil() {}
    func encode(_ value: Bool) { node.content = .text(encoder.text(value)) }
    func encode(_ value: String) { node.content = .text(value) }
    func encode(_ value: Double) { node.content = .text(FormEncoder.text(value)) }
    func encode(_ value: Float) {
        node.content = .text(value == value.rounded() ? FormEncoder.text(Double(value)) : "\(value)")
    }
    func encode(_ value: Int) { put(value) }
    func encode(_ value: Int8) { put(value) }
    func encode(_ value: Int16) { put(value) }
    func encode(_ value: Int32) { put(value) }
    func encode(_ value: Int64) { put(value) }
    func encode(_ value: UInt) { put(value) }
    func encode(_ value: UInt8) { put(value) }
    func encode(_ value: UInt16) { put(value) }
    func encode(_ value: UInt32) { put(value) }
    func encode(_ value: UInt64) { put(value) }

    func encode(_ value: some Encodable) throws {
        node.take(try FormNode.encode(value, with: encoder, at: codingPath))
    }

    private func put(_ number: some BinaryInteger) { node.content = .text(String(number)) }
}

private struct SuperKey: CodingKey {
    let stringValue = "super"
    let intValue: Int? = nil

    init() {}
    init?(stringValue: String) { return nil }
    init?(intValue: Int) { return nil }
}
