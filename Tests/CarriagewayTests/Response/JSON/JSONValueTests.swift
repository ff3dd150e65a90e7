import Carriageway
import Foundation
import Testing

struct JSONValueTests {
    private let document: JSONValue = [
        "user": ["name": "Ada", "tags": ["a", nil, true], "height": 1.5], "count": 3, "note": nil,
    ]

    @Test("parity: untyped JSON is read by names and indices; what is not there is nil, and never a trap")
    func subscripts() {
        #expect(document["user"]["name"].string == "Ada")
        #expect(document["user"]?["tags"]?[2]?.bool == true)
        #expect(document["user"]["tags"][0] == "a")
        #expect(document["user"]["height"].double == 1.5)
        #expect(document["count"].int == 3)
        #expect(document["count"]["x"][7]["y"].string == nil)
        for index in [-1, 3, Int.min, Int.max] { #expect(document["user"]["tags"][index] == nil) }
        #expect(document[0] == nil && document["user"]["tags"]["0"] == nil)
    }

    @Test("null and nothing are told apart where that matters")
    func nulls() {
        #expect(document["note"] != nil && document["nothing"] == nil)
        #expect(document["note"].isNull && document["nothing"].isNull && !document["count"].isNull)
        #expect(document["user"]["tags"][1] == JSONValue.null)
    }

    @Test("readers take their own kind only")
    func kinds() {
        let values: [JSONValue] = [nil, true, 1, "1", [1], ["a": 1]]
        #expect(values.map { $0.bool != nil } == [false, true, false, false, false, false])
        #expect(values.map { $0.int != nil } == [false, false, true, false, false, false])
        #expect(values.map { $0.number != nil } == [false, false, true, false, false, false])
        #expect(values.map { $0.string != nil } == [false, false, false, true, false, false])
        #expect(values.map { $0.array != nil } == [false, false, false, false, true, false])
        #expect(values.map { $0.object != nil } == [false, false, false, false, false, true])
        #expect(values.map(\.isNull) == [true, false, false, false, false, false])
    }

    @Test("setting adds, replaces and removes")
    func setting() {
        var value: JSONValue = nil
        value["a"] = [1, 2]
        value["b"] = "x"
        value["b"] = nil
        value["c"] = .some(.null)
        value["a"]?[0] = 5
        value["a"]?[9] = 6
        #expect(value == ["a": [5, 2], "c": nil])
        value["a"]?[0] = nil
        #expect(value["a"] == [2])
        var number: JSONValue = 1
        number["a"] = 1
        number[0] = 1
        #expect(number == 1)
    }

    @Test("integers of 64 bits, signed or not, and decimals keep every digit")
    func exactness() throws {
        let text = """
            {"d":0.1,"i":-9223372036854775808,"m":12345678901234567890.123456789012345678,"u":18446744073709551615}
            """
        let value = try JSONValue(parsing: text)
        #expect(value["i"].int64 == .min && value["i"].uint64 == nil)
        #expect(value["u"].uint64 == .max && value["u"].int64 == nil)
        #expect(value["d"].decimal == Decimal(string: "0.1"))
        #expect(value["m"].decimal == Decimal(string: "12345678901234567890.123456789012345678"))
        #expect(value.description == text)
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) == value)
        #expect(try JSONValue(parsing: JSONEncoder().encode(value)) == value)
        #expect(JSONValue(UInt64.max).description == "18446744073709551615")
        #expect(JSONValue(Int64.min).int64 == .min)
        #expect(JSONValue(Decimal(string: "-1e-20") ?? 0).number == JSONNumber("-1E-20"))
    }

    @Test("numbers are equal by what they are, and whole ones are integers however they are written")
    func numbers() {
        #expect(JSONNumber("1") == JSONNumber("10e-1") && JSONNumber("0") == JSONNumber("-0.00"))
        #expect(Set(["1", "1.0", "1e0", "0.1e1"].map(JSONNumber.init)).count == 1)
        #expect(JSONNumber("1") != JSONNumber("1.0000000000000000000000001"))
        #expect(JSONNumber("1e3")?.integer() == 1000 && JSONNumber("1.5")?.integer(as: Int.self) == nil)
        #expect(JSONNumber("300")?.integer(as: UInt8.self) == nil && JSONNumber("-1")?.integer(as: UInt.self) == nil)
        #expect(JSONNumber("1e999")?.double == nil && JSONNumber("1e999")?.decimal == nil)
        #expect(JSONNumber("1e-9223372036854775808")?.integer(as: Int.self) == nil)
        #expect(JSONNumber("1e99999999999999999999") != JSONNumber("1e99999999999999999998"))
        #expect(JSONNumber("340282366920938463463374607431768211456")?.decimal == nil)
        for text in ["", " 1", "1 ", "+1", "01", "1.", "NaN", "0x1", "\"1\"", "[]"] { #expect(JSONNumber(text) == nil) }
        #expect(JSONValue(Double.infinity).isNull && JSONValue(Double.nan).isNull && JSONValue(Decimal.nan).isNull)
    }

    @Test("the depth is limited, by 512 or by what the caller says, and no depth overflows a stack")
    func depth() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try JSONValue(parsing: nested(512))
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: nested(513), maxDepth: 10_000) }
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: nested(1_000_000)) }
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: String(repeating: "{\"a\":", count: 1_000_000)) }
        _ = try JSONValue(parsing: nested(3), maxDepth: 3)
        let error = #expect(throws: JSONParseError.self) { try JSONValue(parsing: nested(4), maxDepth: 3) }
        #expect(error?.offset == 3)
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: "[]", maxDepth: -1) }
        #expect(try JSONValue(parsing: "1", maxDepth: 0) == 1)
    }

    @Test("errors say where and what, without the text itself")
    func errors() {
        let error = #expect(throws: JSONParseError.self) { try JSONValue(parsing: #"{"secret": hunter2}"#) }
        #expect(error?.localizedDescription == "malformed JSON at byte 11: this begins no value")
    }

    @Test("written in one line with names in order of their code points, or indented")
    func writing() {
        let value: JSONValue = ["b": [1, [], [:]], "a": "\u{1}\"\\/\n", "ä": 1.25, "Z": false]
        #expect(value.description == #"{"Z":false,"a":"\u0001\"\\/\n","b":[1,[],{}],"ä":1.25}"#)
        let pretty = String(decoding: (["a": [1, ["b": nil]]] as JSONValue).data(isPretty: true), as: UTF8.self)
        #expect(pretty == "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ]\n}")
    }

    @Test("from and to types of one's own")
    func types() throws {
        struct User: Codable, Equatable {
            var name: String
            var extra: JSONValue?
        }
        let user = User(name: "Ada", extra: ["x": [1.5, nil]])
        let value = try JSONValue(encoding: user)
        #expect(value["extra"]["x"][0].double == 1.5)
        #expect(try value.decoded(as: User.self) == user)
        #expect(throws: DecodingError.self) { try JSONValue("x").decoded(as: User.self) }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(JSONValue(parsing: "[1e999]")) }
    }

    @Test("a large array and a large object are read in a time that grows as they do")
    func large() throws {
        let elements = (0..<100_000).map { "\($0)" }.joined(separator: ",")
        #expect(try JSONValue(parsing: "[\(elements)]")[99_999].int == 99_999)
        let members = (0..<50_000).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        let object = try JSONValue(parsing: "{\(members)}")
        #expect(object["k49999"].int == 49_999 && object.object?.count == 50_000)
    }
}
