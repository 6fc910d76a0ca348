"""Whatever moment other tools take while a stream commits and compacts, they read each row once."""

import random
import threading
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from ghcm.spg.connectors import Mode
from ghcm.tables import delta
from tests.campaigns import times
from tests.tables import add, sink_of, versions, writer_of

MOMENTS = times(70)
"""For each shape of a table."""
ROWS = 3
"""Of each commit."""


def by_duckdb(path: str) -> list[int]:
    with duckdb.connect() as database:
        database.register("t", deltalake.DeltaTable(path).to_pyarrow_dataset())
        return [row[0] for row in database.execute("select count from t").fetchall()]


def by_pandas(path: str) -> list[int]:
    frame: Any = deltalake.DeltaTable(path).to_pandas()
    return [int(each) for each in frame["count"]]


def by_its_files(path: str) -> list[int]:
    read: Any = pq.read_table
    files = deltalake.DeltaTable(path).file_uris()
    return [each for file in files for each in read(file, partitioning=None)["count"].to_pylist()]


READERS: Mapping[str, Callable[[str], list[int]]] = {
    "DuckDB": by_duckdb,
    "Polars": lambda path: pl.scan_delta(path).select("count").collect()["count"].to_list(),
    "pandas": by_pandas,
    "files": by_its_files,
}


@pytest.mark.parametrize("shape", ["appended", "partitioned", "replaced"])
def test_no_row_is_missing_or_twice_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    monkeypatch.setattr(delta, "_MANY", 20)  # compactions come sooner
    mode = Mode.REPLACE if shape == "replaced" else Mode.APPEND
    sink = sink_of(tmp_path / "t", mode, partition=("word",) if shape == "partitioned" else ())
    over, begun = threading.Event(), threading.Event()

    def stream() -> None:
        writer = writer_of(sink)
        for at, version in enumerate(versions(100_000)):
            numbers = range(at * ROWS + ROWS) if mode is Mode.REPLACE else range(at * ROWS, at * ROWS + ROWS)
            add(sink, version, *((f"w{n % 3}", n) for n in numbers), writer=writer)
            begun.set()
            if over.is_set():
                break
        writer.close()

    streaming = threading.Thread(target=stream)
    streaming.start()
    assert begun.wait(60)
    chosen, last, wrong = random.Random(12), 0, list[tuple[str, int]]()
    for moment in count():
        if moment >= MOMENTS and (last > MOMENTS * ROWS // 4 or not streaming.is_alive()):
            break
        tool = chosen.choice(list(READERS))
        found = sorted(READERS[tool](str(tmp_path / "t")))
        if found != list(range(len(found))) or len(found) % ROWS or len(found) < last:
            wrong.append((tool, moment))
        last = len(found)
    over.set()
    streaming.join()
    assert wrong == []
    assert last > MOMENTS * ROWS // 4, "the stream wrote beside the readers"
