"""Who listens to a sink over HTTP is told of each commit once, also where he comes again later."""

import asyncio
import json
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import SinkSnapshot
from ghcm.runtime.sinks.sink import open_writer
from ghcm.source import Origin
from ghcm.spg.connectors import Mode, Parquet, Sql
from ghcm.spg.graph import Sink
from ghcm.supervisor import sink_events
from ghcm.supervisor.sinks import SinkWatch
from ghcm.types import Field, Int, Struct
from tests.unit.supervisor.serving import PROGRAM, Served, serving

NUMBERS = Struct((Field("n", Int()),), "Number")
UNITS = """
sink noted = parquet("noted", mode = append)

responsive stream note(least: int) { watch.totals.read().filter(p => p.value >= least).to(noted) }
"""
BOTH = [{"key": "=1+1", "value": 4}, {"key": "tea", "value": 8}]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop"), PROGRAM + UNITS, access={"required": True}) as served:
        yield served


@dataclass(frozen=True)
class Listening:
    """An answer that has begun, whose events come one by one."""

    answer: HTTPResponse

    def event(self) -> dict[str, str]:
        """The next event, its data read, as soon as it has come."""
        found: dict[str, str] = {}
        while line := self.answer.readline().decode().rstrip("\n"):
            name, _, text = line.partition(":")
            found[name] = text.strip()
        return found

    def told(self) -> tuple[str, str | None, list[Any], int]:
        """Kind, id, rows in the order of their keys, and how many there are in all, of the next event."""
        found = self.event()
        data = json.loads(found["data"])
        return found["event"], found.get("id"), sorted(data["rows"], key=lambda row: row["key"]), data["total"]


@contextmanager
def listening(shop: Served, sink: str, after: str = "", **headers: str) -> Generator[Listening]:
    """Somebody who listens, and has been answered."""
    connection = HTTPConnection("127.0.0.1", shop.port, timeout=60)
    try:
        asked = {name.replace("_", "-"): value for name, value in headers.items()} | shop.token("read:shop")
        connection.request("GET", f"/programs/shop/sinks/{sink}/events{after}", headers=asked)
        found = Listening(connection.getresponse())
        assert found.answer.status == 200 and found.answer.headers["content-type"].startswith("text/event-stream")
        begun = found.event()
        assert begun.pop("retry") == "1000" and ("id" in begun) == (sink == "noted")
        yield found
    finally:
        connection.close()


def call(shop: Served, unit: str, least: int) -> str:
    """The version that a call has committed, which is its id."""
    found = shop.post(f"/programs/shop/units/{unit}/calls?wait=60", {"least": least}, **shop.token("call:shop")).json
    assert found["state"] == "done", found
    return str(found["id"])


def test_each_commit_is_told_once_also_to_who_comes_again(shop: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(shop, "noted") as live:
        first = call(shop, "note", 5)
        assert live.told() == ("rows", first, [BOTH[1]], 1)
    second = call(shop, "note", 0)
    with listening(shop, "noted", "?after=start", Last_Event_ID=first) as again:
        assert again.told() == ("rows", second, BOTH, 2)
        third = call(shop, "note", 100)
        assert again.told() == ("rows", third, [], 0)
    monkeypatch.setattr(sink_events, "_ROWS", 1)
    with listening(shop, "noted", "?after=start") as all_of_it:
        assert all_of_it.told() == ("rows", first, [BOTH[1]], 1)
        parts = [all_of_it.told(), all_of_it.told()]  # the version alone is told with the last of its rows
        assert [id for _, id, _, _ in parts] == [f"{second}~1", second]
        assert sorted((row for _, _, rows, _ in parts for row in rows), key=lambda row: row["key"]) == BOTH
        assert all_of_it.told() == ("rows", third, [], 0)
    with listening(shop, "noted", Last_Event_ID=f"{second}~1") as rest_of_it:
        assert [rest_of_it.told(), rest_of_it.told()] == [parts[1], ("rows", third, [], 0)]


def test_rows_of_a_table_that_can_no_longer_be_told_apart_are_a_problem(tmp_path: Path) -> None:
    places = Connections(tmp_path, sql={"db": "sqlite:///data.db"})
    sink = Sink("rows", Sql("db", "rows"), Mode.APPEND, None, NUMBERS, Origin("t", 1, 1))
    writer = open_writer(sink, places, writer="w")
    versions = [f"job-u-rows-{number:010d}-0123abcd" for number in range(6)]

    def commit(*numbers: int) -> None:
        for number in numbers:
            writer.write([(number,)])
            writer.prepare(versions[number])
            writer.commit(versions[number])

    async def told(after: str | None, *then: int) -> list[str]:
        """What is told behind a version: at once, and when these commits have come."""
        events = sink_events.Listener(SinkWatch(sink, places), "p", lambda: False, after).events()
        _, first = await anext(events), await anext(events)
        commit(*then)
        return [first, *[each async for each in events]]

    commit(0, 1)
    for after, then in ((versions[0], (2, 3)), (None, (4, 5))):
        row, problem = asyncio.run(told(after, *then))
        assert row.startswith("event: rows") and f'"rows":[{{"n":{then[0] - 1}}}]' in row
        assert problem.startswith("event: problem") and '"code":"GHCM-732"' in problem
    writer.close()
    places.close()


@contextmanager
def written(folder: Path, mode: Mode) -> Generator[tuple[SinkWatch, Callable[[int], None]]]:
    """A table that is watched, and what commits a number to it."""
    places = Connections(folder)
    sink = Sink("rows", Parquet("rows"), mode, None, NUMBERS, Origin("t", 1, 1))
    writer = open_writer(sink, places, writer="w")

    def commit(number: int) -> None:
        writer.write([(number,)])
        writer.prepare(f"v{number}")
        writer.commit(f"v{number}")

    with closing(places), closing(writer):
        yield SinkWatch(sink, places), commit


def test_who_is_cut_off_before_the_first_commit_begins_with_it(tmp_path: Path) -> None:
    async def begun() -> str:
        return await anext(sink_events.Listener(watch, "p", lambda: False, last).events())

    with written(tmp_path, Mode.APPEND) as (watch, commit):
        last = None
        assert asyncio.run(begun()) == "id: start\nretry: 1000\n\n"
        commit(1)
        last = "v1"
        assert asyncio.run(begun()) == "id: v1\nretry: 1000\n\n"


def test_a_listener_is_stopped_between_commits_that_wait_for_him(tmp_path: Path) -> None:
    async def told() -> list[str]:
        return [each async for each in sink_events.Listener(watch, "p", lambda: next(ends), None).events()]

    with written(tmp_path, Mode.APPEND) as (watch, commit):
        for number in range(3):
            commit(number)
        ends = iter([False, False, True])  # asked first, and before each event
        assert [each.split("\n")[1] for each in asyncio.run(told())[1:]] == ["id: v0"]


def test_a_state_that_is_newer_than_the_commit_seen_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def told() -> list[str]:
        return [each async for each in sink_events.Listener(watch, "p", lambda: next(ends), None).events()]

    with written(tmp_path, Mode.REPLACE) as (watch, commit):
        commit(1)
        snapshot = watch.snapshot

        def newer() -> SinkSnapshot:
            if snapshot().version == "v1":
                commit(2)
            return snapshot()

        monkeypatch.setattr(watch, "snapshot", newer)
        ends = iter([False, False, False, True, True])
        assert [each.split("\n")[1] for each in asyncio.run(told())[1:]] == ["id: v2"]


def test_of_a_sink_that_keeps_the_latest_it_is_told_what_it_holds(shop: Served) -> None:
    first = call(shop, "store", 5)
    with listening(shop, "found") as live:
        assert live.told() == ("state", first, [BOTH[1]], 1)
        second = call(shop, "store", 0)
        assert live.told() == ("state", second, BOTH, 2)
    with listening(shop, "found", Last_Event_ID=second) as again:
        third = call(shop, "store", 0)
        assert again.told() == ("state", third, BOTH, 2)


def test_a_listener_has_to_ask_again_after_a_while(shop: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_events, "_QUIET_S", 0.0)
    with listening(shop, "noted") as quiet:
        assert quiet.event() == {"": ""}  # a comment, so that nobody takes the connection for dead
        monkeypatch.setattr(sink_events, "_LONGEST_S", 0.0)
        while quiet.event():
            pass
        assert quiet.answer.isclosed()


@pytest.mark.parametrize(
    ("path", "scopes", "status", "code"),
    [
        ("noted/events?after=never", "read:shop", 410, "GHCM-732"),
        ("nothing/events", "read:shop", 404, "GHCM-341"),
        ("noted/events", "call:shop", 403, "GHCM-351"),
        ("noted/events", "read:other", 403, "GHCM-351"),
    ],
)
def test_who_cannot_listen_is_told_why(shop: Served, path: str, scopes: str, status: int, code: str) -> None:
    answer = shop.get(f"/programs/shop/sinks/{path}", **shop.token(scopes))
    assert (answer.status, answer.json["code"]) == (status, code), answer.body
