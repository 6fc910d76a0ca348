"""What the files of sinks look like: the same text on both engines, and all that it says comes back."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from ghcm.spg.graph import Program
from tests.conformance.live_runs import Compiled
from tests.conformance.spark_runs import run_on_spark
from tests.redis_server import connected

TEXT = """program texts

record R { s: string?, t: string?, n: int?, f: float?, took: duration? }

record One { x: float, d: duration? }
record Two { n: int }

record Whole { k: int, n: int }

union Part by kind { One, Two }

sink one    = files("out/one", format = csv, mode = append)
sink two    = files("out/two", format = csv, mode = append)
sink number = files("out/number", format = csv, mode = append)
sink cells  = files("out/cells", format = csv, mode = append)
sink floats = files("out/floats", format = json, mode = append)
sink parts  = files("out/parts", format = json, mode = append)
sink means  = files("out/means", format = json, mode = append)

KIND u {
  rows = files("in.json", format = json).as(R)
  rows.map(r => { s: r.s }).to(one)
  rows.map(r => { s: r.s, t: r.t }).to(two)
  rows.map(r => { n: r.n }).to(number)
  rows.map(r => { f: r.f, took: r.took, fs: [r.f] }).to(cells)
  rows.map(r => { f: r.f, deep: { fs: [r.f, 1.0], m: map_of("k", r.f), w: map_of(1, r.took) }, took: r.took })
      .to(floats)
  files("parts.json", format = json).as(Part).map(p => { p: p, more: [p] }).to(parts)
  files("whole.json", format = json).as(Whole).map_to_pair(w => (w.k, w.n)).aggregate_by_key(mean(value)).to(means)
}
"""
TEXTS = [
    *[None, "", " a ", "  ", "\t", "\x00", "a\r", "a\rb", "a\r\nb", "\n", '"', '""', "a,b", "\\", 'a\\"b', "é😀"],
    *["\ufeff", "NULL", "\x85"],
]
FLOATS = [
    *[5.0, 1e15, 1e16, 1e18, 1e22, 9.999e22, 1e-4, 1e-5, 2e-3, 0.1, -0.0, 5e-324, 1.7976931348623157e308],
    *[2.2250738585072014e-308, 12345678.0, 123456789012345680.0, 2**-44, None, 2.0e-10],
]
TOOK = [5, 0, 1.5, -2.25, 1e-6, 9007199254.740993, 9223372036854, None]
ROWS = [
    {"s": text, "t": text, "n": n if n % 3 else None, "f": FLOATS[n], "took": TOOK[n % len(TOOK)]}
    for n, text in enumerate(TEXTS)
]
PARTS = [{"kind": "One", "x": 1e18, "d": 2}, {"kind": "Two", "n": 1, "x": 3.5}, {"kind": "One", "x": -0.0}]
WHOLE = [
    [2**63 - 1, 2**63 - 1, 2**63 - 2],
    [-(2**63), -(2**63) + 1, -1],
    [2**53 + 1, 2**53 + 2],
    [2**53 + 1, 2**53 + 4],
    [2**60 + 1] + [0] * 6,
    [2**63 - 1] * 5 + [1],
    [2**54 + 1],
    [-(2**54) - 3, 0],
    [9007199254740993, 2, 3, 5, 7, 11, 13],
    [1, 2],
]
SINKS = ("one", "two", "number", "cells", "floats", "parts", "means")


def program_of(kind: str) -> Program:
    return lower(parse(Source("texts.istream", TEXT.replace("KIND", kind))))


def given(folder: Path) -> Path:
    folder.mkdir()
    whole = [{"k": k, "n": n} for k, numbers in enumerate(WHOLE) for n in numbers]
    for name, rows in (("in", ROWS), ("parts", PARTS), ("whole", whole)):
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def on_native(folder: Path) -> None:
    Engine(Compiled(program_of("stream")), connections=connected(folder), state=folder / "state").run()


def written(folder: Path, sink: str) -> list[bytes]:
    """The lines of the files of a sink, in no order, without their headers."""
    files = sorted((folder / "out" / sink).glob("part-*"))
    lines = [file.read_bytes().split(b"\n")[file.suffix == ".csv" :] for file in files]
    return sorted(line for each in lines for line in each)


def rows_in(folder: Path, sink: str) -> list[tuple[object, ...]]:
    return sorted(read(program_of("stream").sink(sink), connected(folder)), key=repr)


def test_csv_keeps_every_row_and_every_text(tmp_path: Path) -> None:
    folder = given(tmp_path / "native")
    on_native(folder)
    assert rows_in(folder, "one") == sorted([(text or None,) for text in TEXTS], key=repr)
    assert rows_in(folder, "two") == sorted([(text, text) for text in TEXTS], key=repr)
    assert rows_in(folder, "number") == sorted([(row["n"],) for row in ROWS], key=repr)
    assert {b",", b'"",""'} <= set(written(folder, "two"))
    assert [line for line in written(folder, "number") if not line.isdigit()] == [b"", *[b'""'] * 7]


def test_floats_and_durations_are_written_as_python_does(tmp_path: Path) -> None:
    folder = given(tmp_path / "native")
    on_native(folder)
    texts = [line.partition(b',"deep"')[0] for line in written(folder, "floats")]
    assert set(texts) >= {b'{"f":5.0', b'{"f":1e+18', b'{"f":1e-05', b'{"f":-0.0', b'{"f":5e-324', b'{"f":null'}
    ends = {line.rpartition(b'"took":')[2] for line in written(folder, "floats")}
    assert ends >= {b"5}", b"0}", b"1.5}", b"-2.25}", b"1e-06}", b"null}"}
    assert written(folder, "parts")[1:] == [
        b'{"p":{"kind":"One","x":-0.0,"d":null},"more":[{"kind":"One","x":-0.0,"d":null}]}',
        b'{"p":{"kind":"One","x":1e+18,"d":2},"more":[{"kind":"One","x":1e+18,"d":2}]}',
        b'{"p":{"kind":"Two","n":1},"more":[{"kind":"Two","n":1}]}',
    ]


def test_means_of_long_ints_are_rounded_once(tmp_path: Path) -> None:
    folder = given(tmp_path / "native")
    on_native(folder)
    found = {row[0]: row[1] for row in rows_in(folder, "means")}
    assert found == {k: float(Fraction(sum(numbers), len(numbers))) for k, numbers in enumerate(WHOLE)}


@pytest.mark.slow
def test_spark_writes_the_same_text(tmp_path: Path, spark: SparkSession) -> None:
    native, other = given(tmp_path / "native"), given(tmp_path / "spark")
    on_native(native)
    done = run_on_spark(spark, program_of("batch"), "u", other)
    assert {each["rows"] for each in done.result["sinks"].values()} == {len(ROWS), len(PARTS), len(WHOLE)}
    for sink in SINKS:
        assert [line for line in written(other, sink) if line] == [line for line in written(native, sink) if line]
        assert rows_in(other, sink) == rows_in(native, sink)
