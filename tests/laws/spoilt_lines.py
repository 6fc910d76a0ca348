"""Lines of JSON, CSV and Zeek's logs that hold records, most of them spoilt: what a lax reader would take all the same,
or take for something else.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Map,
    Nullable,
    String,
    Struct,
    Timestamp,
)

__all__ = ["NESTED", "ONE", "PLAIN", "TWINS", "csv_lines", "json_lines", "zeek_lines"]

PLAIN = Struct(
    (
        Field("at", Timestamp(), "ts"),
        Field("src", String(), "id.orig_h"),
        Field("n", Nullable(Int())),
        Field("small", Int32()),
        Field("x", Nullable(Float())),
        Field("ok", Bool()),
        Field("day", Nullable(Date())),
        Field("took", Nullable(Duration())),
        Field("cost", Nullable(Decimal(6, 2))),
        Field("kind", Nullable(Enumeration(("tcp", "udp", "ü")))),
        Field("note", Nullable(String()), "in words"),
    )
)
NESTED = Struct(
    (
        Field("xs", Nullable(List(Nullable(Int())))),
        Field("inner", Nullable(Struct((Field("a", Int()), Field("b", Nullable(Timestamp()), "c.d"))))),
        Field("by", Nullable(Map(String(), Nullable(Float())))),
        Field("raw", Nullable(Bytes())),
        Field("days", List(Date())),
        Field("costs", Nullable(List(Decimal(6, 2)))),
        Field("only", Nullable(String()), "${only}"),
    )
)
ONE = Struct((Field("s", Nullable(String())),))
"""Any object is such a record, unless it has another value there."""
TWINS = Struct(
    (
        Field("from", String()),
        Field("to", String()),
        Field("via", Nullable(String())),
        Field("sent", Int()),
        Field("got", Nullable(Int())),
        Field("low", Float()),
        Field("high", Nullable(Float())),
        Field("first", Timestamp()),
        Field("last", Nullable(Timestamp())),
    )
)
"""Values that fit another field as well."""

_VALUES: dict[str, Sequence[str]] = {
    "ts": ("1.5", "1655071198.444458", '"2026-01-02T03:04:05.123456Z"', '"2026-01-02 03:04:05+01:00"', '"2026-01-02"'),
    "id.orig_h": ('"a"', '"10.0.0.1"', '"é😀"', '"a\\tb"', '"\\u00e9"', '"12"'),
    "n": ("1", "-7", "null", "123456789012345678", "0"),
    "small": ("1", "-2", "123456789"),
    "x": ("1.5", "2", "-0.0", "1e5", "1E-7", "null", "123456789012345678"),
    "ok": ("true", "false"),
    "day": ('"2026-02-03"', "null", '"1970-01-01"'),
    "took": ("1.5", "0", "null", "-0.25"),
    "cost": ("12.5", "0", '"-1.25"', "null", "9999.99"),
    "kind": ('"tcp"', '"ü"', "null"),
    "in words": ('"some words"', '""', "null", '"{[1,2]}"', '"tab\\tand \\"quotes\\""'),
    "xs": ("[]", "[1, null,-3]", "null", "[ 7 ]"),
    "inner": ('{"a": 1}', '{"a":2,"c.d":1.5}', '{"c":{"d":"2026-01-02T00:00:00Z","e":[]},"a":3}', "null"),
    "by": ("{}", '{"p": 1.5, "q": null}', "null"),
    "raw": ('""', '"YQ=="', '"YWJj"', "null"),
    "days": ("[]", '["2026-01-02"]', '["2026-01-02","1970-01-01"]'),
    "costs": ("[]", "[1.25, 3]", "[1.255,3]", "[1.2 5]", '["1.5"]', "null"),
    "${only}": ('"x"', "null"),
    "s": ('"x"', "null", '"12"'),
    **dict.fromkeys(("from", "to", "via"), ('"a"', '"b"', '"c"', '"$1"', '"\\u00e9"', '"d\\\\e"')),
    **dict.fromkeys(("sent", "got"), ("1", "2", "-3", "999999999999999999")),
    **dict.fromkeys(("low", "high"), ("1.5", "2", "-3.25", "4e-9")),
    **dict.fromkeys(("first", "last"), ("1.5", "2", '"2026-01-02T03:04:05Z"', '"2026-01-03"')),
}
_ODD = (
    "null", "1", "-0", "01", "1.", "+1", "1e400", "-1e400", "NaN", "Infinity", "true", "True", "'x'", "x", "[]", "{}",
    '""', '"x"', '"1"', '"true"', '"null"', "[1]", '["x"]', '{"a":1}', '{"a":"1"}', '{"a":1,"a":2}', '{"a":null}',
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "2147483648",
    "1e3", "1.0", "12.505", "12.500", "100000", "9999.999", '"12.5"', '"1,5"', '"+1.5"', '" 1"', '"1 "',
    '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', '"\ufffd"', '"\u2028"', '"a\tb"', '"\\x41"',
    '"2026-02-30"', '"2026-2-3"', '"2026-01-02T24:00:00Z"', '"2026-01-02T23:59:60Z"', '"2026-01-02T03:04Z"',
    '"2026-01-02T03:04:05.1234567Z"', '"2026-01-02T03:04:05+0530"', '"2026-01-02T03:04:05+19:00"', '"0000-01-01"',
    '"0001-01-01"', '"9999-12-31T23:59:59.999999Z"', '"2026-01-02t03:04:05z"', '"today"', '"epoch"', '"1970"',
    "1.0000005", "2.0000015", "-0.0000005", "9223372036854.775", "9223372036855", "1e300", "123e-5", "1655071198",
    '"YQ"', '"YQ==="', '"Y Q=="', '"-_-_"', '"YR=="', '"tcp "', '"TCP"', '"o\u0308"', "[[[[[1]]]]]",
    '{"x":{"y":{"z":{}}}}',
    "[1,]", "[,1]", "[1 2]", '{"a" 1}', '["2026-13-01"]', '{"p":1,"p":2}', '{"p":"1"}', "[null]", "1" * 5000,
)  # fmt: skip
"""What stands in the place of a value."""


def json_lines(element: Struct, count: int, seed: int, spoilt: float = 0.7) -> list[bytes]:
    """Lines of JSON, `spoilt` of them in some way."""
    draw = random.Random(seed)
    return [_json_line(draw, element, spoilt=draw.random() < spoilt) for _ in range(count)]


def _json_line(draw: random.Random, element: Struct, *, spoilt: bool) -> bytes:
    names = [field.path or field.name for field in element.fields]
    members = [f'"{name}":{draw.choice(["", " "])}{draw.choice(_VALUES[name])}' for name in names]
    if draw.random() < 0.2:
        members.append(
            draw.choice(['"more":1', '"more":{"ts":[1,{"s":"}"}]}', '"é":"x"', '"n ":[]', '"id":{"orig_h":"b"}'])
        )
    if draw.random() < 0.2:
        draw.shuffle(members)
    if spoilt and draw.random() < 0.6:
        _spoil_member(draw, members, names)
    line = draw.choice([",", ", "]).join(members)
    line = draw.choice(["{%s}", "{ %s }", "  {%s}\t", "{%s}\r"]) % line
    data = line.encode("utf-8", "surrogatepass")
    return _spoil_bytes(draw, data) if spoilt and draw.random() < 0.6 else data


def _spoil_member(draw: random.Random, members: list[str], names: Sequence[str]) -> None:
    at = draw.randrange(len(members))
    name, odd = draw.choice(names), draw.choice(_ODD)
    match draw.randrange(8):
        case 0:
            del members[at]
        case 1:
            members.insert(at, f'"{name}":{odd}')
        case 2:
            members.insert(at, f'"{name}":{draw.choice(_VALUES[name])}')
        case 3:
            members.append(f'"\\u{ord(name[0]):04x}{name[1:]}":{odd}')
        case 4 if "." in "".join(names):
            members[:] = [each for each in members if "id.orig_h" not in each]
            members.append(draw.choice(['"id":{"orig_h":%s}', '"id":%s', '"id.orig_h":null,"id":{"orig_h":%s}']) % odd)
        case 5:
            members.append(f'"unknown":{odd}')
        case _:
            members[names.index(name) % len(members)] = f'"{name}":{odd}'


_PIECES = (
    b"", b",", b"{", b"}", b"[", b"]", b'"', b"\\", b":", b" ", b"\x00", b"\x0b", b"\xff", b"\xc3\x28", b"\xed\xa0\x80",
    b"\xc0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"1", b"-", b".", b"e", b"null", b"//", b"/**/", b"'", b"\xc2\xa0",
    b"#", b"\r", b"\t",
)  # fmt: skip


def _spoil_bytes(draw: random.Random, data: bytes) -> bytes:
    at = draw.randrange(len(data) + 1)
    piece = draw.choice(_PIECES)
    match draw.randrange(7):
        case 0:
            return data + draw.choice(
                [b" x", b"{}", b'{"s":1}', b",", b"]", b"}", b"null", b"\x00", b" \x0b", b'},"b":{}']
            )
        case 1:
            return data[:at]
        case 2:
            return data[:at] + data[at + 1 :]
        case 3:
            return data[:at] + piece + data[at + 1 :]
        case 4:
            return draw.choice([b"", b" ", b"\t\r", b"null", b"[]", b"1", b'"x"', b"[%s]" % data, b"\x0b", b"{}"])
        case _:
            return data[:at] + piece + data[at:]


# --- cells -----------------------------------------------------------------------------------------------------------


def _cells(draw: random.Random, element: Struct, spoilt: bool, null: str) -> list[str]:
    cells = [_cell(draw.choice(_VALUES[field.path or field.name]), null) for field in element.fields]
    if spoilt:
        at = draw.randrange(len(cells))
        odd = draw.choice(_ODD)
        cells[at] = _cell(odd, null) if draw.random() < 0.8 else odd
    return cells


def _cell(value: str, null: str) -> str:
    if value == "null":
        return null
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return found if isinstance(found, str) else value


def csv_lines(element: Struct, count: int, seed: int, separator: str = ",", spoilt: float = 0.6) -> list[bytes]:
    """Lines of CSV behind a header, `spoilt` of them in some way; few go on in the next line."""
    draw = random.Random(seed)
    quoted = _quoted(separator)
    lines = [separator.join(quoted(field.path or field.name) for field in element.fields).encode()]
    for _ in range(count):
        bad = draw.random() < spoilt
        cells = _cells(draw, element, bad and draw.random() < 0.5, "")
        if bad and draw.random() < 0.2:
            cells = draw.choice(
                [cells[:-1], [*cells, "more"], [], [*cells[:-1], "two\nlines,\n\n1"], ['a"b', *cells[1:]]]
            )
        odd = draw.choice([quoted, lambda cell: f'"{cell}"', lambda cell: cell.replace("\n", " ")]) if bad else quoted
        data = separator.join(map(odd, cells)).encode("utf-8", "surrogatepass")
        closed = bad and draw.random() < 0.3
        lines.append(_spoil_bytes(draw, data) if closed and b'"' not in data else data)
    return lines


def _quoted(separator: str) -> Callable[[str], str]:
    special = set(separator + '"\r\n')
    return lambda cell: '"' + cell.replace('"', '""') + '"' if set(cell) & special else cell


def zeek_lines(element: Struct, count: int, seed: int, spoilt: float = 0.6) -> list[bytes]:
    """Lines of a log behind its headers, `spoilt` of them in some way."""
    draw = random.Random(seed)
    names = "\t".join(field.path or field.name for field in element.fields)
    lines = [
        b"#separator \\x09",
        b"#set_separator\t,",
        b"#empty_field\t(empty)",
        b"#unset_field\t-",
        f"#fields\t{names}".encode(),
    ]
    for _ in range(count):
        bad = draw.random() < spoilt
        cells = [each.replace("\n", " ") for each in _cells(draw, element, bad and draw.random() < 0.6, "-")]
        cells = [{"true": "T", "false": "F", "": "(empty)"}.get(each, each) for each in cells]
        if bad and draw.random() < 0.2:
            cells = draw.choice([cells[:-1], [*cells, "more"], [""], ["a\\x09\\\\b", *cells[1:]]])
        data = "\t".join(cells).encode("utf-8", "surrogatepass")
        lines.append(_spoil_bytes(draw, data) if bad and draw.random() < 0.4 else data)
    return [line for line in lines if b"\n" not in line]
