#!/usr/bin/env python3
"""Writes json.tsv: inputs, and what Python's json module makes of them.

Each line has a name, the input in base64, and the shape of the value, or "!" if it is no JSON. A shape is z, t, f,
a text as " and the hexadecimal digits of its UTF-8, an array as [a,b], an object as {name:a,...} sorted by name, and a
number as #, its digits, e, its exponent, : and the bits of the nearest double.

    Tests/Fixtures/make-json.py > Tests/Fixtures/json.tsv
"""

import base64
import decimal
import json
import random
import struct
import sys

sys.setrecursionlimit(10_000)


class Number:
    def __init__(self, text):
        self.text = text


def refuse(word):
    raise ValueError(word)


def hexed(text):
    # Half a pair of surrogates is no character; U+FFFD stands for it.
    whole = "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text)
    return whole.encode().hex()


def number(text):
    value = decimal.Decimal(text)
    sign, digits, exponent = value.as_tuple()
    digits = "".join(map(str, digits)).lstrip("0")
    stripped = digits.rstrip("0")
    exponent += len(digits) - len(stripped)
    shape = "0e0" if not stripped else ("-" if sign else "") + f"{stripped}e{exponent}"
    double = float(text)
    if double == 0:
        double = 0.0
    bits = "inf" if double in (float("inf"), float("-inf")) else struct.pack(">d", double).hex()
    return f"#{shape}:{bits}"


def shape(value):
    if value is None:
        return "z"
    if value is True:
        return "t"
    if value is False:
        return "f"
    if isinstance(value, Number):
        return number(value.text)
    if isinstance(value, str):
        return '"' + hexed(value)
    if isinstance(value, list):
        return "[" + ",".join(map(shape, value)) + "]"
    return "{" + ",".join(sorted(f"{hexed(k)}:{shape(v)}" for k, v in value.items())) + "}"


def expected(data):
    try:
        text = data.decode("utf-8-sig")
        return shape(json.loads(text, parse_float=Number, parse_int=Number, parse_constant=refuse))
    except ValueError:
        return "!"


def line(name, data):
    if isinstance(data, str):
        data = data.encode()
    print(name, base64.b64encode(data).decode(), expected(data), sep="\t")


VALID = {
    "empty array": "[]", "empty object": "{}", "blanks": " \t\r\n[ \n] ", "null": "null", "true": "true",
    "false": "false", "text": '"a"', "empty text": '""', "nested": '{"a":{"b":[1,{"c":null}]}}',
    "byte order mark": "\ufeff[1]", "same name twice": '{"a":1,"b":2,"a":3}', "empty name": '{"":0}',
    "name with escapes": '{"\\u0061\\n":1}', "all escapes": '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
    "escape of a letter": '"\\u0041\\u00e9\\u20AC"', "escape of a pair": '"\\ud83d\\ude00"', "escaped nul": '"\\u0000"',
    "delete": '"\x7f"', "line separators": '"\u2028\u2029"', "beyond the basic plane": '"😀𐀀\U0010ffff"',
    "noncharacter": '"\uffff\ufffe"', "replacement character": '"\ufffd"', "escaped noncharacter": '"\\uFFFF"',
    "lone high half": '"\\ud800"', "lone low half": '"\\udc00"', "halves the wrong way round": '"\\ude00\\ud83d"',
    "high half and letter": '"\\ud83dx"', "high half and escape": '"\\ud83d\\n"', "two high halves": '"\\ud800\\ud800"',
    "high half before a pair": '"\\ud800\\ud83d\\ude00"', "high half and escaped letter": '"\\ud800\\u0041"',
    "500 arrays": "[" * 500 + "]" * 500, "200 objects": '{"a":' * 200 + "1" + "}" * 200,
    "many": "[" + ",".join(str(n) for n in range(300)) + "]",
}
NUMBERS = [
    "0", "-0", "0.0", "-0.0", "1", "-1", "10", "100", "1.0", "1.50", "0.1", "0.30000000000000004", "1e0", "1E+2", "1e-2",
    "123e65", "1e1", "0e1", "0e+1", "1.5e3", "9007199254740993", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
    "340282366920938463463374607431768211455", "12345678901234567890123456789012345678901234567890",
    "3.14159265358979323846264338327950288419716939937510", "1e308", "1.7976931348623157e308", "1.8e308", "-1e400",
    "1e400", "5e-324", "2e-324", "1e-400", "2.2250738585072011e-308", "0.000000000000000000000000000001",
    "100000000000000000000000000000000000000000", "1e5000", "-1e-5000", "0e99999", "4.35", "0.5", "1e23",
    "8.41e21", "9.5367431640625e-7", "1" + "0" * 400, "0." + "0" * 400 + "1",
]
MALFORMED = {
    "nothing": "", "blanks only": "  ", "open array": "[", "open object": "{", "open text": '"a', "comma at the end": "[1,]",
    "comma at the beginning": "[,1]", "two commas": "[1,,2]", "comma only": "[,]", "no comma": "[1 2]", "colon in array": "[1:2]",
    "no colon": '{"a" 1}', "two colons": '{"a"::1}', "no value": '{"a":}', "name only": '{"a"}', "comma in object": '{"a":1,}',
    "name without marks": "{a:1}", "single marks": "{'a':1}", "number as name": "{1:1}", "closed twice": "[]]",
    "closed wrong": "[}", "two values": "1 1", "value and comma": "1,", "comment": "[1/*a*/]", "line comment": "[1]//a",
    "NaN": "NaN", "Infinity": "Infinity", "-Infinity": "[-Infinity]", "nan": "nan", "capital": "True", "part of a word": "tru",
    "word and letter": "nullx", "leading zero": "01", "leading zero, negative": "-01", "plus": "+1", "point first": ".1",
    "point last": "1.", "point and e": "1.e1", "nothing after e": "1e", "nothing after e+": "1e+", "two points": "1.2.3",
    "minus": "-", "minus and letter": "-a", "two minus": "--1", "hexadecimal": "0x1", "letter in a number": "1a",
    "underscore": "1_000", "other digits": "\u0661", "full-width digit": "\uff11", "blank in a number": "1 000.0 1",
    "tab in a text": '"\t"', "line end in a text": '"\n"', "nul in a text": '"\0"', "nul": "\0", "unknown escape": '"\\a"',
    "escaped blank": '"\\ "', "three digits": '"\\u004"', "no hexadecimal digits": '"\\u00G0"', "escape at the end": '"\\',
    "u at the end": '"\\u', "half at the end": '"\\ud800\\u"', "sign in an escape": '"\\u+041"', "capital u": '"\\U0041"',
    "form feed as blank": "[\f]", "no-break space": "[\u00a0]", "vertical tab": "[\v1]", "byte order mark twice": "\ufeff\ufeff1",
    "byte order mark inside": "[\ufeff]", "1000 open arrays": "[" * 1000, "300 open objects": '{"a":' * 300,
    "star": "*", "angle": "<null>", "backslash": "\\", "open after text": '["a', "open after name": '{"a":1', "bracket": "]",
}
BYTES = {
    "continuation byte": b'"\x80"', "cut short": b'"\xe2\x82"', "two bytes for a": b'"\xc1\xa1"', "three for /": b'"\xe0\x80\xaf"',
    "surrogate in UTF-8": b'"\xed\xa0\x80"', "beyond Unicode": b'"\xf4\x90\x80\x80"', "Latin-1": b'"\xe9"', "FF": b"\xff",
    "outside a text": b"[\xe9]", "in a name": b'{"\xe9":1}', "UTF-16": '"a"'.encode("utf-16"), "UTF-16 without mark": '[1]'.encode("utf-16-le"),
    "after an escape": b'"\\n\xff"', "half a mark": b"\xef\xbb1",
}


def random_text(chance):
    pool = "abc xyz019\"\\/\n\t\x08\x00\x1f\x7fäß€Ω中😀\u2028\ufffd"
    return "".join(chance.choice(pool) for _ in range(chance.randrange(6)))


def random_number(chance):
    text = chance.choice(["", "-"]) + str(chance.randrange(10 ** chance.randrange(1, 25)))
    if chance.random() < 0.4:
        text += "." + "".join(chance.choice("0123456789") for _ in range(chance.randrange(1, 12)))
    if chance.random() < 0.3:
        text += chance.choice(["e", "E"]) + chance.choice(["", "+", "-"]) + str(chance.randrange(330))
    return text


def random_document(chance, depth):
    kind = chance.randrange(8 if depth < 3 else 5)
    blank = lambda: chance.choice(["", "", "", " ", "\n", "\t "])
    if kind < 2:
        return random_number(chance)
    if kind < 4:
        return json.dumps(random_text(chance), ensure_ascii=chance.random() < 0.5)
    if kind == 4:
        return chance.choice(["null", "true", "false"])
    items = [random_document(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind < 7:
        return "[" + ",".join(blank() + item + blank() for item in items) + "]"
    names = [json.dumps(random_text(chance), ensure_ascii=chance.random() < 0.5) for _ in items]
    return "{" + ",".join(f"{blank()}{n}{blank()}:{blank()}{i}{blank()}" for n, i in zip(names, items)) + "}"


def mutated(chance, data):
    data = bytearray(data)
    for _ in range(chance.randrange(1, 3)):
        where = chance.randrange(len(data) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            data.insert(where, chance.choice(b'[]{}",:\\u0123eE+-. \n\x00\x80\xc3\xe2ntf'))
        elif kind == 1 and where < len(data):
            del data[where]
        elif kind == 2 and where < len(data):
            data[where] = chance.randrange(256)
        else:
            del data[where:]
    return bytes(data)


def main():
    for name, text in VALID.items():
        line(name, text)
    for text in NUMBERS:
        line("number " + text[:60], text)
    for name, text in MALFORMED.items():
        line(name, text)
    for name, data in BYTES.items():
        line(name, data)
    chance = random.Random(8259)
    for index in range(700):
        data = random_document(chance, 0).encode()
        if index % 2:
            data = mutated(chance, data)
        line(f"random {index}", data)


main()
