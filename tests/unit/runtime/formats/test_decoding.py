"""Raw records: what fits, what does not, and that it does not matter how the bytes are cut."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghcm.formats.fields import from_json_field, from_text_field
from ghcm.formats.files import find_files
from ghcm.runtime.sources.files import FilesSource
from ghcm.spg.connectors import Files, Format
from ghcm.spg.reference.decoding import Bad, decoded
from ghcm.types import (
    Bool,
    Date,
    Duration,
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
    Type,
)
from ghcm.values.timestamps import FIRST_MICROS, LAST_MICROS
from tests.unit.runtime.formats.decoding import decode
from tests.unit.runtime.small_operators import LINE

FLOW = Struct(
    (
        Field("ts", Timestamp()),
        Field("src", String(), "id.orig_h"),
        Field("bytes", Nullable(Int())),
        Field("ok", Bool(), "ok"),
    )
)


def test_json_lines_by_path() -> None:
    text = (
        b'{"ts": 1.5, "id": {"orig_h": "a"}, "bytes": 7, "ok": true}\r\n'
        b"\n"
        b'{"ts": "1970-01-01T00:00:01Z", "id.orig_h": "b", "ok": false, "more": [1]}\n'
        b'{"ts": 0, "id": {}, "ok": true}\n'
        b"nonsense\n"
        b'[1]\n{"ts": 1, "id.orig_h": "\xff", "ok": true}\n'
        b'{"ts": 1, "id.orig_h": "c", "bytes": 1.0, "ok": true}\n'
        b'{"ts": NaN, "id.orig_h": "c", "ok": true}\n'
        b'{"ts": 2, "id.orig_h": "d", "ok": true} x\n'
        b'{"ts": 3, "id.orig_h": "e", "bytes": null, "ok": true}'
    )
    rows, dead = decode(Format("json"), FLOW, [text])
    assert rows == [(1_500_000, "a", 7, True), (1_000_000, "b", None, False), (3_000_000, "e", None, True)]
    places = [detail.split(": ")[0] for detail, _ in dead]
    assert places == ["f:4", "f:5", "f:6", "f:7", "f:8", "f:9", "f:10"]
    assert '"src"' in dead[0][0]
    assert dead[1][1] == "nonsense"
    assert dead[3][1] == '{"ts": 1, "id.orig_h": "�", "ok": true}'


@pytest.mark.parametrize(
    ("type_", "data", "expected"),
    [
        (Int(), 2**63 - 1, 2**63 - 1),
        (Int(), 2**63, None),
        (Int(), True, None),
        (Int(), 1.0, None),
        (Int(), "1", None),
        (Int32(), 2**31, None),
        (Float(), 1, 1.0),
        (Float(), 10**400, None),
        (Float(), "1", None),
        (Bool(), 1, None),
        (String(), 1, None),
        (String(), "\ud800", None),
        (Timestamp(), 0.0000005, 0),
        (Timestamp(), 0.0000015, 2),
        (Timestamp(), "2026-01-02T03:04:05+01:00", 1767319445000000),
        (Timestamp(), "2026-01-02 03:04:05.1234567", 1767323045123456),
        (Timestamp(), "2026-02-30T00:00:00Z", None),
        (Timestamp(), "yesterday", None),
        (Timestamp(), 1e300, None),
        (Timestamp(), "9999-12-31T23:59:59-01:00", None),
        (Timestamp(), "0001-01-01T00:00:00+00:01", None),
        (Float(), float("inf"), None),  # as the parser of JSON reads 1e400
        (Date(), "1970-01-02", 1),
        (Date(), 1, None),
        (Duration(), 1.5, 1_500_000),
        (List(Int()), [1, 2], [1, 2]),
        (List(Int()), [1, None], None),
        (List(Nullable(Int())), [1, None], [1, None]),
        (Map(String(), Int()), {"a": 1}, {"a": 1}),
        (Struct((Field("x", Int(), "a.b"), Field("y", Nullable(Int())))), {"a": {"b": 1}}, (1, None)),
        (Nullable(Int()), None, None),
    ],
)
def test_json_values_are_taken_strictly(type_: Type, data: object, expected: object) -> None:
    read = from_json_field(type_)
    if expected is None and not (isinstance(type_, Nullable) and data is None):
        with pytest.raises(ValueError, match=r"expected|fit|surrogate"):
            read(data)
    else:
        assert read(data) == expected


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        (Int(), "+12", 12),
        (Int(), " 12", ValueError),
        (Int(), "1_000", ValueError),
        (Int(), "", ValueError),
        (Int(), "9223372036854775808", ValueError),
        (Nullable(Int()), "", None),
        (String(), "", ""),
        (Nullable(String()), "", None),
        (Float(), "1e3", 1000.0),
        (Float(), "-1e400", ValueError),
        (Float(), "-inf", float("-inf")),
        (Float(), "1.", ValueError),
        (Float(), "inf", float("inf")),
        (Bool(), "TRUE", True),
        (Bool(), "1", ValueError),
        (Timestamp(), "1.5", 1_500_000),
        (Timestamp(), "1970-01-01", 0),
    ],
)
def test_csv_fields(type_: Type, text: str, expected: object) -> None:
    read = from_text_field(type_)
    if expected is ValueError:
        with pytest.raises(ValueError, match=r"expected|fit"):
            read(text)
    else:
        assert read(text) == expected


CSV = Struct((Field("a", Int()), Field("b", Nullable(String()), "the b"), Field("c", Nullable(Int()))))


def test_csv_with_quotes_and_bad_lines() -> None:
    text = b'the b,x,a\r\n"one, ""two""\nthree",,1\n,y,2\nx,3\n"u",v,w\n\n"last",z,5'
    rows, dead = decode(Format("csv"), CSV, [text])
    assert rows == [(1, 'one, "two"\nthree', None), (2, None, None), (5, "last", None)]
    assert [(detail.split(": ")[0], raw) for detail, raw in dead] == [("f:5", "x,3"), ("f:6", '"u",v,w')]


def test_a_quote_that_nobody_closes_costs_its_line() -> None:
    lines = [
        b"the b,x,a",
        b'"lost,1,1',
        b'"two',
        b'lines",2,2',
        b'z,"3,3',
        b'"y"z,4,4',
        b'"open',
        b"w,5,5",
        b'"end,6,6',
    ]
    rows, dead = decode(Format("csv"), CSV, [b"\n".join(lines)])
    assert rows == [(2, "two\nlines", None), (4, "yz", None), (5, "w", None)]
    assert [raw for _, raw in dead] == ['"lost,1,1', 'z,"3,3', '"open', '"end,6,6']
    long = b"the b,x,a\n" + b'"' + b"a,1,1\n" * 1_500 + b'b",1,1\n'
    rows, dead = decode(Format("csv"), CSV, [long])
    assert len(rows) == 1_500 and [raw for _, raw in dead] == ['"a,1,1']


@st.composite
def cuts(draw: st.DrawFn) -> tuple[Format, Struct, bytes, list[bytes]]:
    name = draw(st.sampled_from(["json", "csv", "text"]))
    alphabet = {
        "json": st.sampled_from([b'{"a": 1, "the b": "x"}', b'{"a": "no"}', b"\xff", b"", b'{"a": 2}\r', b"{"]),
        "csv": st.sampled_from(
            [b"1,x", b'2,"a,b"', b'3,"two\nlines"', b'4,"', b"no,x", b"5", b"", b"6,\xff", b"7,z\r"]
        ),
        "text": st.sampled_from([b"a line", b"", b"\xff\xfe", "ünï".encode(), b"ends\r", b"x" * 300]),
    }[name]
    lines = draw(st.lists(alphabet, max_size=300 if name == "text" else 12))
    head = b"a,the b\n" if name == "csv" else b""
    data = head + b"\n".join(lines) + (b"\n" if draw(st.booleans()) else b"")
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=4)))
    pieces = [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    return Format(name), LINE if name == "text" else CSV, data, [piece for piece in pieces if piece]


@settings(deadline=None)
@given(cuts())
def test_it_does_not_matter_how_the_bytes_are_cut(case: tuple[Format, Struct, bytes, list[bytes]]) -> None:
    format_, schema, data, pieces = case
    rows, dead = decode(format_, schema, pieces)
    expected = list(decoded(data, "f", format_, schema))
    assert rows == [each for each in expected if not isinstance(each, Bad)]
    assert [text for _, text in dead] == [each.text for each in expected if isinstance(each, Bad)]


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53).map(lambda n: n / 2e6))
def test_seconds_are_rounded_from_their_exact_value(seconds: float) -> None:
    exact = round(Fraction(seconds) * 1_000_000)
    if FIRST_MICROS <= exact <= LAST_MICROS:
        assert from_json_field(Timestamp())(seconds) == exact
    else:
        with pytest.raises(ValueError, match="fit"):
            from_json_field(Timestamp())(seconds)


@pytest.mark.parametrize(
    ("unit", "number"), [("ms", 1754006400000), ("us", 1754006400000000), ("ns", 1754006400 * 10**9)]
)
def test_a_number_in_another_unit_is_no_moment_and_the_unit_is_named(unit: str, number: int) -> None:
    said = f"years 1 to 9999.*in {unit} it would be written"
    with pytest.raises(ValueError, match=said):
        from_json_field(Timestamp())(number)
    with pytest.raises(ValueError, match=said):
        from_text_field(Timestamp())(str(number))


def test_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "B.txt", "ä.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "folder.txt").mkdir()
    assert find_files("*.txt", tmp_path) == ["B.txt", "a.txt", "b.txt", "ä.txt"]
    source = FilesSource(Files("*.txt", Format("text")), LINE, "s", tmp_path)
    source.open(None, lambda: None)
    assert source.partitions() == {"s:B.txt", "s:a.txt", "s:b.txt", "s:ä.txt"}
    source.close()
