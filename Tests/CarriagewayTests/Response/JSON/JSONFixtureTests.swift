import Carriageway
import Foundation
import Testing

/// Against Python's `json`: `Tests/Fixtures/make-json.py` made the inputs and what they mean.
struct JSONFixtureTests {
    @Test("well-formed, malformed, deep, big numbers, halves of pairs, bytes that are no text: as Python's json has it")
    func python() throws {
        let cases = try Fixture.table("json.tsv")
        #expect(cases.count > 800)
        for columns in cases {
            try #require(columns.count == 3)
            let data = try #require(Data(base64Encoded: columns[1]))
            let value = try? JSONValue(parsing: data)
            #expect(value.map(Self.shape) ?? "!" == columns[2], "\(columns[0])")
        }
    }

    @Test("what is written is read as the same value, plain and pretty")
    func roundTrip() throws {
        for columns in try Fixture.table("json.tsv") where columns[2] != "!" {
            let value = try JSONValue(parsing: #require(Data(base64Encoded: columns[1])))
            for isPretty in [false, true] {
                let again = try JSONValue(parsing: value.data(isPretty: isPretty))
                #expect(again == value, "\(columns[0])")
                #expect(Self.shape(again) == columns[2], "\(columns[0])")
                #expect(again.hashValue == value.hashValue, "\(columns[0])")
            }
        }
    }

    @Test("every beginning and every changed byte of every input ends in a value or an error")
    func neverATrap() throws {
        for columns in try Fixture.table("json.tsv") {
            let data = try #require(Data(base64Encoded: columns[1]))
            guard data.count < 80 else { continue }
            for index in data.indices {
                _ = try? JSONValue(parsing: data.prefix(index))
                for byte in [UInt8(0), 0x22, 0x5C, 0x75, 0x80, 0xFF] {
                    var changed = data
                    changed[index] = byte
                    _ = (try? JSONValue(parsing: changed)).map(Self.shape)
                }
            }
        }
    }

    /// What the script calls the shape of a value.
    private static func shape(_ value: JSONValue) -> String {
        switch value {
        case .null: "z"
        case .bool(let value): value ? "t" : "f"
        case .string(let text): "\"" + hex(text)
        case .array(let elements): "[" + elements.map(shape).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { "\(hex($0.key)):\(shape($0.value))" }.sorted().joined(separator: ",") + "}"
        case .number(let number): shape(number)
        }
    }

    private static func shape(_ number: JSONNumber) -> String {
        let parts = number.text.lowercased().split(separator: "e")
        let mantissa = parts[0].split(separator: ".")
        let fraction = mantissa.count > 1 ? String(mantissa[1]) : ""
        var exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) - fraction.count
        let isNegative = mantissa[0].hasPrefix("-")
        var digits = String((mantissa[0].drop { $0 == "-" } + fraction).drop { $0 == "0" })
        while digits.last == "0" {
            digits.removeLast()
            exponent += 1
        }
        let bits = number.double.map { $0 == 0 ? "0" : String($0.bitPattern, radix: 16) }
        let padded = bits.map { String(repeating: "0", count: 16 - $0.count) + $0 } ?? "inf"
        return digits.isEmpty ? "#0e0:\(padded)" : "#\(isNegative ? "-" : "")\(digits)e\(exponent):\(padded)"
    }

    private static func hex(_ text: String) -> String {
        text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
    }
}
