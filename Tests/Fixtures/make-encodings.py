#!/usr/bin/env python3
"""Writes encodings.tsv: what Python's urllib.parse makes of 10,000 random inputs in all of Unicode.

The inputs are made from a seed by the same generator here and in PercentEncodingTests.swift, so that only sums are
kept: a line for each hundred inputs has FNV-1a sums of the inputs, of their queries, forms, and segments. The first
inputs are written out after that, as hexadecimal UTF-8, query, form, segment.

    Tests/Fixtures/make-encodings.py > Tests/Fixtures/encodings.tsv
"""

import urllib.parse

MASK = (1 << 64) - 1


class Random:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, bound):
        return self.next() % bound


DELIMITERS = "+&=%;?#/:@ '\"<>[]{}|\\^`~*!$,()\t\n\r\0%41%zz"


def scalar(random):
    kind = random.below(5)
    if kind < 2:
        return DELIMITERS[random.below(len(DELIMITERS))]
    if kind == 2:
        return chr(random.below(0x80))
    code = random.below(0x800 if kind == 3 else 0x110000 - 0x800)
    # Halves of pairs are no characters.
    return chr(code if code < 0xD800 else code + 0x800)


def text(random):
    return "".join(scalar(random) for _ in range(random.below(9)))


def items(random):
    made = [(text(random), text(random)) for _ in range(1 + random.below(3))]
    # Names come again.
    if random.below(4) == 0:
        made.append((made[0][0], text(random)))
    return made


def fnv(total, text):
    for byte in text.encode() + b"\xff":
        total = ((total ^ byte) * 0x100000001B3) & MASK
    return total


def encodings(made):
    query = urllib.parse.urlencode(made, quote_via=urllib.parse.quote, safe="")
    # The WHATWG URL standard keeps the star and not the tilde; urllib.parse has it the other way round.
    form = urllib.parse.urlencode(made, safe="*").replace("~", "%7E")
    segment = urllib.parse.quote(made[0][1], safe="")
    assert urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=True) == made
    assert urllib.parse.parse_qsl(form, keep_blank_values=True, strict_parsing=True) == made
    assert urllib.parse.unquote(segment, errors="strict") == made[0][1]
    return query, form, segment


def main():
    random = Random(3986)
    samples = []
    for block in range(100):
        sums = [0xCBF29CE484222325] * 4
        for index in range(100):
            made = items(random)
            shown = "".join(f"{name}\x01{value}\x02" for name, value in made)
            outputs = encodings(made)
            for column, output in enumerate((shown, *outputs)):
                sums[column] = fnv(sums[column], output)
            if block == 0 and index < 40:
                samples.append("\t".join(("sample", shown.encode().hex(), *outputs)))
        print("sums", *(f"{total:016x}" for total in sums), sep="\t")
    print("\n".join(samples))


main()
