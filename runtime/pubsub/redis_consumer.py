"""The consuming side of a Redis msg cache: blocking reads that another thread can end at once, each on a connection of
its own which the server is told to unblock; and one consumer in the consumer group of one unit, which knows which entry
comes next and keeps those that are worked on.
"""

import logging
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar, cast

import redis
from redis.client import Pipeline
from redis.typing import EncodableT, FieldT, StreamIdT

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.envelope import Instruction, decode_instruction
from ghcm.runtime.pubsub.redis_connection import BLOCK_SECONDS, LOST, commands, open_client, stubborn

T = TypeVar("T")

_RACE_SECONDS = 0.002
"""How long a read that was about to block is given to reach the server before it is unblocked again."""


class Waiter:
    """One blocking reader; used by one thread at a time. `woken` is set for good: a waiter serves one call."""

    def __init__(self, url: str) -> None:
        self.client = open_client(url, connected=self._connected)  # one connection: only one thread uses it
        self.woken = threading.Event()
        self.changed = threading.Condition()
        self.blocked = False
        self._id = 0  # the server's number of the connection

    def read(self, command: Callable[[redis.Redis, int], T], seconds: float | None) -> T | None:
        """What `command(client, milliseconds)` gives within `seconds` and `BLOCK_SECONDS`; None when woken before."""
        limit = BLOCK_SECONDS if seconds is None else min(max(seconds, 0.0), BLOCK_SECONDS)
        with self.changed:
            if self.woken.is_set():
                return None
            self.blocked = True
        try:
            return command(self.client, max(1, int(limit * 1000)))
        finally:
            with self.changed:
                self.blocked = False
                self.changed.notify_all()

    def unblock(self, other: redis.Redis) -> None:
        """End the read from another thread after `woken` was set; returns when it has ended."""
        with self.changed:
            while self.blocked and self.woken.is_set():
                try:
                    commands(other).client_unblock(self._id)
                except LOST:
                    return  # the server is away: the read fails by itself and finds that it was woken
                self.changed.wait(_RACE_SECONDS)

    def _connected(self, connection: Any) -> None:
        connection.on_connect()
        connection.send_command("CLIENT", "ID")
        id = cast("int", connection.read_response())
        with self.changed:
            self._id = id


class Waiters:
    """The readers of one cache that block now, and connections for the next ones."""

    def __init__(self, url: str, patience: float) -> None:
        self._url = url
        self._patience = patience
        self._lock = threading.Lock()
        self._active: set[Waiter] = set()
        self._idle: list[Waiter] = []
        self._closed = False

    @contextmanager
    def waiting(self) -> Generator[Waiter]:
        """A reader for one call; woken already if closed."""
        with self._lock:
            waiter = self._idle.pop() if self._idle else Waiter(self._url)
            if self._closed:
                waiter.woken.set()
            self._active.add(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                self._active.discard(waiter)
                if self._closed:
                    waiter.client.close()
                else:
                    waiter.woken.clear()
                    self._idle.append(waiter)

    def stubborn(self, waiter: Waiter, attempt: Callable[[], T]) -> T | None:
        """What `attempt` returns, repeated while the server is away; None when the waiter is woken meanwhile."""
        try:
            return stubborn(self._url, attempt, patience=self._patience, closed=waiter.woken)
        except GhcmError:
            if waiter.woken.is_set():
                return None
            raise

    def wake(self, *, close: bool = False) -> None:
        """End all reads that block now; with `close` also all that come."""
        with self._lock:
            self._closed = self._closed or close
            active = list(self._active)
            for waiter in active:  # while none of them can end and be given to another call
                waiter.woken.set()
            if close:
                for waiter in self._idle:
                    waiter.client.close()
                self._idle.clear()
        if active:
            with open_client(self._url) as other:
                for waiter in active:
                    waiter.unblock(other)


log = logging.getLogger("ghcm.pubsub")

_REFUSED_KEPT = 1000

Write: TypeAlias = Callable[[Callable[[Any], object]], object]
"""Executes the commands that are put into a pipeline in one step, see `ghcm.fence.write_redis`."""


Entry: TypeAlias = tuple[Instruction, int]
"""An instruction for this unit that the stream holds, and how often it was delivered."""


@contextmanager
def unless_there() -> Generator[None]:
    """For the making of a group: nothing happens where there is one."""
    try:
        yield
    except redis.ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise


def ensure_group(client: redis.Redis, topic: str, group: str) -> None:
    """Make the stream and the group where they are missing; the group starts with the oldest entry."""
    with unless_there():
        client.xgroup_create(topic, group, "0", mkstream=True)


class Group:
    """What consumer `consumer` takes from group `program.unit` of the stream `topic`; `turn` is its lock."""

    def __init__(self, topic: str, program: str, unit: str, consumer: str, lease: float) -> None:
        self.turn = threading.Lock()
        self._topic = topic
        self._program = program
        self._unit = unit
        self._name = f"{program}.{unit}"
        self._consumer = consumer
        self._lease = lease
        self._held: dict[str, list[str]] = {}  # call id -> its entries
        self._held_lock = threading.Lock()
        # How often there was a reason to look for what was given to this consumer without its knowing, and how many of
        # these are dealt with: reasons come up in other threads while one is looking.
        self._reasons, self._dealt = 1, 0
        self._looking, self._seen = 1, "0"  # the reasons that this look is for, and how far it has come
        self._next_look = 0.0

    def take(self, waiter: Waiter, seconds: float | None) -> Entry | None:
        """The next entry, or None after at most `seconds`; what was given out before comes before what is new."""
        try:
            entry = self._left_over(waiter.client)
            if entry is not None:
                return entry
            until_look = max(0.0, self._next_look - time.monotonic())
            found = waiter.read(self._read, until_look if seconds is None else min(seconds, until_look))
            return None if found is None else self._accept(waiter.client, *found, again=False)
        except redis.ResponseError as error:
            if "NOGROUP" not in str(error):
                raise
            ensure_group(waiter.client, self._topic, self._name)
            self._look_back()
            return None
        except redis.RedisError:
            self._look_back()  # an answer that held an entry may not have arrived
            raise

    def keep(self, write: Write) -> None:
        """Let the others know that what this consumer holds is still worked on."""
        with self._held_lock:
            held: list[StreamIdT] = [entry for entries in self._held.values() for entry in entries]
        if held:
            write(lambda pipe: pipe.xclaim(self._topic, self._name, self._consumer, 0, held, justid=True))

    def acknowledge(self, write: Write, call: str, tell: Callable[[Pipeline], None]) -> None:
        """Tell who called, acknowledge the call's entries and remove them from the stream, all in one step."""
        with self._held_lock:
            entries = list(self._held.get(call, ()))

        def end(pipeline: Pipeline) -> None:
            tell(pipeline)
            if entries:
                pipeline.xack(self._topic, self._name, *entries)
                pipeline.xdel(self._topic, *entries)

        write(end)
        with self._held_lock:
            more = set(self._held.pop(call, ())) - set(entries)
        if more:  # it was sent once more meanwhile
            self._look_back()

    def refuse(self, client: redis.Redis, call: str, error: GhcmError) -> None:
        """Put the call's entries aside."""
        with self._held_lock:
            entries = self._held.pop(call, [])
        self._look_back()  # for those that a lost connection leaves
        for id in entries:
            for _, fields in cast("list[tuple[bytes, dict[bytes, bytes]]]", client.xrange(self._topic, id, id)):
                self._refuse(client, id, fields.get(b"e", b""), error)

    def give_back(self, call: str) -> None:
        """Let go of a call's entries: they come first at the next look."""
        with self._held_lock:
            self._held.pop(call, None)
        self._look_back()

    def _look_back(self) -> None:
        with self._held_lock:
            self._reasons += 1

    def _read(self, client: redis.Redis, block: int | None, after: str = ">") -> tuple[str, bytes | None] | None:
        """The next new entry, or `after` one of those given out before: its id, and its envelope if still there."""
        reply = client.xreadgroup(self._name, self._consumer, {self._topic: after}, count=1, block=block)
        streams = cast("list[tuple[bytes, list[tuple[bytes, dict[bytes, bytes] | None]]]]", reply or [])
        for _, entries in streams:
            for id, fields in entries:
                return id.decode(), fields.get(b"e", b"") if fields else None
        return None

    def _left_over(self, client: redis.Redis) -> Entry | None:
        while self._dealt < self._reasons or self._take_over(client):
            if self._looking == self._dealt:
                self._looking, self._seen = self._reasons, "0"
            found = self._read(client, None, self._seen)
            if found is None:
                self._dealt = self._looking
                continue
            self._seen = found[0]
            entry = self._accept(client, *found, again=True)
            if entry is not None:
                return entry
        return None

    def _take_over(self, client: redis.Redis) -> bool:
        """Take what silent consumers hold, twice per lease; whether there was any."""
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + self._lease / 2
        idle = int(self._lease * 1000)
        taken = client.xautoclaim(self._topic, self._name, self._consumer, idle, "0-0", count=64, justid=True)
        if taken:
            self._look_back()
        return bool(taken)

    def _accept(self, client: redis.Redis, id: str, data: bytes | None, *, again: bool) -> Entry | None:
        """The entry, unless it is gone, held already, for another unit or not readable."""
        with self._held_lock:
            if any(id in entries for entries in self._held.values()):
                return None
        if data is None:  # removed from the stream while it was pending
            client.xack(self._topic, self._name, id)
            return None
        try:
            instruction = decode_instruction(data)
        except GhcmError as error:
            self._refuse(client, id, data, error)
            return None
        if (instruction.program, instruction.unit) != (self._program, self._unit):
            client.xack(self._topic, self._name, id)
            return None
        # Asked before it is held: where the server dies at that, the next look finds it.
        pending = client.xpending_range(self._topic, self._name, id, id, 1) if again else []
        attempt = next((each["times_delivered"] for each in cast("list[dict[str, int]]", pending)), 1)
        with self._held_lock:
            first = instruction.id not in self._held
            self._held.setdefault(instruction.id, []).append(id)
        return (instruction, attempt) if first else None

    def _refuse(self, client: redis.Redis, id: str, data: bytes, error: GhcmError) -> None:
        """Keep what is no instruction beside the cache, so that someone can see it and nothing waits behind it."""
        log.warning("%s: entry %s is refused: %s", self._topic, id, error.message)
        with commands(client).pipeline(transaction=True) as pipeline:
            fields: dict[FieldT, EncodableT] = {"e": data, "why": str(error)}
            pipeline.xadd(f"{self._topic}:refused", fields, maxlen=_REFUSED_KEPT, approximate=True)
            pipeline.xack(self._topic, self._name, id)
            pipeline.xdel(self._topic, id)
            pipeline.execute()
