"""Snapshots of sinks read what is new and say whether they hold all; selections choose rows and name mistakes."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from shutil import copy

import pytest

from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks import table_sink
from ghcm.runtime.sinks.backend import Commit
from ghcm.runtime.sinks.sink import open_writer
from ghcm.source import Origin
from ghcm.spg.connectors import Mode, Parquet
from ghcm.spg.graph import Sink
from ghcm.supervisor import sinks
from ghcm.supervisor.problems import Problem
from ghcm.supervisor.sinks import Selection, SinkWatch, documents, select
from ghcm.types import Field, Float, Int, Nullable, String, Struct, Timestamp
from tests.redis_server import connected

COLUMNS = Struct(
    (Field("at", Timestamp()), Field("proto", String()), Field("bytes", Int()), Field("share", Nullable(Float())))
)
SECOND = 1_000_000


def sink(mode: Mode = Mode.APPEND) -> Sink:
    return Sink("flows", Parquet("flows"), mode, None, COLUMNS, Origin("t", 1, 1))


def commit(places: Connections, version: str, rows: list[tuple[object, ...]], mode: Mode = Mode.APPEND) -> None:
    writer = open_writer(sink(mode), places, writer="test")
    writer.write(rows)
    writer.prepare(version)
    writer.commit(version)
    writer.close()


@pytest.fixture
def places(tmp_path: Path) -> Connections:
    found = connected(tmp_path)
    commit(found, "v1", [(SECOND, "tcp", 10, 0.5), (2 * SECOND, "udp", 30, None)])
    commit(found, "v2", [(70 * SECOND, "tcp", 20, 1.0)])
    return found


def chosen(places: Connections, wanted: Selection) -> list[dict[str, object]]:
    return documents(select(SinkWatch(sink(), places).snapshot(), wanted))


def test_a_snapshot_follows_the_commits(places: Connections) -> None:
    watch = SinkWatch(sink(), places)
    first = watch.snapshot()
    assert (first.version, first.rows, first.whole, first.frame.height) == ("v2", 3, True, 3)
    assert watch.snapshot() is first
    commit(places, "v3", [(80 * SECOND, "tcp", 1, None)])
    second = watch.snapshot()
    assert (second.version, second.frame["bytes"].to_list()) == ("v3", [10, 30, 20, 1])
    latest = watch.latest()
    assert latest is not None and (latest.version, latest.rows) == ("v3", 4)


def test_all_who_ask_at_a_time_wait_for_one_look(places: Connections, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, looks = SinkWatch(sink(), places), list[float]()
    commits = watch.commits

    def counted(age: float) -> Sequence[Commit]:
        looks.append(age)
        return commits(age)

    monkeypatch.setattr(watch, "commits", counted)

    async def ask() -> list[Sequence[Commit]]:
        return await asyncio.gather(*(watch.looked(60.0) for _ in range(20)))

    found = asyncio.run(ask())
    assert {tuple(each.version for each in one) for one in found} == {("v1", "v2")}
    assert len(looks) == 1


def test_a_snapshot_at_a_replaced_sink_sees_the_last_content_only(tmp_path: Path) -> None:
    places = connected(tmp_path)
    watch = SinkWatch(sink(Mode.REPLACE), places)
    assert (watch.latest(), watch.snapshot().frame.height) == (None, 0)
    for number in range(3):
        commit(places, f"v{number}", [(number, "tcp", number, None)], Mode.REPLACE)
        assert watch.snapshot().frame["bytes"].to_list() == [number]


def test_a_snapshot_keeps_the_newest_rows(places: Connections, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "MOST_ROWS", 2)
    found = SinkWatch(sink(), places).snapshot()
    assert (found.whole, found.rows, found.frame["bytes"].to_list()) == (False, 3, [30, 20])


def test_a_snapshot_at_files_of_others_counts_only_what_it_has_read(
    places: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = connected(tmp_path / "theirs")
    (tmp_path / "theirs" / "flows").mkdir(parents=True)
    for file in places.path("flows").glob("*.parquet"):
        copy(str(file), tmp_path / "theirs" / "flows")
    found = SinkWatch(sink(), theirs).snapshot()
    assert (found.version, found.rows, found.whole) == (None, 3, True)
    monkeypatch.setattr(table_sink, "MOST_FILES", 1)
    found = SinkWatch(sink(), theirs).snapshot()
    assert (found.rows, found.whole) == (None, False)
    assert 0 < found.frame.height < 3


def test_rows_come_the_newest_first_and_by_time(places: Connections) -> None:
    assert [row["bytes"] for row in chosen(places, Selection())] == [20, 30, 10]
    assert [row["bytes"] for row in chosen(places, Selection(last=60))] == [20]
    assert [row["bytes"] for row in chosen(places, Selection(since=2 * SECOND, until=70 * SECOND))] == [30]
    assert [row["bytes"] for row in chosen(places, Selection(order=("bytes",), limit=2, offset=1))] == [20, 30]


def test_rows_are_chosen_by_value_and_column(places: Connections) -> None:
    wanted = Selection(where={"proto": "tcp", "bytes": "10"}, columns=("bytes", "at"))
    assert chosen(places, wanted) == [{"bytes": 10, "at": "1970-01-01T00:00:01.000000Z"}]
    assert chosen(places, Selection(where={"share": "1.0"}, columns=("proto",))) == [{"proto": "tcp"}]
    assert chosen(places, Selection(where={"at": "1970-01-01T00:00:02Z"}, columns=("share",))) == [{"share": None}]
    assert chosen(places, Selection(where={"proto": "' or 1=1"})) == []


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        (Selection(order=("-byts",)), 'there is no column "byts"', 'did you mean "bytes"?'),
        (Selection(columns=("prto",)), 'there is no column "prto"', 'did you mean "proto"?'),
        (Selection(where={"bytes": "many"}), 'column "bytes" cannot be "many": it is int', ""),
        (Selection(time="bytes", last=1), 'column "bytes" tells no time: it is int', ""),
    ],
)
def test_mistakes_are_named(places: Connections, wanted: Selection, message: str, hint: str) -> None:
    with pytest.raises(Problem) as caught:
        chosen(places, wanted)
    assert (caught.value.status, caught.value.message, caught.value.hint) == (422, message, hint)
