"""What the processes of a daemon may still write when another has taken over their program."""

import asyncio
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest
import redis

from ghcm.errors import GhcmError
from ghcm.fence import Fence, awake, fence_key, note_lease, owner_key, write_redis
from ghcm.runtime.daemon.locks import Leases
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State
from ghcm.runtime.sinks.reply import load_reply, store_reply
from ghcm.runtime.sinks.sink import open_writer, read
from ghcm.runtime.worker import may_pass
from ghcm.spg.graph import Sink
from ghcm.tables import delta as delta_module
from ghcm.tables.delta import DeltaTable
from tests.conformance.live_runs import checked
from tests.redis_server import RedisServer

SINKS = """program fenced
record Visit { user: string, n: int }
sink pages = redis("pages", key = v => v.user, mode = upsert, record = Visit)
sink whole = redis("whole", key = v => v.user, mode = replace, record = Visit)
sink log   = redis("log", form = list, record = Visit)
sink names = redis("name:{user}", form = hash, record = Visit)
stream u { files("visits.jsonl", format = json).as(Visit).to(pages) }
"""


class Daemons:
    """Two daemons and one program; each has the fence that its processes ask."""

    def __init__(self, server: RedisServer, folder: Path) -> None:
        self.server, self.folder, self.program = server, folder, f"p{uuid.uuid4().hex}"
        self.closing = ExitStack()
        self.fences = {name: Fence(self.program, folder / name) for name in ("first", "second")}

    def take(self, name: str, *, renewing: bool = False) -> int:
        """Have one of them take the program, or renew what it has; the token."""

        async def scene() -> int:
            leases = Leases(self.server.url, f"{name} the {name} one", self.folder / name, seconds=30)
            try:
                if renewing:
                    await leases.renew(self.program)
                    return 0
                return await leases.take(self.program)
            finally:
                await leases.close()

        return asyncio.run(scene())

    def lapse(self) -> None:
        """Have the lease end, as Redis sees it."""
        self.server.connect().delete(owner_key(self.program))

    def connections(self, name: str, sql: Mapping[str, str] | None = None) -> Connections:
        """What the processes of one of them have."""
        made = Connections(self.folder, self.server.url, sql=sql or {}, fence=self.fences.get(name))
        self.closing.callback(made.close)
        return made


@pytest.fixture
def daemons(redis_server: RedisServer, tmp_path: Path) -> Iterator[Daemons]:
    made = Daemons(redis_server, tmp_path)
    with made.closing:
        yield made


def test_a_token_grows_when_the_program_changes_hands_and_only_then(daemons: Daemons) -> None:
    first = daemons.take("first")
    assert daemons.take("first") == first > 0
    daemons.lapse()
    assert daemons.take("first") == first
    daemons.lapse()
    second = daemons.take("second")
    assert second > first
    daemons.lapse()
    daemons.server.connect().delete(fence_key(daemons.program))
    assert daemons.take("first") > second


def test_a_daemon_whose_program_another_has_had_since_does_not_renew_its_lease(daemons: Daemons) -> None:
    daemons.take("first")
    daemons.lapse()
    daemons.take("second")
    daemons.lapse()
    with pytest.raises(GhcmError, match="has taken over") as refused:
        daemons.take("first", renewing=True)
    assert refused.value.detail == "It is the second one."
    assert daemons.take("first") > 0


def test_nothing_is_written_without_a_lease_that_is_renewed_in_time(daemons: Daemons) -> None:
    fence = daemons.fences["first"]
    with pytest.raises(GhcmError, match="without its lease") as missing:
        fence.held()
    assert may_pass(missing.value)
    daemons.take("first")
    lease = fence.held()
    assert 20 < lease.until - awake() < 30
    note_lease(fence.file, type(lease)(lease.owner, lease.token, awake()))
    with pytest.raises(GhcmError, match="without its lease"):
        fence.held()


def test_what_redis_has_lost_is_waited_for(daemons: Daemons) -> None:
    client, fence = daemons.server.connect(), daemons.fences["first"]
    daemons.take("first")
    client.delete(fence_key(daemons.program), owner_key(daemons.program))
    with pytest.raises(GhcmError, match="without its lease") as lost:
        write_redis(client, fence, lambda pipe: pipe.set(daemons.program, "a"))
    assert may_pass(lost.value)
    daemons.take("first", renewing=True)
    assert write_redis(client, fence, lambda pipe: pipe.set(daemons.program, "a")) == [True]


@pytest.mark.parametrize("together", [True, False])
def test_one_that_has_slept_writes_nothing_into_redis(daemons: Daemons, together: bool) -> None:
    client, fence = daemons.server.connect(), daemons.fences["first"]
    daemons.take("first")
    daemons.lapse()
    daemons.take("second")
    with pytest.raises(GhcmError, match="taken over") as refused:
        write_redis(client, fence, lambda pipe: pipe.set(daemons.program, "a"), together=together)
    assert refused.value.code == "GHCM-729" and not may_pass(refused.value)
    assert client.get(daemons.program) is None
    write_redis(client, daemons.fences["second"], lambda pipe: pipe.set(daemons.program, "b"), together=together)
    assert client.get(daemons.program) == b"b"


def test_one_that_sleeps_between_its_look_and_its_write_writes_nothing(daemons: Daemons) -> None:
    client = daemons.server.connect()
    daemons.take("first")

    def queue(pipe: Any) -> None:
        pipe.set(daemons.program, "a")
        daemons.lapse()
        daemons.take("second")

    with pytest.raises(GhcmError, match="taken over"):
        write_redis(client, daemons.fences["first"], queue)
    assert client.get(daemons.program) is None


def test_an_error_of_a_command_is_raised_as_it_is(daemons: Daemons) -> None:
    client = daemons.server.connect()
    client.set(daemons.program, "a")
    with pytest.raises(redis.ResponseError, match=r"^WRONGTYPE"):
        write_redis(client, None, lambda pipe: pipe.hset(daemons.program, "a", "b"))


@pytest.mark.parametrize("name", ["pages", "whole", "log", "names"])
def test_a_sink_on_redis_refuses_whoever_had_the_program_before(daemons: Daemons, name: str) -> None:
    declared = next(each for each in checked(SINKS.replace('("', f'("{daemons.program}:')).sinks if each.name == name)
    daemons.take("first")
    old, new = (opened(declared, daemons.connections(each), each) for each in daemons.fences)
    old.write([("a", 1)])
    old.prepare("v1")
    daemons.lapse()
    daemons.take("second")
    steps: list[Callable[[], object]] = [lambda: old.commit("v1"), lambda: old.prepare("v2"), lambda: old.abort("v1")]
    for step in steps:
        with pytest.raises(GhcmError, match="taken over"):
            step()
    new.write([("b", 2)])
    new.prepare("v3")
    assert new.commit("v3").rows == 1
    client = daemons.server.connect()
    if name in ("pages", "whole"):
        assert list(read(declared, daemons.connections("reader"))) == [("b", 2)]
    elif name == "log":
        assert client.lrange(f"{daemons.program}:log", 0, -1) == [b'{"user":"b","n":2}']
    else:
        assert not client.exists(f"{daemons.program}:name:a") and client.exists(f"{daemons.program}:name:b")


@pytest.mark.parametrize("mode", ["append", "replace", "upsert"])
@pytest.mark.parametrize("kind", ["parquet", "sqlite", "postgres"])
def test_a_table_refuses_whoever_had_the_program_before(
    daemons: Daemons, kind: str, mode: str, request: pytest.FixtureRequest
) -> None:
    declared = table(kind, mode)
    sql = {"db": request.getfixturevalue("postgres") if kind == "postgres" else "sqlite:///data.db"}
    daemons.take("first")
    old = opened(declared, daemons.connections("first", sql), "first", fenced=True)
    old.write([("a", 1)])
    old.prepare("v1")
    old.commit("v1")
    old.write([("b", 2)])
    old.prepare("v2")
    mine = daemons.fences["first"].held()
    daemons.lapse()
    daemons.take("second")
    new = opened(declared, daemons.connections("second", sql), "second", fenced=True)
    new.write([("c", 3)])
    new.prepare("v3")
    new.commit("v3")
    assert daemons.fences["first"].held() == mine  # it believes that it has the program
    with pytest.raises(GhcmError, match="taken over"):
        old.commit("v2")
    found = sorted(read(declared, daemons.connections("reader", sql)))
    assert found == ([("c", 3)] if mode == "replace" else [("a", 1), ("c", 3)])
    for writer in (old, new):
        writer.close()


@pytest.mark.parametrize("mode", ["append", "replace", "upsert"])
def test_a_commit_that_another_daemon_is_faster_with_is_refused(
    daemons: Daemons, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = table("parquet", mode)
    daemons.take("first")
    old = opened(declared, daemons.connections("first"), "first", fenced=True)
    old.write([("a", 1)])
    old.prepare("v1")
    before, cut = DeltaTable._token, list[object]()

    def looked(delta: DeltaTable, at: Any) -> list[Any]:
        """Between the look of the first at the table and its commit the second takes over and commits."""
        found = before(delta, at)
        if not cut:
            cut.append(delta)
            daemons.lapse()
            daemons.take("second")
            new = opened(declared, daemons.connections("second"), "second", fenced=True)
            new.write([("b", 2)])
            new.prepare("v2")
            with monkeypatch.context() as patch:
                patch.setattr(delta_module, "alone", lambda _: nullcontext())
                new.commit("v2")
        return found

    monkeypatch.setattr(DeltaTable, "_token", looked)
    with pytest.raises(GhcmError, match="taken over"):
        old.commit("v1")
    assert list(read(declared, daemons.connections("reader"))) == [("b", 2)]


def table(kind: str, mode: str) -> Sink:
    place = 'parquet("out"' if kind == "parquet" else 'sql("db", "visits"'
    key = ", key = v => v.user" if mode == "upsert" else ""
    text = f"""program fenced
record Visit {{ user: string, n: int }}
sink visits = {place}, mode = {mode}{key}, record = Visit)
batch u {{ files("visits.jsonl", format = json).as(Visit).to(visits) }}
"""
    return checked(text).sinks[0]


def opened(sink: Sink, connections: Connections, writer: str, *, fenced: bool = False) -> Any:
    """Its writer, which is opened before anybody asks for the lease. Keys of lists and hashes are whole keys."""
    place, fence = sink.connector.address[1].replace("{user}", ""), connections.fence
    keys: dict[str, Callable[[Row], object]] = {"log": lambda _: place, "names": lambda row: f"{place}{row[0]}"}
    connections.fence = fence if fenced else None
    try:
        return open_writer(sink, connections, writer=writer, key=keys.get(sink.name, lambda row: row[0]))
    finally:
        connections.fence = fence


def test_a_cache_on_redis_takes_and_answers_nothing_for_whoever_had_the_program_before(daemons: Daemons) -> None:
    daemons.take("first")
    program, address = daemons.program, f"{daemons.program}:feedback"
    caches = {each: daemons.connections(each).cache(f"{program}:calls", program, each) for each in daemons.fences}
    caller = daemons.connections("caller").cache(f"{program}:calls", program, "caller")
    old, new = caches.values()
    answer = Feedback("1", State.DONE)
    try:
        caller.send(Instruction("1", program, "unit", reply=address))
        taken = old.receive("unit", 5)
        assert taken is not None
        daemons.lapse()
        daemons.take("second")
        steps: list[Callable[[], object]] = [
            lambda: taken.acknowledge(answer),
            lambda: old.send(Instruction("2", program, "unit")),
            lambda: old.send_feedback(address, answer),
        ]
        for step in steps:
            with pytest.raises(GhcmError, match="taken over"):
                step()
        lease = daemons.fences["first"].held()
        note_lease(daemons.fences["first"].file, type(lease)(lease.owner, lease.token, awake()))
        caller.send(Instruction("3", program, "unit", reply=address))
        with pytest.raises(GhcmError, match="without its lease"):
            old.receive("unit", 5)
        found = new.receive("unit", 5)
        assert found is not None and found.instruction.id == "3"
        found.acknowledge(Feedback("3", State.DONE))
        assert [each.feedback.id for each in caller.feedback(address, timeout=5)] == ["3"]
    finally:
        for cache in (*caches.values(), caller):
            cache.close()


def test_no_rows_of_a_reply_are_replaced_without_a_lease(daemons: Daemons) -> None:
    daemons.take("first")
    old, new = (daemons.connections(each) for each in daemons.fences)
    lease = daemons.fences["first"].held()
    note_lease(daemons.fences["first"].file, type(lease)(lease.owner, lease.token, awake()))
    daemons.lapse()
    daemons.take("second")
    store_reply(new, daemons.program, "[2]")
    with pytest.raises(GhcmError, match="without its lease"):
        store_reply(old, daemons.program, "[1]")
    assert load_reply(new, daemons.program) == "[2]"
