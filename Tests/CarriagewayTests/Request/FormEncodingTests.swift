import Testing

@testable import Carriageway

@Suite("Form encoding")
struct FormEncodingTests {
    @Test("names and values in order, with an equals sign each")
    func fields() {
        #expect(FormEncoding.encode([]).isEmpty)
        #expect(FormEncoding.encode([("b", "1"), ("a", ""), ("b", "2"), ("", "x")]) == "b=1&a=&b=2&=x")
    }

    @Test("of ASCII only letters, digits, * - . _ and the blank are not in percent")
    func ascii() {
        for byte in UInt8(0)...0x7F {
            let character = Character(Unicode.Scalar(byte))
            let kept = character.isLetter || character.isNumber || "*-._".contains(character)
            let hex = String(byte, radix: 16, uppercase: true)
            let expected = kept ? String(character) : character == " " ? "+" : "%" + (byte < 16 ? "0\(hex)" : hex)
            #expect(FormEncoding.encode(String(character)) == expected)
        }
    }

    @Test("other characters are their bytes of UTF-8; line ends stay as they are")
    func others() {
        #expect(FormEncoding.encode("ä€😀") == "%C3%A4%E2%82%AC%F0%9F%98%80")
        #expect(FormEncoding.encode("a\r\nb\n") == "a%0D%0Ab%0A")
        // The example of RFC 6749, appendix B.
        #expect(FormEncoding.encode(" %&+£€") == "+%25%26%2B%C2%A3%E2%82%AC")
    }
}
