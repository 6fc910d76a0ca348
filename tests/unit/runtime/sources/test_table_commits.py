"""Delta tables that are followed: what each commit adds comes once, and nothing is passed over in silence."""

from __future__ import annotations

import shutil
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from ghcm.spg.connectors import Mode
from ghcm.tables import reading
from ghcm.types import Field, Float, Nullable, Struct
from tests.delta_logs import forget
from tests.tables import add, rows_in, sink_of, versions, writer_of
from tests.unit.runtime.sources.table_reader import WORD, Follower, put
from tests.unit.runtime.sources.test_table import rows_of


def test_commits_come_once_and_in_order(tmp_path: Path) -> None:
    put(tmp_path, ("a", 0), ("a", 1))
    followed = Follower(tmp_path)
    assert followed.until(2) == [("a", 0), ("a", 1)]
    for number in range(2, 7):
        put(tmp_path, ("b", number))
    assert [row[1] for row in followed.until(7)] == list(range(7))
    assert not followed.source.ended
    assert followed.source.partitions() == {"p"}
    position = followed.position()
    followed.source.close()
    put(tmp_path, ("c", 7))
    again = Follower(tmp_path, position)
    assert again.until(1) == [("c", 7)]
    again.source.close()


def test_a_follower_begins_as_of_a_version(tmp_path: Path) -> None:
    for number in range(4):
        put(tmp_path, ("a", number))
    followed = Follower(tmp_path, version=1)
    assert [row[1] for row in followed.until(4)] == [0, 1, 2, 3]
    followed.source.close()


def test_a_table_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    followed = Follower(tmp_path)
    assert followed.source.poll(1, lambda *_: None) is None
    assert followed.source.position() is None
    put(tmp_path, ("a", 1))
    assert followed.until(1) == [("a", 1)]
    followed.source.close()


def test_compactions_add_nothing_and_the_position_goes_on(tmp_path: Path) -> None:
    for number in range(5):
        put(tmp_path, ("a", number))
    followed = Follower(tmp_path)
    followed.until(5)
    table = deltalake.DeltaTable(str(tmp_path / "t"))
    assert table.optimize.compact()["numFilesRemoved"] == 5
    assert len(followed.until(5, version=6)) == 5
    table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    put(tmp_path, ("b", 5))
    assert followed.until(6)[5:] == [("b", 5)]
    followed.source.close()


def test_each_commit_of_a_stream_sink_is_followed(tmp_path: Path) -> None:
    """Its own compactions run beside it."""
    sink = sink_of(tmp_path / "t")
    writer = writer_of(sink)
    followed = Follower(tmp_path)
    for at, version in enumerate(versions(110)):
        add(sink, version, ("w", at), writer=writer)
    writer.close()
    assert [row[1] for row in followed.until(110)] == list(range(110))
    followed.source.close()


def test_columns_that_come_later_are_read_of_what_comes_later(tmp_path: Path) -> None:
    put(tmp_path, ("a", 1))
    record = Struct((*WORD.fields, Field("more", Nullable(Float()))))
    followed = Follower(tmp_path, record=record)
    followed.until(1)
    more = pa.table({"word": ["b"], "count": pa.array([2], pa.int64()), "more": [0.5]})
    deltalake.write_deltalake(str(tmp_path / "t"), more, mode="append", schema_mode="merge")
    assert followed.until(2) == [("a", 1, None), ("b", 2, 0.5)]
    followed.source.close()


@pytest.mark.parametrize("how", ["delete", "overwrite"])
def test_rows_that_are_taken_back_end_it(how: str, tmp_path: Path) -> None:
    put(tmp_path, ("a", 1), ("b", 2))
    followed, ignoring = Follower(tmp_path), Follower(tmp_path, rewrites="ignore")
    followed.until(2)
    ignoring.until(2)
    if how == "delete":
        deltalake.DeltaTable(str(tmp_path / "t")).delete("word = 'a'")
    else:
        put(tmp_path, ("z", 9), mode="overwrite")
    refused = followed.fails()
    assert refused.code == "GHCM-738"
    assert refused.message == 'cannot follow table "t": commit 1 removes or replaces rows'
    put(tmp_path, ("c", 3))
    assert ignoring.until(3) == [("a", 1), ("b", 2), ("c", 3)]
    ignoring.source.close()


def test_a_log_that_was_cleaned_up_too_far_ends_it(tmp_path: Path) -> None:
    put(tmp_path, ("a", 1))
    followed = Follower(tmp_path)
    followed.until(1, version=1)
    position = followed.position()
    followed.source.close()
    for number in range(3):
        put(tmp_path, ("b", number))
    forget(tmp_path / "t", 3)
    refused = Follower(tmp_path, position).fails()
    assert refused.code == "GHCM-738"
    assert refused.message == 'cannot follow table "t": its log no longer has commit 1, which comes next'
    assert refused.detail == "The log was cleaned up before this was read."


def test_a_log_that_was_cleaned_up_behind_it_is_read_on(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path, ("a", number))
    followed = Follower(tmp_path)
    followed.until(3, version=3)
    forget(tmp_path / "t", 2)
    put(tmp_path, ("b", 3))
    assert len(followed.until(4)) == 4
    followed.source.close()


@pytest.mark.parametrize("running", [True, False])
def test_another_table_in_its_place_ends_it(running: bool, tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path, ("a", number))
    followed = Follower(tmp_path)
    followed.until(3, version=3)
    position = followed.position()
    shutil.rmtree(tmp_path / "t")
    put(tmp_path, ("b", 1))
    if not running:
        followed.source.close()
        followed = Follower(tmp_path, position)
    assert followed.fails().code == "GHCM-738"


def test_a_restart_within_a_commit_goes_on_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_ROWS", 2)
    put(tmp_path, ("a", 0))
    followed = Follower(tmp_path)
    followed.until(1, version=1)
    put(tmp_path, *(("b", number) for number in range(1, 8)))
    while len(followed.rows) < 8:
        followed.until(len(followed.rows) + 1)
        rest = Follower(tmp_path, followed.position())
        assert [row[1] for row in rest.until(8 - len(followed.rows))] == list(range(len(followed.rows), 8))
        rest.source.close()
    followed.source.close()


def test_upserted_tables_can_be_read_and_not_followed(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t", Mode.UPSERT, key="word")
    add(sink, "v1", ("a", 1), ("b", 1))
    followed = Follower(tmp_path)
    followed.until(2)
    add(sink, "v2", ("b", 2), ("c", 1))
    assert sorted(rows_of(tmp_path)[0], key=repr) == rows_in(sink) == [("a", 1), ("b", 2), ("c", 1)]
    assert followed.fails().code == "GHCM-738"
