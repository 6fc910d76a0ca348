"""What is said of whether calls can be served, where the parts that they need are away."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ghcm.runtime.daemon.protocol import encode
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.redis_connection import commands, open_client
from ghcm.supervisor.health import Part, Readiness
from tests.redis_server import RedisServer, connected
from tests.unit.supervisor.serving import JOB, PROGRAM, Served, serving


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Where no daemon runs, and strangers are known by tokens."""
    with serving(tmp_path_factory.mktemp("shop"), access={"required": True}) as served:
        yield served


def test_each_part_says_what_is_the_matter(shop: Served) -> None:
    with closing(sqlite3.connect(shop.store.database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = shop.get("/ready", **shop.token("read:*"))
        other.execute("ROLLBACK")
    assert answer.status == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["code"] == "GHCM-330"
    parts = {part["name"]: (part["state"], part["reason"]) for part in answer.json["parts"]}
    assert parts["daemon"] == ("failed", "No such file or directory")
    assert parts["store"] == ("failed", "database is locked")
    assert parts["redis"] == parts["disk"] == ("ok", "")
    assert parts["engine shop"] == ("starting", "")
    assert "store: failed, database is locked." in answer.json["detail"]


def test_strangers_are_told_no_more_than_that(shop: Served) -> None:
    answer = shop.get("/ready")
    assert (answer.status, answer.json["parts"], answer.json["detail"]) == (503, [], "")
    assert answer.json["message"] == "calls cannot be served just now"
    assert shop.get("/health").json == {"status": "ok"}


BATCH = """
responsive batch again() engine = spark {
  files("sales.csv", format = csv).as(Sale).map(s => { item: s.item }).to(items)
}
"""


def test_an_engine_that_hangs_and_a_spark_that_is_away_are_told(tmp_path: Path) -> None:
    told = [
        {"name": JOB, "state": "running", "health": "silent", "reason": "it has not answered for 4 s"},
        {"name": "spark", "state": "waiting", "health": "starting", "reason": "killed by SIGKILL"},
    ]

    async def daemon(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await reader.readline()
            writer.write(encode({"ok": True, "pid": 1, "processes": told, "units": {}}))

    async def look(shop: Served) -> list[Part]:
        readiness = Readiness(shop.supervisor.state, Connections(tmp_path, connected(tmp_path).url))
        shop.supervisor.state.control.parent.mkdir(parents=True, exist_ok=True)
        async with await asyncio.start_unix_server(daemon, str(shop.supervisor.state.control)):
            try:
                return await readiness.parts(shop.supervisor._catalogue.programs.values())
            finally:
                readiness.close()
                await readiness.connections.aclose()

    sink = 'sink items = parquet("items", mode = append)\n\nstream watch'
    with serving(tmp_path, PROGRAM.replace("stream watch", sink, 1) + BATCH) as shop:
        parts = {part.name: part for part in asyncio.run(look(shop))}
    assert parts["daemon"].state == "ok"
    engine, spark = parts["engine shop"], parts["spark"]
    assert (engine.needed, engine.state, engine.reason) == (True, "silent", "it has not answered for 4 s")
    assert (spark.needed, spark.state, spark.reason) == (True, "starting", "killed by SIGKILL")


def found(state: Path, url: str, room: int = 0) -> dict[str, Part]:
    """What is seen of the parts below the programs, with this state directory, Redis and least room."""

    async def look() -> list[Part]:
        connections = Connections(state, url)
        readiness = Readiness(StateDirectory(state), connections, room)
        try:
            return await readiness.parts([])
        finally:
            readiness.close()
            await connections.aclose()

    return {part.name: part for part in asyncio.run(look())}


def test_a_redis_that_takes_nothing_is_told(tmp_path: Path, redis_server: RedisServer) -> None:
    with open_client(redis_server.url) as client:
        client.config_set("maxmemory", "1")
        try:
            full = found(tmp_path, redis_server.url)["redis"]
        finally:
            client.config_set("maxmemory", "0")
        assert (full.state, full.reason) == ("failed", "it takes nothing that is written")
        commands(client).client_pause(60_000, all=False)
        try:
            assert found(tmp_path, redis_server.url)["redis"].state == "silent"
        finally:
            client.client_unpause()
        assert found(tmp_path, redis_server.url)["redis"].state == "ok"
        assert client.exists("ghcm:ready") == 0


def test_a_disk_without_room_and_a_redis_that_is_gone_are_told(tmp_path: Path, redis_server: RedisServer) -> None:
    full = found(tmp_path, redis_server.url, 2**62)
    assert full["disk"].state == "failed" and "MB are free" in full["disk"].reason
    assert full["redis"].state == "ok"
    gone = found(tmp_path, f"unix://{tmp_path}/none.sock")
    assert (gone["redis"].state, gone["redis"].reason) == ("failed", "it cannot be reached")
    assert gone["disk"].state == "ok"
    assert (gone["store"].state, gone["store"].reason) == ("failed", "unable to open database file")
