"""Files of cells: blocks read at once give what the reference gives line by line, and headers are held to."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.chunks import Chunk
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.spg.connectors import Format
from ghcm.types import Field, Int, List, Nullable, String, Struct, Timestamp
from tests.campaigns import times
from tests.laws.cell_files import FORMATS, cell_files, head
from tests.unit.runtime.formats.decoding import by_reference, decode


@settings(deadline=None, max_examples=times(150))
@given(cell_files(), st.data())
def test_blocks_are_read_as_the_reference_reads_lines(
    case: tuple[Format, Struct, bytes], choice: st.DataObject
) -> None:
    format_, schema, data = case
    places = sorted(choice.draw(st.lists(st.integers(0, len(data)), max_size=2)))
    pieces = [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    rows, dead = decode(format_, schema, [piece for piece in pieces if piece])
    expected, letters = by_reference(format_, schema, data)
    assert list(map(_comparable, rows)) == list(map(_comparable, expected))
    places_of = [(detail.split(": ")[0], text) for detail, text in letters]
    assert sorted((detail.split(": ")[0], text) for detail, text in dead) == sorted(places_of)


def _comparable(row: Row) -> list[object]:
    return ["nan" if isinstance(each, float) and math.isnan(each) else each for each in row]


LOG = Struct((Field("ts", Timestamp()), Field("host", String(), "id.orig_h"), Field("tags", Nullable(List(String())))))
FIRST = b"#separator \\x09\n#fields\tts\tid.orig_h\ttags\n#types\ttime\n1.5\ta\tx,y\n2.000001\tb\t-\n#close\n"
SECOND = b"#separator \\x7c\n#unset_field|?\n#fields|tags|more|ts|id.orig_h\n(empty)|1|3|c\n?|-|4|d\\x7c\n"


def test_headers_of_zeek_may_change_in_the_middle_of_a_file() -> None:
    rows, dead = decode(Format("zeek"), LOG, [FIRST + SECOND])
    assert rows == [(1_500_000, "a", ["x", "y"]), (2_000_001, "b", None), (3_000_000, "c", []), (4_000_000, "d|", None)]
    assert dead == []
    assert (rows, dead) == by_reference(Format("zeek"), LOG, FIRST + SECOND)


@pytest.mark.parametrize("format_", FORMATS)
def test_plain_records_are_decoded_in_columns_and_odd_ones_alone(format_: Format) -> None:
    separator = "\t" if format_.name == "zeek" else format_.separator
    lines = [f"{n}.5{separator}host" for n in range(1000)]
    lines[7], lines[500], lines[250], lines[251] = f"x{separator}odd", "ragged", "", "\r"
    body = "\n".join(lines).encode()
    schema = Struct((Field("ts", Timestamp()), Field("host", String())))
    decoder = open_decoder(format_, schema)
    dead: list[str] = []
    data = head(format_, separator, ["ts", "host"]) + body
    batch, _, lines_used = decoder.decode(Chunk(data, "f", 1, "p", True), lambda _, detail, text: dead.append(text))
    assert batch.columnar
    assert (len(batch), lines_used) == (996, data.count(b"\n") + 1)
    assert sorted(dead) == sorted(["ragged", f"x{separator}odd"])


@pytest.mark.parametrize(
    ("format_", "data", "says"),
    [
        (Format("csv"), b"ts,id.orig,tags\n1,a,\n", r'no column "id\.orig_h"(.|\n)*did you mean "id\.orig"'),
        (Format("csv", "\t"), b"a\tb\n1\t2\n", r'no columns "ts", "id\.orig_h"(.|\n)*Its columns are a, b'),
        (Format("zeek"), b"#separator \\x09\n#fields\tts\thost\n", r'no column "id\.orig_h"'),
        (Format("zeek"), b"1\ta\n", "#fields"),
    ],
)
def test_a_header_that_lacks_a_column_is_no_file_of_records(format_: Format, data: bytes, says: str) -> None:
    with pytest.raises(GhcmError, match=says):
        decode(format_, LOG, [data])
    with pytest.raises(GhcmError, match="cannot read"):
        by_reference(format_, LOG, data)


def test_quotes_around_nothing_are_an_empty_text_where_that_is_asked_for() -> None:
    schema = Struct((Field("a", Nullable(String())), Field("n", Nullable(Int())), Field("s", String())))
    lines = ["x,1,y", ",,", '"","",""', '"""","1","a,b"', '"a ""b""",,', '"\n",2,""', '""x,3,y']
    data = "\n".join(["a,n,s", *lines * 30]).encode()
    for keeps_empty in (False, True):
        format_ = Format("csv", keeps_empty=keeps_empty)
        rows, dead = decode(format_, schema, [data])
        assert (rows, dead) == by_reference(format_, schema, data)
        empty = "" if keeps_empty else None
        assert rows[:4] == [("x", 1, "y"), (None, None, ""), (empty, None, ""), ('"', 1, "a,b")]
        assert len(rows) == 7 * 30
