"""Columns and keys of Delta tables: what may be added, what is refused, which row of a key stays."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.sinks.sink import rows_of_call, view
from ghcm.spg.connectors import Mode
from ghcm.tables.versions import STAGING
from ghcm.types import Duration, Field, Float, Int, Nullable, String, Struct
from tests.redis_server import connected
from tests.tables import WORD, add, rows_in, sink_of, versions, writer_of


def with_columns(*more: Field, base: Sequence[Field] = WORD.fields) -> Struct:
    return Struct((*base, *more))


def test_new_columns_that_may_be_null_are_added(tmp_path: Path) -> None:
    old = sink_of(tmp_path / "t")
    add(old, "v1", ("a", 1))
    wider = with_columns(Field("took", Nullable(Duration())), Field("note", Nullable(String())))
    new = sink_of(tmp_path / "t", columns=wider)
    add(new, "v2", ("b", 2, 7, None))
    assert rows_in(new) == [("a", 1, None, None), ("b", 2, 7, None)]
    assert rows_in(old) == [("a", 1), ("b", 2)]
    add(old, "v3", ("c", 3))  # who knows less may go on
    assert rows_in(new)[-1] == ("c", 3, None, None)
    assert pl.read_delta(str(tmp_path / "t")).sort("word")["took"].to_list() == [None, 7, None]


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        (with_columns(Field("size", Int())), 'It has no column "size"'),
        (with_columns(base=(WORD.fields[0], Field("count", Float()))), 'Its column "count" is int, and that of'),
        (with_columns(base=(WORD.fields[0], Field("count", Duration()))), "is int, and that of these records duration"),
        (with_columns(base=(WORD.fields[0], Field("count", Nullable(Int())))), 'Its column "count" holds no nulls'),
        (with_columns(base=WORD.fields[:1]), 'Its column "count" cannot be null'),
    ],
)
def test_other_changes_are_refused_before_a_row_is_written(columns: Struct, why: str, tmp_path: Path) -> None:
    add(sink_of(tmp_path / "t"), "v1", ("a", 1))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(GhcmError, match="cannot take these records") as refused:
        writer_of(sink_of(tmp_path / "t", columns=columns))
    assert why in refused.value.detail
    assert sorted(tmp_path.rglob("*")) == before


def test_replacing_brings_its_own_columns(tmp_path: Path) -> None:
    add(sink_of(tmp_path / "t", Mode.REPLACE), "v1", ("a", 1))
    other = Struct((Field("x", Float()),))
    add(sink_of(tmp_path / "t", Mode.REPLACE, other), "v2", (1.5,))
    assert rows_in(sink_of(tmp_path / "t", Mode.REPLACE, other)) == [(1.5,)]
    assert pl.read_delta(str(tmp_path / "t")).rows() == [(1.5,)]


# --- upsert -----------------------------------------------------------------------------------------------------------


def test_the_last_row_of_each_key_stays(tmp_path: Path) -> None:
    columns = Struct((Field("word", Nullable(String())), Field("count", Int())))
    sink = sink_of(tmp_path / "t", Mode.UPSERT, columns, "word")
    writer = writer_of(sink)
    add(sink, "v1", ("a", 1), ("b", 1), (None, 1), ("a", 2), writer=writer)
    assert rows_in(sink) == [("a", 2), ("b", 1), (None, 1)]
    add(sink, "v2", ("b", 3), (None, 3), ("c", 3), writer=writer)
    writer.commit("v1")  # a late repetition brings nothing back
    writer.close()
    assert rows_in(sink) == [("a", 2), ("b", 3), ("c", 3), (None, 3)]
    assert rows_in(sink, "v1") == [("a", 2), ("b", 1), (None, 1)]
    found = rows_of_call(sink, connected(tmp_path), call="v1", limit=10)
    assert (sorted(found.rows, key=repr), found.total) == ([("a", 2), ("b", 1), (None, 1)], 3)
    assert view(sink, connected(tmp_path)).snapshot(10).frame.height == 4


def test_an_upsert_that_was_prepared_is_merged_once_by_the_next_writer(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t", Mode.UPSERT, WORD, "word")
    first = writer_of(sink)
    add(sink, versions(1)[0], ("a", 1), ("b", 1), writer=first)
    first.write([("b", 2)])
    first.prepare(versions(2)[1])  # it dies here
    second = writer_of(sink)
    second.recover(keep={versions(2)[1]})
    for _ in range(2):
        second.commit(versions(2)[1])
    assert rows_in(sink) == [("a", 1), ("b", 2)]
    assert [path for path in (tmp_path / "t" / STAGING).iterdir() if path.name.startswith("job")] == []


_LAST_OF_EACH = """
import sys
from pathlib import Path
import polars
from ghcm.runtime.sinks.table_sink import last_by_polars
from ghcm.tables.delta_columns import last_of_each
folder = Path(sys.argv[1])
polars.DataFrame({"key": [1.0, 2.0, None, 2.0, 0.0, -0.0], "n": range(6)}).write_parquet(folder / "a.parquet")
polars.DataFrame({"key": [None, 7.0], "n": [6, 7]}).write_parquet(folder / "gone-b.parquet")
files = [folder / "a.parquet", folder / "gone-b.parquet"]
found = last_of_each(files, ["key"], [], folder / "kept.parquet", last_by_polars)
print(polars.from_arrow(found).rows(), polars.read_parquet(folder / "kept.parquet").rows(), "pandas" in sys.modules)
"""


def test_the_last_row_of_each_key_is_found_without_pandas(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LAST_OF_EACH, str(tmp_path)], capture_output=True, text=True, check=False
    )
    kept, gone = "(1.0, 0), (2.0, 3), (-0.0, 5)", "(None, 6, True), (7.0, 7, True)"
    assert done.stdout == f"[(1.0, 0, False), (2.0, 3, False), (-0.0, 5, False), {gone}] [{kept}] False\n", done.stderr
