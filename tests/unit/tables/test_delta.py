"""Delta tables: other tools read them, repeated commits are one, small files do not add up, columns may be added."""

import datetime
import json
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sinks.sink import latest_version, read, rows_of_call, view
from ghcm.spg.connectors import Mode
from ghcm.tables import delta
from ghcm.tables.delta import DeltaTable
from ghcm.types import (
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
from tests.redis_server import connected
from tests.tables import add, rows_in, sink_of, versions, writer_of

# --- other tools ------------------------------------------------------------------------------------------------------

MANY = Struct(
    (
        Field("key", String()),
        Field("n", Nullable(Int())),
        Field("small", Int32()),
        Field("x", Float()),
        Field("price", Decimal(12, 3)),
        Field("at", Timestamp()),
        Field("day", Nullable(Date())),
        Field("took", Nullable(Duration())),
        Field("state", Enumeration(("up", "down"))),
        Field("tags", List(Nullable(String()))),
        Field("inner", Struct((Field("a", Int()), Field("waits", List(Duration()))))),
        Field("counts", Map(String(), Int())),
    )
)


def many(number: int) -> Row:
    import decimal

    price = decimal.Decimal(number).scaleb(-3)
    key, day = f"k{number}", 20_000 + number
    return (key, number, -number, number / 4, price, number, day, 5, "up", ["a", None], (number, [1, 2]), {"a": number})


def test_other_tools_read_what_is_written(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t", columns=MANY)
    writer = writer_of(sink)
    for at, version in enumerate(versions(3)):
        add(sink, version, *(many(number) for number in range(at * 2, at * 2 + 2)), writer=writer)
    writer.close()
    path = sink.connector.address[1]
    assert [row[0] for row in rows_in(sink)] == [f"k{n}" for n in range(6)]
    assert rows_in(sink)[1] == many(1)

    frame = pl.read_delta(path).sort("key")
    assert frame["took"].to_list() == [5] * 6
    assert frame["at"].dtype == pl.Datetime("us", "UTC")
    assert frame["counts"].to_list()[3] in ([{"key": "a", "value": 3}], {"a": 3})
    assert pl.scan_delta(path).filter(pl.col("n") > 3).collect()["key"].sort().to_list() == ["k4", "k5"]

    pandas: Any = deltalake.DeltaTable(path).to_pandas()
    assert sorted(pandas["key"]) == [f"k{n}" for n in range(6)]
    assert pandas["at"].min() == datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

    with duckdb.connect() as database:
        database.register("t", deltalake.DeltaTable(path).to_pyarrow_dataset())
        assert database.execute("select sum(n), sum(price), min(state) from t").fetchone() is not None
        files = [str(Path(path) / file.name) for file in DeltaTable(Path(path)).live()]
        assert database.execute("select sum(n) from read_parquet(?)", [files]).fetchone() == (15,)


def test_columns_say_what_delta_has_no_type_for(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t", columns=MANY)
    add(sink, "v1", many(1))
    fields = {field.name: field for field in deltalake.DeltaTable(str(tmp_path / "t")).schema().fields}
    assert fields["took"].metadata == {"ghcm.type": "duration"}
    assert json.loads(fields["took"].type.to_json()) == "long"
    assert fields["state"].metadata == {"ghcm.type": "enum {up, down}"}
    assert (fields["key"].nullable, fields["n"].nullable) == (False, True)


def test_commits_of_others_are_versions_too(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t")
    add(sink, "v1", ("a", 1))
    pl.DataFrame({"word": ["b"], "count": [2]}).write_delta(str(tmp_path / "t"), mode="append")
    assert rows_in(sink) == [("a", 1), ("b", 2)]
    look = view(sink, connected(tmp_path))
    assert [(each.version, each.rows) for each in look.commits()] == [("v1", 1), ("2", 1)]
    assert look.snapshot(10).frame.height == 2
    assert rows_in(sink, "v1") == [("a", 1)]
    assert rows_of_call(sink, connected(tmp_path), call="2", limit=10).rows == [("b", 2)]
    add(sink, "v2", ("c", 3))
    assert look.snapshot(10).frame.rows() == [("a", 1), ("b", 2), ("c", 3)]


def test_a_commit_says_whose_it_is(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t")
    add(sink, versions(7)[-1], ("a", 1))
    table = deltalake.DeltaTable(str(tmp_path / "t"))
    said = table.history(1)[0]
    assert (said["ghcm.version"], said["ghcm.writer"], said["ghcm.rows"]) == (versions(7)[-1], "job", "1")
    assert table.transaction_version("job-main-out-0a1b2c3d") == 7


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "a table" / "100% é#")
    for version in versions(2):
        add(sink, version, ("a", 1))
    assert rows_in(sink) == [("a", 1), ("a", 1)]
    assert rows_in(sink, versions(1)[0]) == [("a", 1)]


# --- commits ----------------------------------------------------------------------------------------------------------


def test_versions_of_another_run_are_not_taken_for_committed(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t")
    for version in versions(3):
        add(sink, version, ("a", 1))
        add(sink, version, ("a", 1))
    assert len(rows_in(sink)) == 3
    for version in versions(2, "ffffffff"):
        add(sink, version, ("b", 1))
    assert len(rows_in(sink)) == 5


def test_a_repeated_commit_is_recognised_when_the_log_has_forgotten_it(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t")
    for version in versions(3):
        add(sink, version, ("a", 1))
    table = deltalake.DeltaTable(str(tmp_path / "t"))
    table.create_checkpoint()
    for number in range(table.version()):
        (tmp_path / "t" / "_delta_log" / f"{number:020d}.json").unlink()
    add(sink, versions(2)[-1], ("a", 1))
    assert len(rows_in(sink)) == 3
    with pytest.raises(GhcmError, match="has no version"):
        rows_in(sink, versions(1)[0])


def test_replacing_goes_on_beside_compactions(tmp_path: Path) -> None:
    sink, over = sink_of(tmp_path / "t", Mode.REPLACE), threading.Event()
    appended = sink_of(tmp_path / "t")
    for number in range(52):
        add(appended, f"a{number}", ("old", number))

    def tidy() -> None:
        while not over.is_set():
            DeltaTable(tmp_path / "t").tidy()

    tidying = threading.Thread(target=tidy)
    tidying.start()
    for number in range(10):
        add(sink, f"r{number}", ("new", number))
        assert rows_in(sink) == [("new", number)]
    over.set()
    tidying.join()


def test_threads_that_append_lose_and_double_nothing(tmp_path: Path) -> None:
    appended, failed = sink_of(tmp_path / "t"), []

    def append(name: str) -> None:
        try:
            writer = writer_of(appended, name)
            for number in range(20):
                add(appended, f"{name}-{number}", (name, number), writer=writer)
            writer.close()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=append, args=(f"w{n}",)) for n in range(3)]
    for thread in threads:
        thread.start()
    seen = 0
    while any(thread.is_alive() for thread in threads):
        found = rows_in(appended)
        assert len(set(found)) == len(found) >= seen
        seen = len(found)
    assert failed == []
    assert len(set(rows_in(appended))) == len(rows_in(appended)) == 60


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t")
    add(sink, "v1", ("a", 1))
    add(sink, "v2", ("b", 1))
    (tmp_path / "t" / "_delta_log" / f"{1:020d}.json").write_text('{"add": ')
    with pytest.raises(GhcmError, match="its log cannot be followed") as refused:
        rows_in(sink)
    assert refused.value.code == "GHCM-733"
    assert "_delta_log" in refused.value.hint


def test_parquet_files_of_others_are_not_written_into(tmp_path: Path) -> None:
    pl.DataFrame({"word": ["a"], "count": [1]}).write_parquet(tmp_path / "a.parquet")
    assert rows_in(sink_of(tmp_path)) == [("a", 1)]
    with pytest.raises(GhcmError, match="holds files that GHCM has not written"):
        writer_of(sink_of(tmp_path))


# --- small files ------------------------------------------------------------------------------------------------------


def test_many_commits_leave_few_files_and_readers_see_whole_versions(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t")
    writer, over, wrong = writer_of(sink), threading.Event(), list[object]()

    def look() -> None:
        last = 0
        while not over.is_set():
            found = [row[1] for row in read(sink, connected(tmp_path))]
            if sorted(map(str, found)) != sorted(map(str, range(len(found)))) or len(found) % 3 or len(found) < last:
                wrong.append(found)
            last = len(found)

    reader = threading.Thread(target=look)
    writer.write([("w", n) for n in range(3)])
    writer.prepare("first")
    writer.commit("first")
    reader.start()
    most = 0
    for at, version in enumerate(versions(160), 1):
        add(sink, version, *(("w", at * 3 + n) for n in range(3)), writer=writer)
        most = max(most, len(DeltaTable(tmp_path / "t").live()))
    writer.close()
    over.set()
    reader.join()
    assert wrong == []
    assert most <= 120
    assert [row[1] for row in sorted(rows_in(sink), key=lambda row: int(str(row[1])))] == list(range(483))
    assert latest_version(sink, connected(tmp_path)) == versions(160)[-1]


def test_after_a_compaction_that_came_late_the_next_one_finds_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "_MANY", 8)
    sink, table = sink_of(tmp_path / "t"), DeltaTable(tmp_path / "t")
    with closing(writer_of(sink)) as writer:
        for version in versions(5):
            add(sink, version, ("w", 1), writer=writer)
    table.tidy()
    assert len(table.live()) == 1


def test_a_view_reads_on_over_a_compaction(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t")
    look = view(sink, connected(tmp_path))
    writer = writer_of(sink)
    for at, version in enumerate(versions(60)):
        add(sink, version, ("w", at), writer=writer)
        found = look.snapshot(1000)
        assert (found.rows, found.frame["count"].to_list()) == (at + 1, list(range(at + 1)))
    writer.close()
    fresh = view(sink, connected(tmp_path)).snapshot(1000)
    assert sorted(fresh.frame["count"].to_list()) == list(range(60))


def test_what_was_replaced_long_ago_is_removed_and_what_is_prepared_is_not(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t", Mode.REPLACE)
    for number in range(3):
        add(sink, f"v{number}", ("a", number))
    waiting = writer_of(sink)
    waiting.write([("late", 1)])
    waiting.prepare("late")
    long_ago = 1_600_000_000
    import os

    for file in (tmp_path / "t").rglob("*.parquet"):
        os.utime(file, (long_ago, long_ago))
    log = tmp_path / "t" / "_delta_log"
    for file in log.glob("*.json"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line in lines:
            if "remove" in line:
                line["remove"]["deletionTimestamp"] = long_ago * 1000
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    DeltaTable(tmp_path / "t").tidy()
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 1
    assert rows_in(sink) == [("a", 2)]
    waiting.commit("late")
    waiting.close()
    assert rows_in(sink) == [("late", 1)]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(GhcmError, match="need the Python package deltalake"):
        delta.deltalake()


def test_what_the_page_shows_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(sink_of(tmp_path / "out" / "pages", columns=Struct((Field("page", String()),))), "v1", ("/a",), ("/b",))
    text = (Path(__file__).parents[3] / "docs" / "tables.md").read_text(encoding="utf-8")
    shown = text.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(shown, found)
    assert found["pages"].to_table().num_rows == found["polars"].read_delta("out/pages").height == 2
