"""A record that is inferred decodes what it was inferred from, on the reference too, and both front ends take it."""

from __future__ import annotations

import gzip
import json
import keyword
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ghcm.driver import check
from ghcm.errors import GhcmError
from ghcm.inference import Inferred, infer
from ghcm.inference.written import as_python, as_text
from ghcm.language.literals import RESERVED
from ghcm.schemas.records import field_name, record_name
from ghcm.spg.connectors import Files
from ghcm.spg.ops import Source
from ghcm.types import Struct
from tests.campaigns import times
from tests.laws.cell_files import cell_files
from tests.laws.table_files import nested_table, plain_table, write
from tests.unit.runtime.formats.decoding import by_reference

ZEEK = "#separator \\x09\n#fields\tts\tid.h\tn\ttags\n#types\ttime\taddr\tcount\tset[string]\n"


def fields(record: Struct) -> dict[str, str]:
    return {field.path or field.name: f"{field.name}: {field.type}" for field in record.fields}


def inferred(tmp_path: Path, name: str, text: str, **options: Any) -> Inferred:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return infer(tmp_path / name, **options)


def test_whole_numbers_that_are_moments_get_their_unit(tmp_path: Path) -> None:
    seconds = 1_754_006_400
    rows = [
        {
            "at": seconds * 10**3 + n,
            "seen_at": seconds * 10**6,
            "eventTime": seconds * 10**9,
            "ts": seconds,
            "id": 10**12,
        }
        for n in range(30)
    ]
    lines = [json.dumps(row) for row in rows] + [json.dumps({**rows[0], "at": "soon"})]
    found = inferred(tmp_path, "m.jsonl", "\n".join(lines))
    assert found.units == {"at": "ms", "seen_at": "us", "eventTime": "ns"}
    assert found.left_out == () and len(found.dead) == 1 and "soon" in found.dead[0]
    written = as_text(found, "m.jsonl")
    assert "timestamp in ms" in written and "id:        int" in written
    program = 'program m\n{}\nsink o = files("o")\nbatch u {{ files("m.jsonl", format = json).as(M).to(o) }}\n'
    (tmp_path / "m.istream").write_text(program.format(written))
    check(tmp_path / "m.istream")
    assert 'at: datetime = at(unit="ms")' in as_python(found, "m.jsonl")


def test_json(tmp_path: Path) -> None:
    rows = [
        {"ts": 1655071198.4, "at": "2026-01-02T03:04:05Z", "day": "2026-01-02", "n": 1, "x": 1, "mixed": 1, "in": "a"},
        {"ts": 1655071199, "at": "2026-01-02", "day": "2026-01-03", "n": 2, "x": 1.5, "mixed": "a", "1st": None},
        {"ts": 1655071199, "at": "2026-01-02", "day": "2026-01-03", "n": 2, "x": 2**70, "id.h": "a", "tags": [None, 1]},
    ]
    found = inferred(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert fields(found.record) == {
        "ts": "ts: timestamp",
        "at": "at: timestamp",
        "day": "day: date",
        "n": "n: int",
        "x": "x: float",
        "in": "in_: string?",
        "1st": "field_1st: string?",
        "id.h": "id_h: string?",
        "tags": "tags: list<int?>?",
    }
    assert found.left_out == ('"mixed": its values have no type in common (1 of int, 1 of string)',)
    assert (found.rows, found.whole, found.dead) == (3, True, ())


def test_objects_are_records_of_their_own(tmp_path: Path) -> None:
    row = {"src": {"ip": "a", "geo": {"x": 1}}, "dst": {"ip": "b", "geo": {"y": 1}}, "all": [{"k-1": True}, {}]}
    found = inferred(tmp_path, "eve.json", json.dumps(row), format_="eve")
    assert as_text(found, "eve.json").split("\n", 2)[2] == (
        "record Geo    { x: int }\n"
        "record Src    { ip: string, geo: Geo }\n"
        "record DstGeo { y: int }\n"
        "record Dst    { ip: string, geo: DstGeo }\n\n"
        'record All {\n  k_1: bool? from "k-1"\n}\n\n'
        "record Eve { src: Src, dst: Dst, all: list<All> }\n"
    )


def test_objects_whose_keys_are_data_are_maps(tmp_path: Path) -> None:
    rows = [{"by": {f"host-{n}": n, f"host-{n + 1}": n}} for n in range(50)]
    found = inferred(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert fields(found.record) == {"by": "by: map<string, int>"}


def test_cells(tmp_path: Path) -> None:
    text = "n,x,ok,at,zip,s,ts,q\n1,1,true,2026-01-02 03:04:05,00123,a,1655071198.4,\n"
    text += "-2,1.5,FALSE,2026-01-02,1,,1655071198,\n"
    found = inferred(tmp_path, "cells.csv", text)
    assert fields(found.record) == {
        "n": "n: int",
        "x": "x: float",
        "ok": "ok: bool",
        "at": "at: timestamp",
        "zip": "zip: string",
        "s": "s: string?",
        "ts": "ts: timestamp",
        "q": "q: string?",
    }
    assert fields(inferred(tmp_path, "cells.txt", "a\tb\n1\t\n", format_="tsv").record) == {
        "a": "a: int",
        "b": "b: string?",
    }


def test_files_of_spreadsheets(tmp_path: Path) -> None:
    """They begin with a byte order mark, and cells stand between semicolons where the comma is in numbers."""
    found = inferred(tmp_path, "a.csv", '\ufeffid;"a,b";name\r\n1;2,5;x\r\n')
    assert fields(found.record) == {"id": "id: int", "a,b": "a_b: string", "name": "name: string"}
    assert 'files("a.csv", format = csv, separator = ";").as(A)' in as_text(found, "a.csv")
    assert 'files("a.csv", format="csv", separator=";").as_(A)' in as_python(found, "a.csv")
    assert fields(inferred(tmp_path, "b.csv", "a;b,c\n1,2\n").record) == {"a;b": "a_b: int", "c": "c: int"}


def test_logs_of_zeek(tmp_path: Path) -> None:
    found = inferred(tmp_path, "conn.log", ZEEK + "1.5\ta\t1\tx,y\n2.5\t-\t18446744073709551615\t(empty)\n")
    assert fields(found.record) == {
        "ts": "ts: timestamp",
        "id.h": "id_h: string?",
        "n": "n: string",
        "tags": "tags: list<string>",
    }
    assert (found.format, found.record.name) == ("zeek", "Conn")


def test_only_the_first_records_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"n\n" + b"1\n" * 10 + b"x\n"))
    found = infer(tmp_path / "a.csv.gz", rows=10)
    assert (fields(found.record), found.rows, found.whole) == ({"n": "n: int"}, 10, False)
    assert fields(infer(tmp_path / "a.csv.gz", rows=11).record) == {"n": "n: string"}


def test_what_is_no_record_is_counted(tmp_path: Path) -> None:
    found = inferred(tmp_path, "a.jsonl", '{"a": 1}\n[1]\nno json\n{"a": 2}\n')
    assert (found.rows, len(found.dead)) == (2, 2)
    assert "Not decoded: 2 more, the first since a.jsonl:2: no JSON object" in as_text(found, "a.jsonl")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "[\n", "no record of it can be read as json"),
        ("a.csv", "", "no record of it can be read as csv"),
        ("a.jsonl", '{"a": 1}\n{"a": "x"}\n', "no field of it has a type"),
        ("a.txt", "words\n", "lines of text, which need no record"),
        ("a.parquet", "words\n", "is no parquet file"),
        ("a.gz", "words\n", "cannot read"),
    ],
)
def test_what_has_no_record_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(GhcmError, match=message):
        inferred(tmp_path, name, text)
    with pytest.raises(GhcmError, match="no file matches"):
        infer(tmp_path / "none")


@pytest.mark.parametrize("form", ["parquet", "arrow file", "arrow stream"])
def test_tables(tmp_path: Path, form: str) -> None:
    for index, table in enumerate((plain_table(40), nested_table())):
        path = tmp_path / f"t{index}.{form.split(maxsplit=1)[0]}"
        write(table, path, form)
        found = infer(path, rows=30)
        assert (found.rows, found.whole, found.dead) == ((30, False, ()) if index == 0 else (7, True, ()))
        assert len(found.record.fields) + len(found.left_out) == table.num_columns
        taken_by_both(tmp_path, found, path.name)


def taken_by_both(folder: Path, found: Inferred, file: str) -> None:
    """Both texts are programs whose source has this record."""
    unit = f"files({json.dumps(file)}, format = {found.format}).as({found.record.name}).reply()"
    (folder / "p.istream").write_text(f"program p\n{as_text(found, file)}\nresponsive batch u() {{ {unit} }}\n")
    python = unit.replace(".as(", ".as_(").replace("format = ", 'format="').replace(").as_", '").as_')
    (folder / "p.py").write_text(
        f"from ghcm import Program, files\n{as_python(found, file)}\n"
        f'p = Program("p")\n@p.batch(responsive=True)\ndef u():\n    {python}\n'
    )
    for path in ("p.istream", "p.py"):
        source = next(task.op for task in check(folder / path).units[0].tasks if isinstance(task.op, Source))
        schema = next(task.schema for task in check(folder / path).units[0].tasks)
        assert isinstance(source.connector, Files)
        assert schema == found.record


KEYS = st.text(min_size=1, max_size=4) | st.sampled_from(["id.orig_h", "in", "class", "ts", "_x", "__y__", "1", "a b"])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["2026-01-02", "2026-01-02T03:04:05Z", "2026-13-02", "1", ""])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))
SETTINGS = settings(
    max_examples=times(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@SETTINGS
@given(st.lists(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), min_size=1, max_size=5))
def test_generated_objects(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    text = "\n".join(map(json.dumps, rows))
    try:
        found = inferred(tmp_path, "a.jsonl", text)
    except GhcmError:
        return
    assert (found.rows, found.dead) == (len(rows), ())
    native, dead = by_reference(Files("a", format_of(found), "none").format, found.record, text.encode())
    assert (len(native), dead) == (len(rows), [])
    check_text(tmp_path, found)


@SETTINGS
@given(cell_files(counts=(3, 20)))
def test_generated_cells(tmp_path: Path, made: tuple[Any, Struct, bytes]) -> None:
    format_, _, data = made
    name = {",": "csv", "\t": "tsv"}.get(format_.separator, "") if format_.name == "csv" else "zeek"
    assume(name)
    (tmp_path / "a.cells").write_bytes(data)
    try:
        found = infer(tmp_path / "a.cells", name)
    except GhcmError:
        return
    rows, dead = by_reference(format_, found.record, data)
    assert (len(rows), len(dead)) == (found.rows, len(found.dead))
    assert not [detail for detail, _ in dead if 'field "' in detail]
    check_text(tmp_path, found)


def format_of(found: Inferred) -> Any:
    from ghcm.spg.connectors import Format

    return Format(found.format)


def check_text(folder: Path, found: Inferred) -> None:
    (folder / "p.istream").write_text(f"program p\n{as_text(found, 'a')}", encoding="utf-8")
    check(folder / "p.istream")


@pytest.mark.parametrize("word", [*RESERVED, *keyword.kwlist, "_1", "__x", "é", "", "9"])
def test_names_are_names_in_both_front_ends(word: str) -> None:
    for made in (field_name(word), record_name(word)):
        assert made.isidentifier() and made.isascii() and not keyword.iskeyword(made) and made not in RESERVED


def test_what_is_nested_without_end_is_left_out(tmp_path: Path) -> None:
    deep = '{"a":' * 300 + "1" + "}" * 300
    found = inferred(tmp_path, "a.jsonl", f'{{"n": 1, "deep": {deep}}}')
    assert fields(found.record) == {"n": "n: int"}
    assert "nested more than 64 deep" in found.left_out[0]


def test_a_second_column_of_a_name_is_told(tmp_path: Path) -> None:
    found = inferred(tmp_path, "a.csv", "a,b,a\n1,2,x\n")
    assert (fields(found.record), found.left_out) == (
        {"a": "a: int", "b": "b: int"},
        ('"a": another column of that name',),
    )
