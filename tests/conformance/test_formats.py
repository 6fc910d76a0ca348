"""Files of every format and compression: Spark and the native source give what the reference gives."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession

from ghcm.lowering.types import LINE
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sources.files import FilesSource
from ghcm.spg.connectors import Files, Format
from ghcm.spg.graph import Program
from ghcm.spg.ops import Reply, Source
from ghcm.spg.reference import run
from ghcm.types import Duration, Field, Int, List, Nullable, String, Struct, Timestamp
from tests.campaigns import times
from tests.conformance.functions.units import batch_unit, program_of, task
from tests.conformance.spark_runs import agree
from tests.laws.cell_files import cell_files
from tests.laws.table_files import NESTED, PLAIN, nested_table, plain_table, write
from tests.unit.runtime.formats.decoding import drain

pytestmark = pytest.mark.slow
FLOW = Struct((Field("at", Timestamp(), "ts"), Field("src", String(), "id.orig_h"), Field("bytes", Nullable(Int()))))
TAGGED = Struct((*FLOW.fields, Field("tags", Nullable(List(String())))))
JSON = b"""{"ts": 1.5, "id.orig_h": "a", "id": {"orig_h": "not this"}, "bytes": 1}
{"ts": "2026-01-02T03:04:05.123456+0000", "id": {"orig_h": "b"}}
{"ts": 2, "id.orig_h": null, "id": {"orig_h": "not this"}}
{"ts": 3, "id": {"orig_h": "c"}, "bytes": "x"}
{"ts": 3, "id": 7, "bytes": 1}
"""
CSV = b'bytes;id.orig_h;ts;more\n1;a;1.5;x\n;"b;c";2026-01-02T03:04:05Z;\nx;d;1;\n1;e\n'
ZEEK = b"""#separator \\x09
#set_separator\t,
#empty_field\t(empty)
#unset_field\t-
#path\tconn
#fields\tts\tid.orig_h\tbytes\ttags
#types\ttime\taddr\tcount\tset[string]
1655071198.444458\ta\\x09\\\\b\t1\tx,y
1655071198.444458\tb\t-\t(empty)
-\tc\t1\t-
1\t\xff\t1\t-
1\t\\xff\t1\t-
#fields\tid.orig_h\tts\tmore
d\t2
e\t2\tz
#close\t2026
"""
FILES = {
    "json": (Format("json"), FLOW, JSON),
    "csv": (Format("csv", ";"), FLOW, CSV),
    "zeek": (Format("zeek"), TAGGED, ZEEK),
}


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


SECONDS = (
    "-0.3", "-1.0000005", "-1.0000015", "2.0000015", "-0.0000005", "1e-7", "-7", "1655071198.444458", "-86399.999999",
)  # fmt: skip
MANY = (
    "-9223372036854.775808", "-9223372036854", "-9223372036854.7753", "9223372036854", "9223372036854.774",
    "-9223372036855", "9223372036855.5", "1e300",
)  # fmt: skip
"""No moments of the years 1 to 9999; the last three are no durations either."""

PACKED: dict[str, tuple[str, str, Callable[[bytes], bytes]]] = {
    "plain": ("", "ending", bytes),
    "gzip": (".gz", "ending", gzip.compress),
    "zstd": (".zst", "ending", zstd),
    "gzip that is said": (".log", "gzip", gzip.compress),
    "zstd that is said": (".gz", "zstd", zstd),
    "none that is said": (".gz", "none", bytes),
}


def reading(files: Files, element: Struct) -> Program:
    tasks = [task("in", Source(files), (), element), task("reply", Reply(), ["in"], element)]
    return program_of(batch_unit("u", tasks))


def compare(spark: SparkSession, files: Files, element: Struct, base: Path) -> tuple[list[Row], list[str]]:
    """All give the same; the records and the raw texts of dead letters."""
    program = reading(files, element)
    expected = run(program, "u", base=base)
    rows, dead = drain(FilesSource(files, element, "in", base))
    assert sorted(map(repr, rows)) == sorted(map(repr, expected.reply or []))
    assert sorted(text for _, text in dead) == sorted(each.input for each in expected.dead)
    agree(spark, program, "u", base)
    return rows, [text for _, text in dead]


@pytest.mark.parametrize(
    ("format_name", "packed"),
    [
        ("json", "plain"),
        ("json", "zstd"),
        ("csv", "zstd that is said"),
        ("zeek", "gzip"),
        ("json", "none that is said"),
        ("zeek", "gzip that is said"),
    ],
)
def test_compressed_files_of_a_directory(format_name: str, packed: str, spark: SparkSession, tmp_path: Path) -> None:
    format_, element, data = FILES[format_name]
    ending, compression, pack = PACKED[packed]
    (tmp_path / "in").mkdir()
    for name in ("a", "b ü%20c", "_hidden", ".hidden"):
        (tmp_path / "in" / f"{name}{ending}").write_bytes(pack(data))
    rows, dead = compare(spark, Files("in", format_, compression), element, tmp_path)
    assert len(rows) == 2 * {"json": 2, "csv": 2, "zeek": 3}[format_name]
    assert len(dead) == 2 * {"json": 3, "csv": 2, "zeek": 4}[format_name]


def test_a_byte_order_mark_is_no_part_of_the_text(spark: SparkSession, tmp_path: Path) -> None:
    """Excel and PowerShell write one; of two, the second is text."""
    mark = b"\xef\xbb\xbf"
    for name, (format_, element, data) in FILES.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "plain").write_bytes(mark + data)
        (tmp_path / name / "packed.zst").write_bytes(zstd(mark + data))
        (tmp_path / name / "packed.gz").write_bytes(gzip.compress(mark + data))
        rows, _ = compare(spark, Files(name, format_), element, tmp_path)
        assert len(rows) == 3 * {"json": 2, "csv": 2, "zeek": 3}[name]
    (tmp_path / "text").write_bytes(mark + mark + b"a\n" + mark + b"b\n")
    rows, _ = compare(spark, Files("text", Format("text")), LINE, tmp_path)
    assert [row[0] for row in rows] == ["\ufeffa", "\ufeffb"]


def test_quotes_around_nothing_are_an_empty_text_where_that_is_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    lines = ["x,1,y", ",,", '"","",""', '"""","1","a,b"', '"a ""b""",,', '"\n",2,""', '""x,3,y']
    (tmp_path / "f").write_text("\n".join(["a,n,s", *lines * 9]))
    element = Struct((Field("a", Nullable(String())), Field("n", Nullable(Int())), Field("s", String())))
    rows, dead = compare(spark, Files("f", Format("csv", keeps_empty=True)), element, tmp_path)
    assert rows.count(("", None, "")) == rows.count((None, None, "")) == 9
    assert (len(rows), dead) == (63, [])


@settings(
    max_examples=times(3),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=(HealthCheck.function_scoped_fixture, HealthCheck.too_slow),
)
@given(case=cell_files(counts=(3, 80)))
def test_cells_of_every_type(case: tuple[Format, Struct, bytes], spark: SparkSession) -> None:
    format_, element, data = case
    with TemporaryDirectory() as folder:
        (Path(folder) / "in").write_bytes(data)
        compare(spark, Files("in", format_), element, Path(folder))


def test_seconds_to_the_microsecond_and_to_the_ends_of_64_bits(spark: SparkSession, tmp_path: Path) -> None:
    element = Struct((Field("at", Nullable(Timestamp())), Field("of", Nullable(Duration()))))
    pairs = [*((each, each) for each in SECONDS), *((None, each) for each in MANY), *((each, None) for each in MANY)]
    (tmp_path / "csv").write_text("\n".join(["at,of", *(f"{at or ''},{of or ''}" for at, of in pairs)]))
    (tmp_path / "json").write_text("\n".join(f'{{"at": {at or "null"}, "of": {of or "null"}}}' for at, of in pairs))
    for name in ("csv", "json"):
        rows, dead = compare(spark, Files(name, Format(name)), element, tmp_path)
        assert (len(rows), len(dead)) == (len(SECONDS) + len(MANY) - 3, 3 + len(MANY))
        assert (-300_000, -300_000) in rows


def test_a_missing_column_fails_before_anything_is_read(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("bytes,id.orig,ts\n1,a,2\n")
    with pytest.raises(ValueError, match=r'(?s)it has no column "id\.orig_h".*did you mean \\"id\.orig\\"'):
        agree(spark, reading(Files("a.csv", Format("csv")), FLOW), "u", tmp_path)


@pytest.mark.parametrize("form", ["parquet", "arrow stream"])
def test_tables_of_every_type(form: str, spark: SparkSession, tmp_path: Path) -> None:
    for element, table in ((PLAIN, plain_table(40)), (NESTED, nested_table())):
        write(table, tmp_path / "f", form)
        program = reading(Files("f", Format(form.split(maxsplit=1)[0])), element)
        assert agree(spark, program, "u", tmp_path).reply
