"""JSON by whole blocks: what Arrow reads, and what it cannot be trusted with, gives what is read line by line."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghcm.formats.files import BYTE_ORDER_MARK
from ghcm.functions import Failure
from ghcm.runtime.data.arrays import Marks
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats import json_lines
from ghcm.runtime.formats.cells import UNSURE
from ghcm.runtime.formats.chunks import Chunk
from ghcm.runtime.formats.json_lines import JsonLines
from ghcm.runtime.formats.json_shape import Shape
from ghcm.runtime.formats.json_suspects import Lines, Suspicion
from ghcm.runtime.formats.placed_lines import PlacedLines
from ghcm.spg.connectors import Format
from ghcm.types import (
    Bool,
    Date,
    Decimal,
    Enumeration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Nullable,
    String,
    Struct,
    Timestamp,
)
from tests.campaigns import times
from tests.laws.raw_lines import raw_files
from tests.unit.runtime.formats.decoding import by_reference, decode

JSON = Format("json")
READING = Struct(
    (
        Field("id", Int()),
        Field("level", Float()),
        Field("name", Nullable(String())),
        Field("at", Timestamp()),
        Field("host", Nullable(String()), "net.host"),
        Field("paid", Nullable(Decimal(10, 2))),
        Field("marks", List(Nullable(Float()))),
        Field("on", Bool()),
    ),
    "Reading",
)


def _line(number: int) -> bytes:
    record = {
        "id": number, "level": number / 7, "name": f"n {number}", "at": f"2026-01-02 03:04:{number % 60:02}.5",
        "net.host": "h", "paid": number + 0.25, "marks": [1, 2.5, None], "on": True, "more": {"id": [1, {"a": "b"}]},
    }  # fmt: skip
    return json.dumps(record).encode()


def _with(**values: str) -> Callable[[bytes], bytes]:
    """The line with other values, as they are written."""

    def change(line: bytes) -> bytes:
        fields = {name: json.dumps(value) for name, value in json.loads(line).items()}
        given = {name.replace("_", ".", 1): text for name, text in values.items()}
        return ("{" + ", ".join(f'"{name}": {text}' for name, text in {**fields, **given}.items()) + "}").encode()

    return change


def _without(*names: str, **more: object) -> Callable[[bytes], bytes]:
    def change(line: bytes) -> bytes:
        record = {**json.loads(line), **more}
        return json.dumps({name: value for name, value in record.items() if name not in names}).encode()

    return change


def _then(*changes: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    def change(line: bytes) -> bytes:
        for one in changes:
            line = one(line)
        return line

    return change


HAZARDS: dict[str, Callable[[bytes], bytes]] = {
    "not a number": _with(level="NaN"),
    "not a number, unused": _with(more="[1, -Infinity]"),
    "Info is a word": _with(name='"Info: NaN, Inf"'),
    "two on a line": lambda line: line + b" " + line,
    "two, glued, and one over two lines": lambda line: line + line + b"\n" + line.replace(b", ", b",\n", 1),
    "an object over lines that begin and end in braces": lambda line: (
        line[:-1] + b', "x": [{"a": 1}\n,{"a": 2}]}\n' + line + line
    ),
    "null": lambda _: b"null",
    "a list": lambda _: b"[]",
    "nothing": lambda _: b"",
    "blanks": lambda line: b" \t" + line + b" \r",
    "a key twice": lambda line: line[:-1] + b', "id": 5}',
    "a key twice, in other letters": lambda line: line[:-1] + b', "\\u0069d": 5}',
    "an unused key twice": lambda line: line[:-1] + b', "more": 5}',
    "a path in other letters": lambda line: line.replace(b"net.host", b"net.h\\u006fst"),
    "a path in other letters, too": lambda line: line[:-1] + b', "net.h\\u006fst": "x"}',
    "half a pair": _with(name='"\\ud800"'),
    "the other half": _with(name='"\\udc00"'),
    "half a pair, unused": _with(more='"\\ud800"'),
    "a pair": _with(name='"\\ud83d\\ude00"'),
    "a whole number that is too large": _with(id=str(2**63)),
    "of many digits": _with(level="9" * 400),
    "of too many digits": _with(more="9" * 5000),
    "many digits in a text": _with(more='"' + "9" * 5000 + '"'),
    "a point in a whole number": _with(id="1.0"),
    "an exponent in a whole number": _with(id="1e3"),
    "a text as a whole number": _with(id='"1"'),
    "a number as a text": _with(name="1"),
    "an object as a text": _with(name="{}"),
    "a zero with a sign": _with(level="-0"),
    "a zero with a sign and a point": _with(level="-0.0"),
    "zeros with a sign in a list": _with(marks="[-0, -0.0]"),
    "a number without end": _with(level="1e400"),
    "a number without end, in a list": _with(marks="[" + "9" * 400 + "]"),
    "a small number": _with(level="5e-400"),
    "a number of many decimals": _with(level="0.1000000000000000055511151231257827021181583404541015625"),
    "a decimal with an exponent": _with(paid="1e2"),
    "a decimal as a text": _with(paid='"12.5"'),
    "a decimal as an odd text": _with(paid='".5"'),
    "a decimal as a text without decimals": _with(paid='"5."'),
    "a decimal as a text with an exponent": _with(paid='"1E+2"'),
    "a decimal with zeros": _with(paid="1.5000"),
    "a decimal with too many decimals": _with(paid="1.555"),
    "a decimal that is too large": _with(paid="123456789012"),
    "a decimal of zero": _with(paid="-0.00"),
    "leading zeros": _with(id="01"),
    "a plus": _with(id="+1"),
    "a word of Python": _with(on="True"),
    "null where none may be": _with(id="null"),
    "nothing where something has to be": _without("id"),
    "nothing where nothing may be": _without("name", "paid"),
    "an object for the path": _without("net.host", net={"host": "x"}),
    "an object for the path, in other letters": _then(
        _without("net.host", net={"host": "x"}), lambda line: line.replace(b'"net"', b'"n\\u0065t"')
    ),
    "an object for the path, and null": _with(net_host="null", net='{"host": "x"}'),
    "an object that lacks the path": _without("net.host", net={"other": 1}),
    "no object for the path": _without("net.host", net=3),
    "a moment in seconds": _with(at="1.5"),
    "a moment with an offset": _with(at='"2026-01-02T03:04:05+01:30"'),
    "a moment that is a day": _with(at='"2026-01-02"'),
    "a moment without colons": _with(at='"2026-01-02 030405.123"'),
    "a moment that is none": _with(at='"2026-02-30 00:00:00"'),
    "a moment of nine decimals": _with(at='"2026-01-02 03:04:05.123456789"'),
    "a byte order mark": lambda line: b"\xef\xbb\xbf" + line,
    "no text": _then(_with(name='"?"'), lambda line: line.replace(b"?", b"\xff")),
    "no text, unused": _then(_with(more='"?"'), lambda line: line.replace(b"?", b"\xed\xa0\x80")),
    "a control character": _then(_with(name='"?"'), lambda line: line.replace(b"?", b"\x01")),
    "a zero byte": _then(_with(name='"?"'), lambda line: line.replace(b"?", b"\0")),
    "a zero byte behind": lambda line: line + b"\0}",
    "a zero byte that is written": _with(name='"\\u0000"'),
    "letters that are no ASCII": _then(_with(name='"?"'), lambda line: line.replace(b"?", "é😀".encode())),
    "deeply nested": _with(more="[" * 5000 + "]" * 5000),
    "deeply nested objects": _with(more='{"a":' * 2000 + "1" + "}" * 2000),
    "a comma behind the last": lambda line: line[:-1] + b",}",
    "a comma behind the last of a list": _with(more="[1,]"),
    "a remark": lambda line: line[:-1] + b" /* */ }",
    "junk behind": lambda line: line + b"x",
    "junk in braces": lambda _: b"{junk}",
    "an open text": lambda line: line[:-1] + b', "x": "}',
    "an open object": lambda line: line[:-1],
    "an open object that ends in a brace": lambda line: line[:-1] + b', "x": {}',
    "null in a list": _with(marks="[null]"),
    "no list": _with(marks="1"),
    "null for a list": _with(marks="null"),
}


def _same(given: tuple[list[Row], list[tuple[str, str]]], expected: tuple[list[Row], list[tuple[str, str]]]) -> None:
    assert list(map(repr, given[0])) == list(map(repr, expected[0]))
    places = [[(detail.split(": ")[0], text) for detail, text in letters] for letters in (given[1], expected[1])]
    assert places[0] == places[1]


def _block(hazard: str, at: int, end: bytes) -> bytes:
    lines = [_line(number) for number in range(200)]
    lines[at] = HAZARDS[hazard](lines[at])
    return end.join(lines)


@pytest.mark.parametrize("hazard", HAZARDS)
def test_a_line_that_arrow_reads_otherwise_is_read_as_it_is_meant(hazard: str) -> None:
    for at, end in ((0, b"\n"), (100, b"\r\n"), (199, b"\n")):
        data = _block(hazard, at, end)
        expected = by_reference(JSON, READING, data.removeprefix(BYTE_ORDER_MARK))
        _same(decode(JSON, READING, [data]), expected)


ALIKE = Struct(
    (
        Field("id", Int()),
        Field("small", Int32()),
        Field("level", Float()),
        Field("name", Nullable(String())),
        Field("kind", Enumeration(("tcp", "udp"))),
        Field("at", Timestamp()),
        Field("day", Date()),
        Field("host", Nullable(String()), "net.host"),
        Field("gone", Nullable(Bool())),
        Field("seconds", Timestamp()),
    ),
    "Alike",
)
_SPELT = (
    b"5", b"-7", b"0", b"-0", b"007", b"1.5", b"12345678901234567", b"2147483648", b"9007199254740993", b"-", b"null",
    b'""', b'"a"', b'"udp"', b'"abcdefghijkl"', b'"abcdefghijklm"', b'"\xc3\xa9"', b'"\xff"', b'"\\u0041"', b"1 ",
    b'"2026-01-03 00:00:00.000"', b'"2026-01-02 24:00:00.000"', b'"2026-01-02T00:00:00.000"', b'"2026-01-02"', b"true",
    b'"9999-12-31 23:59:59.999"', b'"2026-01-02 00:00:0a.000"', b"1,2", b'"a","x":"b"', b"NaN", b'"\t"',
    b'"2026-02-30 00:00:00.000"', b'"2026-W01-1 00:00:00.000"', b'"0000-01-01 00:00:00.000"',
)  # fmt: skip


def _alike(number: int, changed: tuple[int, bytes] | None = None) -> bytes:
    values = [
        b"%d" % (number * 10 ** (number % 14)), b"%d" % -number, b"%d" % number, b'"%s"' % (b"n" * (number % 20)),
        b'"%s"' % (b"tcp" if number % 3 else b"udp"), b'"2026-01-02 03:04:%02d.%03d"' % (number % 60, number),
        b'"2026-01-%02d"' % (number % 28 + 1), b'"host %d"' % number, b"%d" % (1_767_000_000 + number), b"%d" % number,
    ]  # fmt: skip
    if changed is not None:
        values[changed[0]] = changed[1]
    keys = (b"id", b"small", b"level", b"name", b"kind", b"at", b"day", b"net.host", b"seconds", b"unused")
    return b"{" + b", ".join(b'"%s": %s' % pair for pair in zip(keys, values, strict=True)) + b"}"


@pytest.mark.parametrize("spelt", _SPELT)
def test_lines_that_are_spelt_alike_are_read_as_others_are(spelt: bytes) -> None:
    for line, place in [(0, 0), *((70, place) for place in range(10))]:
        lines = [_alike(number) for number in range(150)]
        lines[line] = _alike(line, (place, spelt))
        data = b"\n".join(lines) + b"\n"
        _same(decode(JSON, ALIKE, [data]), by_reference(JSON, ALIKE, data))


def test_moments_of_several_days_are_read_as_others_are() -> None:
    for days in (2, 7, 20):
        spelt = [b'"2026-02-%02d 23:59:58.%03d"' % (28 - number % days, number) for number in range(150)]
        spelt[9] = b'"2026-02-29 00:00:00.000"'
        data = b"\n".join(_alike(number, (5, text)) for number, text in enumerate(spelt)) + b"\n"
        _same(decode(JSON, ALIKE, [data]), by_reference(JSON, ALIKE, data))


def test_the_last_text_of_a_block_may_be_empty_and_fields_may_be_missing() -> None:
    schema = Struct((Field("b", String()), Field("day", Nullable(Date())), Field("at", Nullable(Timestamp()))))
    for last in (b"", b"abc", b"2026-01-02 03:04:05"):
        data = b'{"b":"%s"}\n' % last * 100
        _same(decode(JSON, schema, [data]), by_reference(JSON, schema, data))


def test_lines_that_are_spelt_alike_are_read_by_where_values_stand() -> None:
    lines = [_alike(number) for number in range(150)]
    lines[70] = _alike(70, (1, b"x"))
    data = b"\n".join(lines)
    shape = Shape.of(lines[0])
    assert shape is not None
    assert shape.cells(data + b"\n") is not None
    assert shape.cells(data + b"\n" + lines[0].replace(b'": ', b'":') + b"\n") is None
    by_values = JsonLines(ALIKE)._alike([memoryview(data + b"\n")])  # pyright: ignore[reportPrivateUsage]
    assert by_values is not None
    assert by_values.height == 150
    one = JsonLines(ALIKE)._alike([memoryview(_alike(3, (0, b"-3")) + b"\n")])  # pyright: ignore[reportPrivateUsage]
    assert one is not None
    assert UNSURE not in one.columns
    rows, dead = decode(JSON, ALIKE, [data])
    assert len(rows) == 149
    assert [detail.split(": ")[0] for detail, _ in dead] == ["f:71"]


def _placed(lines: list[bytes], chance: random.Random, margin: int) -> PlacedLines:
    """These with other bytes around, and blanks in front of some."""
    memory, starts = chance.randbytes(margin), list[int]()
    for line in lines:
        memory += b" " * chance.randrange(12)
        starts.append(len(memory))
        memory += line + b"\n"
    ends = [start + len(line) for start, line in zip(starts, lines, strict=True)]
    around = np.frombuffer(memory + chance.randbytes(margin), np.uint8)
    return PlacedLines(around, np.array(starts), np.array(ends))


def test_lines_whose_places_are_known_are_read_as_those_that_follow_one_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_lines, "_PIECE", 3000)
    chance, read = random.Random(3), 0
    for spelt in (None, *_SPELT):
        for place in (0, chance.randrange(1, 10)):
            lines = [_alike(number) for number in range(100)]
            lines[chance.choice([0, 70, 99])] = _alike(70, None if spelt is None else (place, spelt))
            placed, letters = _placed(lines, chance, chance.choice([0, 20, 48])), list[tuple[str, str]]()

            def note(_: Failure, detail: str, text: str) -> None:
                letters.append((f"f{detail}", text))  # noqa: B023

            if (batch := JsonLines(ALIKE).alike(placed, "p", note)) is not None:
                _same((list(batch.rows()), letters), by_reference(JSON, ALIKE, placed.content()))
                read += 1
    assert read > 12


def _ignore(reason: Failure, detail: str, text: str) -> None: ...


UNSEEN = (
    "not a number, unused",
    "an object over lines that begin and end in braces",
    "an object for the path, in other letters",
    "a decimal with an exponent",
    "a decimal as an odd text",
    "no text, unused",
    "of too many digits",
    "deeply nested",
)


@pytest.mark.parametrize("hazard", UNSEEN)
def test_without_suspicion_the_difference_would_be_seen(hazard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(self: Suspicion, lines: Lines) -> Marks | None:
        return None

    monkeypatch.setattr(Suspicion, "odd", nobody)
    data = _block(hazard, 100, b"\n")
    with pytest.raises((AssertionError, UnicodeDecodeError)):
        _same(decode(JSON, READING, [data]), by_reference(JSON, READING, data))


@pytest.mark.parametrize("hazard", ["Info is a word", "a key twice", "a point in a whole number", "junk behind"])
def test_the_other_lines_are_read_by_columns(hazard: str) -> None:
    decoder = JsonLines(READING)
    batch, _, _ = decoder.decode(Chunk(_block(hazard, 100, b"\n"), "f", 1, "p", last=True), _ignore)
    assert batch.columnar


_WRITTEN = (
    "NaN", "-Infinity", "-0", "-0.0", "0", "1e400", "1.0", "1e3", "1", "-7", "0.1", "null", "{}", "[]", "[null]", "01",
    '"1"', '""', '"tcp"', '"\\ud800"', '"\\ud83d\\ude00"', '"NaN"', "9" * 400, "9" * 5000, str(2**63), str(-(2**63)),
    '"2026-01-02"', '"2026-01-02T03:04:05Z"', '"2026-01-02 03:04"', "1767225600.0000005", '{"a": 1}', '{"x": 1}', "1.5",
    "[1, 2]", "+1", ".5", '"a" "b"', "1767225600", "1e15", "2147483648", "true", '[{"x": 1}]',
)  # fmt: skip
"""Values as they may stand in a line."""


@settings(deadline=None, max_examples=times(100))
@given(raw_files("json"), st.data())
def test_blocks_are_read_as_the_reference_reads_lines(
    case: tuple[Struct, dict[str, bytes]], choice: st.DataObject
) -> None:
    schema, files = case
    lines = [line for data in files.values() for line in data.replace(b"\r", b"").split(b"\n")]
    plain = [line for line in lines if by_reference(JSON, schema, line)[0]] or [b"{}"]
    order = np.random.default_rng(choice.draw(st.integers(0, 99))).integers(0, len(plain), 100)
    block: list[bytes] = [plain[index] for index in order]
    for at in choice.draw(st.sets(st.integers(0, 99), max_size=3)):
        block[at] = _changed(block[at], schema, choice)
    data = b"\n".join(block)
    _same(decode(JSON, schema, [data]), by_reference(JSON, schema, data.removeprefix(BYTE_ORDER_MARK)))


def _changed(line: bytes, schema: Struct, choice: st.DataObject) -> bytes:
    """The line with another value at one of the record's fields, or one of the hazards."""
    if choice.draw(st.booleans()):
        return choice.draw(st.sampled_from([*HAZARDS.values()]))(line)
    field = choice.draw(st.sampled_from(schema.fields))
    change = _with(**{(field.path or field.name): choice.draw(st.sampled_from(_WRITTEN))})
    return change(line)
