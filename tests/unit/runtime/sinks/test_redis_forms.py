"""Forms of Redis that other applications read: what they see when a writer dies, Redis restarts or is a cluster."""

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import redis
from redis.client import Pipeline
from tenacity import Retrying, stop_after_delay, wait_fixed

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.embedded import find_redis_server
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.sink import is_readable, latest_version, open_writer, read, rows_of_call, view
from ghcm.spg.graph import Sink
from ghcm.tables import redis_forms
from tests.conformance.live_runs import checked
from tests.redis_server import await_redis, connected
from tests.system.private_redis import PrivateRedis

KEYS: dict[str, Callable[[Row], object]] = {
    "log": lambda row: "log",
    "logs": lambda row: f"log:{row[0]}",
    "events": lambda row: "events",
    "latest": lambda row: f"latest:{row[0]}",
    "users": lambda row: f"user:{row[0]}",
    "best": lambda row: ("best", row[0]),
}
SINKS = """\
program forms
record Visit { user: string, n: int, note: string? }
record Score { user: string, n: float }
sink log    = redis("log", form = list, record = Visit)
sink logs   = redis("log:{user}", form = list, record = Visit)
sink events = redis("events", form = stream, record = Visit)
sink latest = redis("latest:{user}", form = string, record = Score)
sink users  = redis("user:{user}", form = hash, record = Visit, expire = 1h)
sink best   = redis("best", form = sorted_set, score = s => s.n, record = Score)
stream u { files("visits.jsonl", format = json).as(Visit).to(log) }
"""


@pytest.fixture(scope="module")
def sinks() -> dict[str, Sink]:
    return {sink.name: sink for sink in checked(SINKS).sinks}


@pytest.fixture
def connections(tmp_path: Path) -> Iterator[Connections]:
    made = connected(tmp_path)
    yield made
    made.close()


def opened(sink: Sink, connections: Connections, writer: str = "job/steps") -> SinkWriter:
    return open_writer(sink, connections, writer=writer, key=KEYS[sink.name])


def visits(*numbers: int) -> list[Row]:
    return [(f"u{n % 3}", n, None if n % 2 else "even") for n in numbers]


def plain(connections: Connections) -> Any:
    """What another application has."""
    return redis.Redis.from_url(connections.url or "", decode_responses=True)  # pyright: ignore[reportUnknownMemberType]


def entries(connections: Connections, key: str) -> list[dict[str, Any]]:
    """What a list or stream holds."""
    client = plain(connections)
    if client.type(key) == "stream":
        return [fields for _, fields in client.xrange(key)]
    return [json.loads(each) for each in client.lrange(key, 0, -1)]


@pytest.mark.parametrize("name", ["log", "logs", "events"])
def test_what_is_appended_is_seen_once_whoever_dies_when(
    name: str, sinks: dict[str, Sink], connections: Connections
) -> None:
    key = "log:u0" if name == "logs" else name
    first = opened(sinks[name], connections)
    first.write(visits(0, 3))
    first.write(visits(6))
    assert first.prepare("v1") == 3
    assert entries(connections, key) == []
    first.write(visits(9))  # it dies here, with rows that are in no snapshot
    second = opened(sinks[name], connections)
    second.recover(keep={"v1"})
    assert second.commit("v1").rows == 3
    seen = entries(connections, key)
    assert len(seen) == 3
    third = opened(sinks[name], connections)  # as if the second had died before it could say so
    third.recover(keep={"v1"})
    assert third.commit("v1").rows == 3
    third.prepare("v1")
    assert third.commit("v1").rows == 3
    assert entries(connections, key) == seen
    third.write(visits(12))
    third.prepare("v2")
    third.commit("v2")
    assert entries(connections, key)[:3] == seen
    assert len(entries(connections, key)) == 4
    for writer in (first, second, third):
        writer.close()


def in_tens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish ten rows at a time."""
    monkeypatch.setattr(redis_forms, "_CHUNK", 10)
    monkeypatch.setattr(redis_forms, "_AT_ONCE", 10)


@pytest.mark.parametrize("name", ["log", "events"])
def test_a_version_of_which_a_part_is_seen_goes_on_where_it_was(
    name: str, sinks: dict[str, Sink], connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_tens(monkeypatch)
    writer = opened(sinks[name], connections)
    writer.write(visits(*range(25)))
    writer.prepare("v1")
    before: Any = Pipeline.execute
    asked: list[object] = []

    def cut(pipe: Any, **given: Any) -> object:
        """The power goes after the second script, whose answer is lost."""
        asked.append(pipe)
        answer = before(pipe, **given)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(Pipeline, "execute", cut)
    with pytest.raises(KeyboardInterrupt):
        writer.commit("v1")
    monkeypatch.undo()
    in_tens(monkeypatch)
    assert len(entries(connections, name)) == 20
    again = opened(sinks[name], connections)
    again.write(visits(99))  # a call that is repeated gives its rows anew, perhaps others
    again.prepare("v1")
    assert again.commit("v1").rows == 25
    assert [int(each["n"]) for each in entries(connections, name)] == list(range(25))


def test_an_abort_leaves_what_others_have_seen_to_be_completed(
    sinks: dict[str, Sink], connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = opened(sinks["log"], connections)
    writer.write(visits(1, 2))
    writer.prepare("v1")
    connections.redis().hset(f"{sinks['log'].connector.prefix}:@progress", "v1", "0")  # type: ignore[union-attr]
    writer.abort("v1")
    opened(sinks["log"], connections).recover()
    assert len(entries(connections, "log")) == 2
    writer.write(visits(3))
    writer.prepare("v2")
    writer.abort("v2")
    with pytest.raises(GhcmError, match="was never prepared"):
        writer.commit("v2")
    assert len(entries(connections, "log")) == 2


def test_an_upsert_leaves_nothing_of_the_record_before(sinks: dict[str, Sink], connections: Connections) -> None:
    writer, client = opened(sinks["users"], connections), plain(connections)
    for version, rows in (("v1", visits(0, 1)), ("v2", visits(3))):
        writer.write(rows)
        writer.prepare(version)
        writer.commit(version)
        client.persist("user:u0")
    writer.commit("v2")
    assert client.hgetall("user:u0") == {"user": "u0", "n": "3"}
    assert client.hgetall("user:u1") == {"user": "u1", "n": "1"}
    assert (client.ttl("user:u0"), 3500 < client.ttl("user:u1") <= 3600) == (-1, True)


def test_a_sorted_set_orders_by_the_latest_score(sinks: dict[str, Sink], connections: Connections) -> None:
    writer = opened(sinks["best"], connections)
    writer.write([("ann", 1.5), ("bob", float("inf")), ("ann", -2.0)])
    writer.prepare("v1")
    writer.commit("v1")
    assert plain(connections).zrange("best", 0, -1, withscores=True) == [("ann", -2.0), ("bob", float("inf"))]
    with pytest.raises(GhcmError, match="is NaN"):
        writer.write([("eve", float("nan"))])


def test_a_key_that_is_too_long_is_refused(sinks: dict[str, Sink], connections: Connections) -> None:
    writer = opened(sinks["latest"], connections)
    with pytest.raises(GhcmError, match="a key of 70,007 characters"):
        writer.write([("x" * 70_000, 1.0)])


@pytest.mark.parametrize("name", ["log", "events", "best"])
def test_a_key_of_another_kind_is_refused_before_anything_is_written(
    name: str, sinks: dict[str, Sink], connections: Connections
) -> None:
    client = plain(connections)
    client.set(name, "of somebody else")
    writer = opened(sinks[name], connections)
    writer.write([("ann", 1.0)] if name == "best" else visits(1))
    writer.prepare("v1")
    with pytest.raises(GhcmError, match="refused a command") as refused:
        writer.commit("v1")
    assert "WRONGTYPE" in (refused.value.detail or "")
    client.delete(name)
    writer.commit("v1")
    assert client.zcard(name) == 1 if name == "best" else len(entries(connections, name)) == 1


def test_what_is_shown_at_once_stands_as_what_is_shown_by_versions(connections: Connections) -> None:
    text = SINKS.replace(", record", ", delivery = at_least_once, record")
    sinks, client = {sink.name: sink for sink in checked(text).sinks}, plain(connections)
    for name, sink in sinks.items():
        writer = opened(sink, connections)
        rows: list[Row] = [("ann", 1.5), ("ann", 2.5)] if name in ("best", "latest") else [*visits(0, 3), *visits(1)]
        for some in (rows[:1], rows[1:], []):
            writer.write(some)
        first = latest_version(sink, connections)
        assert (writer.prepare("v"), writer.commit("v").version) == (len(rows), "v")
        assert first and first.startswith("at-once-") and latest_version(sink, connections) == "v"
        writer.close()
    assert [each["n"] for each in entries(connections, "log:u0")] == [0, 3]
    assert [int(each["n"]) for each in entries(connections, "events")] == [0, 3, 1]
    assert client.hgetall("user:u0") == {"user": "u0", "n": "3"} and 3500 < client.ttl("user:u0") <= 3600
    assert (client.get("latest:ann"), client.zscore("best", "ann")) == ("2.5", 2.5)
    client.set("log", "of somebody else")
    with pytest.raises(GhcmError) as refused:
        opened(sinks["log"], connections).write(visits(1))
    assert 'WRONGTYPE "log" is a string and no list' in (refused.value.detail or "")


def test_commits_are_known_and_rows_are_not_read_back(sinks: dict[str, Sink], connections: Connections) -> None:
    sink = sinks["log"]
    assert latest_version(sink, connections) is None
    writer = opened(sink, connections)
    writer.write(visits(1, 2))
    writer.prepare("v1")
    writer.commit("v1")
    latest = view(sink, connections).latest()
    assert latest is not None
    assert (latest.version, latest.rows, is_readable(sink)) == ("v1", 2, False)
    with pytest.raises(GhcmError, match='"log" cannot be read'):
        list(read(sink, connections))
    with pytest.raises(GhcmError, match='"log" cannot be read'):
        rows_of_call(sink, connections, call="v1", limit=1)


@pytest.mark.parametrize("name", ["log", "users", "latest", "events", "best"])
def test_a_hundred_thousand_rows_take_a_few_hundred_questions(
    name: str, sinks: dict[str, Sink], connections: Connections
) -> None:
    """As many as the server counts packets, not rows: what is asked is sent in portions."""
    client = plain(connections)
    made: list[Row] = [
        (f"u{n}", float(n)) if name in ("best", "latest") else (f"u{n}", n, None) for n in range(100_000)
    ]
    sent = _reads(client)
    writer = opened(sinks[name], connections)
    writer.write(made)
    writer.prepare("v1")
    assert writer.commit("v1").rows == 100_000
    assert _reads(client) - sent < 20_000
    count = {"log": client.llen, "events": client.xlen, "best": client.zcard}
    held = count[name](name) if name in count else sum(1 for _ in client.scan_iter(f"{name.rstrip('s')}:*", 10_000))
    assert held == 100_000


def _reads(client: Any) -> int:
    return int(client.info("stats")["total_reads_processed"])


def test_a_server_that_goes_away_loses_and_doubles_nothing(tmp_path: Path, sinks: dict[str, Sink]) -> None:
    server = PrivateRedis(tmp_path)
    connections = Connections(tmp_path, server.start())
    try:
        writer = opened(sinks["log"], connections)
        writer.write(visits(*range(5000)))
        server.kill()

        def go_on() -> None:
            writer.write(visits(*range(5000, 10_000)))
            writer.prepare("v1")
            writer.commit("v1")

        waiting = Thread(target=go_on)
        waiting.start()
        time.sleep(2)
        server.start()
        waiting.join()
        writer.write(visits(10_000))
        server.kill()
        server.start()
        writer.prepare("v2")
        writer.commit("v2")
        assert [each["n"] for each in entries(connections, "log")] == list(range(10_001))
    finally:
        connections.close()
        server.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connections]:
    """A Redis that is a cluster of one node, which holds its clients to the slots."""
    tmp_path = tmp_path_factory.mktemp("cluster")
    log, port = tmp_path / "c.log", _free_port()
    options = {"port": str(port), "bind": "127.0.0.1", "dir": str(tmp_path), "logfile": str(log), "save": ""}
    options |= {"cluster-enabled": "yes"}
    flags = [word for name, value in options.items() for word in (f"--{name}", value)]
    process = subprocess.Popen([find_redis_server(), *flags], stdout=subprocess.DEVNULL)
    connections = Connections(tmp_path, f"redis://127.0.0.1:{port}")
    try:
        await_redis(connections.url or "", log)
        client = plain(connections)
        client.execute_command("CLUSTER ADDSLOTS", *range(16_384))
        for attempt in Retrying(stop=stop_after_delay(20), wait=wait_fixed(0.05)):
            with attempt:
                assert client.execute_command("CLUSTER INFO")["cluster_state"] == "ok"
        yield connections
    finally:
        connections.close()
        process.terminate()
        process.wait()


def _free_port() -> int:
    """One below which Redis finds that of its bus, ten thousand above."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            if (port := one.getsockname()[1] - 10_000) > 1024:
                with suppress(OSError):
                    other.bind(("127.0.0.1", port))
                    return int(port)


def _prefixed(key: str, row: Row) -> object:
    return f"{key}{row[0]}"


@pytest.mark.parametrize("name", ["log", "events", "latest", "users", "best"])
def test_what_is_written_at_once_lies_in_one_slot(name: str, sinks: dict[str, Sink], cluster: Connections) -> None:
    writer = opened(sinks[name], cluster)
    writer.write([("ann", 1.0), ("bob", 2.0)] if name in ("best", "latest") else visits(*range(2000)))
    writer.prepare("v1")
    writer.commit("v1")
    client = plain(cluster)
    seen = {"log": client.llen, "events": client.xlen, "best": client.zcard}
    assert seen[name](name) in (2, 2000) if name in seen else len(list(client.scan_iter(f"{name.rstrip('s')}:*"))) > 1


def test_appended_keys_of_a_cluster_need_a_hash_tag(cluster: Connections) -> None:
    logs = 'redis("log:{user}", form = list, record = Visit)'
    assert logs in SINKS
    tagged = logs.replace('"log:', '"{{shop}}:log:')
    for text, key in ((SINKS, "log:"), (SINKS.replace(logs, tagged), "{shop}:log:")):
        sink = checked(text).sink("logs")
        writer = open_writer(sink, cluster, writer="w", key=partial(_prefixed, key))
        writer.write(visits(*range(9)))
        writer.prepare("v1")
        if "shop" in key:
            writer.commit("v1")
            assert len(entries(cluster, "{shop}:log:u0")) == 3
        else:
            with pytest.raises(GhcmError, match="is a cluster") as refused:
                writer.commit("v1")
            assert "hash tag" in (refused.value.hint or "")
