"""One consumer in the consumer group of one unit: which entry comes next, and keeping those that are worked on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import redis
from redis.client import Pipeline
from redis.typing import EncodableT, FieldT, StreamIdT

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.envelope import Instruction, decode_instruction
from ghcm.runtime.pubsub.redis_connection import commands
from ghcm.runtime.pubsub.redis_wait import Waiter

log = logging.getLogger("ghcm.pubsub")

_REFUSED_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the stream that holds an instruction for this unit."""

    id: str
    instruction: Instruction
    attempt: int


def ensure_group(client: redis.Redis, place: str, group: str) -> None:
    """Make the stream and the group where they are missing; the group starts with the oldest entry."""
    try:
        client.xgroup_create(place, group, "0", mkstream=True)
    except redis.ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise


class Group:
    """What consumer `consumer` takes from group `program.unit` of the stream `place`; `turn` is its lock."""

    def __init__(self, place: str, program: str, unit: str, consumer: str, lease: float) -> None:
        self.turn = threading.Lock()
        self._place = place
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
        """The next entry to work on, or None after at most `seconds`; what was given out before comes before what is
        new.
        """
        try:
            entry = self._left_over(waiter.client)
            if entry is not None:
                return entry
            until_look = max(0.0, self._next_look - time.monotonic())
            reply = waiter.read(self._read_new, until_look if seconds is None else min(seconds, until_look))
            found = _entry(reply)
            return None if found is None else self._accept(waiter.client, *found, again=False)
        except redis.ResponseError as error:
            if "NOGROUP" not in str(error):
                raise
            ensure_group(waiter.client, self._place, self._name)
            self._look_back()
            return None
        except redis.RedisError:
            self._look_back()  # an answer that held an entry may not have arrived
            raise

    def keep(self, client: redis.Redis) -> None:
        """Let the others know that what this consumer holds is still worked on."""
        with self._held_lock:
            held: list[StreamIdT] = [entry for entries in self._held.values() for entry in entries]
        if held:
            client.xclaim(self._place, self._name, self._consumer, 0, held, justid=True)

    def acknowledge(self, client: redis.Redis, call: str, tell: Callable[[Pipeline], None]) -> None:
        """Tell who called, acknowledge the call's entries and remove them from the stream, all in one step."""
        with self._held_lock:
            entries = list(self._held.get(call, ()))
        with commands(client).pipeline(transaction=True) as pipeline:
            tell(pipeline)
            if entries:
                pipeline.xack(self._place, self._name, *entries)
                pipeline.xdel(self._place, *entries)
            pipeline.execute()
        with self._held_lock:
            more = set(self._held.pop(call, ())) - set(entries)
        if more:  # it was sent once more meanwhile
            self._look_back()

    def give_back(self, call: str) -> None:
        """Let go of a call's entries: they come first at the next look."""
        with self._held_lock:
            self._held.pop(call, None)
        self._look_back()

    def _look_back(self) -> None:
        with self._held_lock:
            self._reasons += 1

    def _read_new(self, client: redis.Redis, block: int) -> object:
        return client.xreadgroup(self._name, self._consumer, {self._place: ">"}, count=1, block=block)

    def _left_over(self, client: redis.Redis) -> Entry | None:
        while self._dealt < self._reasons or self._take_over(client):
            if self._looking == self._dealt:
                self._looking, self._seen = self._reasons, "0"
            found = _entry(client.xreadgroup(self._name, self._consumer, {self._place: self._seen}, count=1))
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
        taken = client.xautoclaim(self._place, self._name, self._consumer, idle, "0-0", count=64, justid=True)
        if taken:
            self._look_back()
        return bool(taken)

    def _accept(self, client: redis.Redis, id: str, data: bytes | None, *, again: bool) -> Entry | None:
        """The entry, unless it is gone, held already, for another unit or not readable."""
        with self._held_lock:
            if any(id in entries for entries in self._held.values()):
                return None
        if data is None:  # removed from the stream while it was pending
            client.xack(self._place, self._name, id)
            return None
        try:
            instruction = decode_instruction(data)
        except GhcmError as error:
            self._refuse(client, id, data, error)
            return None
        if (instruction.program, instruction.unit) != (self._program, self._unit):
            client.xack(self._place, self._name, id)
            return None
        with self._held_lock:
            first = instruction.id not in self._held
            self._held.setdefault(instruction.id, []).append(id)
        return Entry(id, instruction, self._attempt(client, id) if again else 1) if first else None

    def _attempt(self, client: redis.Redis, id: str) -> int:
        found = cast("list[dict[str, int]]", client.xpending_range(self._place, self._name, id, id, 1))
        return found[0]["times_delivered"] if found else 1

    def _refuse(self, client: redis.Redis, id: str, data: bytes, error: GhcmError) -> None:
        """Keep what is no instruction beside the cache, so that someone can see it and nothing waits behind it."""
        log.warning("%s: entry %s is refused: %s", self._place, id, error.message)
        with commands(client).pipeline(transaction=True) as pipeline:
            fields: dict[FieldT, EncodableT] = {"e": data, "why": str(error)}
            pipeline.xadd(f"{self._place}:refused", fields, maxlen=_REFUSED_KEPT, approximate=True)
            pipeline.xack(self._place, self._name, id)
            pipeline.xdel(self._place, id)
            pipeline.execute()


def _entry(reply: object) -> tuple[str, bytes | None] | None:
    """The one entry in the answer of XREADGROUP: its id, and its envelope if it is still in the stream."""
    streams = cast("list[tuple[bytes, list[tuple[bytes, dict[bytes, bytes] | None]]]]", reply or [])
    for _, entries in streams:
        for id, fields in entries:
            return id.decode(), None if not fields else fields.get(b"e", b"")
    return None
