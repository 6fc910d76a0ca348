"""What the files of sinks look like: the same text on both engines, and all that it says comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.runtime.engine import Engine
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.sink import read
from ghcm.source import Source
from ghcm.spg.graph import Program
from tests.conformance.live_runs import Compiled
from tests.conformance.spark_runs import run_on_spark

TEXT = """program texts

record R { s: string?, t: string?, n: int? }

sink one    = files("out/one", format = csv, mode = append)
sink two    = files("out/two", format = csv, mode = append)
sink number = files("out/number", format = csv, mode = append)

KIND u {
  rows = files("in.json", format = json).as(R)
  rows.map(r => { s: r.s }).to(one)
  rows.map(r => { s: r.s, t: r.t }).to(two)
  rows.map(r => { n: r.n }).to(number)
}
"""
TEXTS = [None, "", " a ", "  ", "\t", "\x00", "a\r", "a\rb", "a\r\nb", "\n", '"', '""', "a,b", "\\", 'a\\"b', "é😀"]
TEXTS += ["\ufeff", "NULL", "\x85"]
ROWS = [{"s": text, "t": text, "n": n if n % 3 else None} for n, text in enumerate(TEXTS)]
SINKS = ("one", "two", "number")


def program_of(kind: str) -> Program:
    return lower(parse(Source("texts.istream", TEXT.replace("KIND", kind))))


def given(folder: Path) -> Path:
    folder.mkdir()
    (folder / "in.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder


def on_native(folder: Path) -> None:
    Engine(Compiled(program_of("stream")), connections=Connections(folder), state=folder / "state").run()


def written(folder: Path, sink: str) -> list[bytes]:
    """The lines of the files of a sink, in no order, without their headers."""
    files = sorted((folder / "out" / sink).glob("part-*"))
    return sorted(line for file in files for line in file.read_bytes().split(b"\n")[1:])


def rows_in(folder: Path, sink: str) -> list[tuple[object, ...]]:
    return sorted(read(program_of("stream").sink(sink), Connections(folder)), key=repr)


def test_csv_keeps_every_row_and_every_text(tmp_path: Path) -> None:
    folder = given(tmp_path / "native")
    on_native(folder)
    assert rows_in(folder, "one") == sorted([(text or None,) for text in TEXTS], key=repr)
    assert rows_in(folder, "two") == sorted([(text or None, text or None) for text in TEXTS], key=repr)
    assert rows_in(folder, "number") == sorted([(row["n"],) for row in ROWS], key=repr)
    assert {b",", b'"",""'} <= set(written(folder, "two"))
    assert [line for line in written(folder, "number") if not line.isdigit()] == [b"", *[b'""'] * 7]


@pytest.mark.slow
def test_spark_writes_the_same_text(tmp_path: Path, spark: SparkSession) -> None:
    native, other = given(tmp_path / "native"), given(tmp_path / "spark")
    on_native(native)
    done = run_on_spark(spark, program_of("batch"), "u", other)
    assert {each["rows"] for each in done.result["sinks"].values()} == {len(ROWS)}
    for sink in SINKS:
        assert [line for line in written(other, sink) if line] == [line for line in written(native, sink) if line]
        assert rows_in(other, sink) == rows_in(native, sink)
