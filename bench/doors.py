"""Files as sources of Spark jobs: the job that GHCM writes beside `spark.read` with the same schema, in turn, in one
run, over Parquet, JSON lines and CSV; count and sums are compared. In spoilt files 1 in 10,000 lines is another.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from bench.table import Row
from ghcm.formats.records import json_parser, object_reader
from ghcm.types import Field, Float, Int, Nullable, String, Struct, Timestamp

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["measure"]

RECORD = Struct(
    (
        Field("at", Timestamp()),
        Field("src", String()),
        Field("proto", String()),
        Field("bytes", Int()),
        Field("took", Nullable(Float())),
        Field("label", Nullable(String())),
    )
)
SCHEMA = "at timestamp, src string, proto string, bytes bigint, took double, label string"
TOTALS = "count(*) AS n, sum(bytes) AS bytes, sum(length(src)) AS letters, max(at) AS last, count(label) AS labels"
UNIT = """
responsive batch NAME() {
  files("FILES", format = FORMAT).as(Flow).map_to_pair(f => (f.proto, f))
    .aggregate_by_key(n = count(), bytes = sum(f => f.bytes), letters = sum(f => length(f.src)),
      last = max(f => f.at), labels = count(f => f.label))
    .reply()
}
"""
MADE = (
    "timestamp_micros(1767225600000000 + id * 1000) AS at",
    "concat('10.', id % 7, '.', id % 251, '.', id % 253) AS src",
    "CASE id % 3 WHEN 0 THEN 'tcp' WHEN 1 THEN 'udp' ELSE 'icmp' END AS proto",
    "id % 1500 AS bytes",
    "IF(id % 5 = 0, NULL, (id % 1000) / 8D) AS took",
    "IF(id % 4 = 0, 'Benign', NULL) AS label",
)
_LINE = '{"at":"2026-01-01T00:00:00Z","src":"10.0.0.1","proto":"tcp","bytes":1,"took":1.5}'
SPOILT = {
    "json": (
        "no record", "{", "[]", f"{_LINE} x", f"{_LINE}{_LINE}", _LINE.replace("1.5", "NaN"),
        _LINE.replace(":1,", ':"1",'),
        _LINE.replace('"tcp"', "6"), _LINE.replace(":1,", ":9223372036854775808,"), _LINE.replace("tcp", "\\ud800"),
        _LINE.replace("01-01", "02-30"), _LINE.replace(',"bytes":1', ""), _LINE.replace('"tcp"', "null"),
        _LINE.replace('"2026-01-01T00:00:00Z"', "1767225600.0000005"), _LINE.replace("tcp", "t\\u0063p"),
        _LINE.replace(":1,", ':1,"bytes":2,'),
    ),
    "csv": (
        "no record", "a,b,c,d,e,f,g", "2026-02-30T00:00:00Z,10.0.0.1,tcp,1,1.5,", "today,10.0.0.1,tcp,1,1.5,",
        "2026-01-01T00:00:00Z,10.0.0.1,tcp,x,1.5,", "2026-01-01T00:00:00Z,10.0.0.1,tcp,1,NaN,",
        "2026-01-01T00:00:00Z,10.0.0.1,tcp,9223372036854775808,1.5,", "1767225600.0000005,10.0.0.1,tcp,1,1.5,",
        '2026-01-01T00:00:00Z,"10,1",tcp,1,1.5,"a ""b"""', '2026-01-01T00:00:00Z,10.0.0.1,tcp,1,1.5,"two\nlines"',
    ),
}  # fmt: skip
"""Lines in the place of others."""
FORMATS = ("parquet", "json", "csv")


def measure(rows: int, runs: int, formats: Sequence[str] = FORMATS) -> list[Row]:
    """So many rows of each format; the median of interleaved runs."""
    from ghcm.runtime.settings import Settings
    from ghcm.runtime.spark.session import Session

    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        spark = Session(Settings().spark, 2, Path(folder)).get()
        write(spark, Path(folder), rows, formats)
        for format_ in formats:
            found += compared(spark, Path(folder), format_, rows, runs)
        spark.stop()
    return found


def write(spark: SparkSession, folder: Path, rows: int, formats: Sequence[str]) -> None:
    """The files of each format, clean and spoilt."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.ansi.enabled", False)
    made = spark.range(0, rows, 1, 2).selectExpr(*MADE)
    form = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"
    for format_ in formats:
        options: dict[str, Any] = {} if format_ == "parquet" else {"timestampFormat": form}
        options |= {"header": True} if format_ == "csv" else {}
        made.write.format(format_).options(**options).save(str(folder / format_))
        if format_ in SPOILT:
            (folder / f"{format_}_spoilt").mkdir()
            for path in (folder / format_).glob("part-*"):
                spoil(path, folder / f"{format_}_spoilt" / path.name, SPOILT[format_])


def spoil(path: Path, to: Path, lines: tuple[str, ...]) -> None:
    """A file in which one line in 10,000 is another."""
    with path.open("rb") as clean, to.open("wb") as spoilt:
        for number, line in enumerate(clean):
            at, place = divmod(number, 10_000)
            spoilt.write(lines[at % len(lines)].encode() + b"\n" if place == 5_000 else line)


def compared(spark: SparkSession, folder: Path, format_: str, rows: int, runs: int) -> list[Row]:
    """GHCM over clean and spoilt files, and Spark alone over the clean ones."""
    units = {"clean": _ghcm(spark, folder, format_, format_)}
    if format_ in SPOILT:
        units["spoilt"] = _ghcm(spark, folder, format_, f"{format_}_spoilt")
    contestants = {"spark.read": _spark(spark, folder, format_), **units}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    totals: dict[str, object] = {}
    for number in range(runs + 1):
        for name, run in contestants.items():
            begun, used = time.perf_counter(), cpu()
            totals[name] = run()
            if number:
                times[name].append((time.perf_counter() - begun, cpu() - used))
    if totals["clean"] != totals["spark.read"]:
        raise SystemExit(f"{format_}: GHCM counts {totals['clean']}, Spark {totals['spark.read']}")
    middle = {
        name: [sorted(each)[len(each) // 2] for each in zip(*found, strict=True)] for name, found in times.items()
    }
    return [
        Row(
            "doors",
            f"{format_}, {name}",
            f"{seconds:.1f} s, {used:.1f} CPU s",
            _beside(name, middle),
            f"{rows:,} rows, warm, median of {runs}",
        )
        for name, (seconds, used) in middle.items()
    ]


def _beside(name: str, middle: dict[str, list[float]]) -> str:
    if name == "spark.read":
        return ""
    peer = "clean" if name == "spoilt" else "spark.read"
    ratios = [one / other for one, other in zip(middle[name], middle[peer], strict=True)]
    return f"{ratios[0]:.2f} x {peer}, {ratios[1]:.2f} x its CPU time"


def cpu() -> float:
    """The CPU seconds of this process and all of its children."""
    own = psutil.Process()
    times = [each.cpu_times() for each in (own, *own.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _spark(spark: SparkSession, folder: Path, format_: str) -> Callable[[], object]:
    def run() -> object:
        options: dict[str, Any] = {"header": True} if format_ == "csv" else {}
        read = spark.read.schema(SCHEMA).format(format_).options(**options).load(str(folder / format_))
        return sorted(tuple(map(str, row)) for row in read.groupBy("proto").agg(*_totals()).collect())

    return run


def _totals() -> list[Any]:
    from pyspark.sql import functions as F

    return [F.expr(each) for each in TOTALS.split(", ")]


def _ghcm(spark: SparkSession, folder: Path, format_: str, files: str) -> Callable[[], object]:
    from ghcm.driver import build
    from ghcm.runtime.bundle import Bundle

    source, fields = folder / f"{files}.istream", ", ".join(f"{each.name}: {each.type}" for each in RECORD.fields)
    unit = UNIT.replace("NAME", "read").replace("FILES", f"{files}/part-*").replace("FORMAT", format_)
    source.write_text(f"program doors\n\nrecord Flow {{ {fields} }}\n{unit}", encoding="utf-8")
    job = Bundle.open(build(source, folder / f"{files}.ghcm")).unit_module("read", "spark")

    def run() -> object:
        context = {"call": f"{time.monotonic_ns()}", "base": str(folder), "dead": str(folder / f"dead_{files}")}
        done = job.run(spark, {}, context)
        if not done["dead"] == letters_in(folder, files, format_):
            raise SystemExit(f"{files}: {done['dead']} dead letters, {letters_in(folder, files, format_)} expected")
        return sorted(tuple(str(_plain(value)) for value in _flat(row)) for row in done["reply"])

    return run


def _flat(row: dict[str, Any]) -> list[Any]:
    """Key and totals in the order of Spark's."""
    value = row["value"]
    return [row["key"], *(value[name] for name in ("n", "bytes", "letters", "last", "labels"))]


def _plain(value: Any) -> Any:
    """A timestamp as Spark's rows show it."""
    return value.replace("T", " ").removesuffix("Z") if isinstance(value, str) and value[:2] == "20" else value


def letters_in(folder: Path, files: str, format_: str) -> int:
    """How many of the lines in the place of others are no records, as the exact reader says."""
    if files == format_:
        return 0
    bad = [not _is_record(line, format_) for line in SPOILT[format_]]
    count = 0
    for path in (folder / format_).glob("part-*"):
        with path.open("rb") as lines:
            whole = sum(1 for _ in lines)
        count += sum(bad[at % len(bad)] for at in range(max(0, (whole - 5_001) // 10_000 + 1)))
    return count


def _is_record(line: str, format_: str) -> bool:
    from ghcm.formats.csv_records import CsvRecords, csv_records

    try:
        if format_ == "json":
            object_reader(RECORD)(json_parser(written=False)(line))
            return True
        records = CsvRecords(RECORD)
        records.begin(list(RECORD.names))
        for cells, raw, _ in csv_records(line.encode().splitlines(keepends=True), ","):
            records.take(cells, raw, "")
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    print(json.dumps([row.figure for row in measure(int(sys.argv[1]), 1)]))
