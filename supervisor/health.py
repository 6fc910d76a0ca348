"""Whether the HTTP process lives and whether calls can be served: the parts that they need, each with its state and why
it is so.

The daemon knows of processes; what they stand on (Redis, Kafka, the store, the disk) is tried here, as a call would use
it. Nobody is told where anything lies.
"""

import asyncio
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import redis
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from ghcm.errors import GhcmError, listed
from ghcm.runtime.daemon.protocol import LONGEST_LINE, Document, decode, encode
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.kafka_connection import Brokers
from ghcm.runtime.pubsub.redis_connection import refuses
from ghcm.supervisor.catalogue import KnownProgram
from ghcm.supervisor.problems import MEDIA_TYPE, ProblemDocument

_PATIENCE_S = 2.0
_FRESH_S = 1.0
"""Whoever asks again within this time is told what was seen."""

ROOM = 64 * 1024 * 1024
"""Free bytes on the disk of the state without which calls are not taken for safe."""


class Part(BaseModel):
    """Something that calls need, or only streams where it is not `needed`."""

    name: str
    state: str
    """"ok", "starting", "waiting" (it died, and is started again; or nothing comes to it yet), "silent", "failed"."""
    reason: str = ""
    needed: bool = True


class Ready(BaseModel):
    """Calls can be served."""

    status: Literal["ready"] = "ready"
    parts: list[Part]


class Unready(ProblemDocument):
    """Why calls cannot be served just now."""

    parts: list[Part]


def readiness_answer(parts: list[Part], *, shown: bool) -> Ready | JSONResponse:
    """What is answered of these parts, which are `shown` to whoever may see all programs."""
    bad = [part for part in parts if part.needed and part.state != "ok"]
    told = parts if shown else []
    if not bad:
        return Ready(parts=told)
    names = f": see {listed(part.name for part in bad)}" if shown else ""
    document = Unready(
        status=503,
        code="GHCM-330",
        message=f"calls cannot be served just now{names}",
        detail=" ".join(f"{part.name}: {part.state}, {part.reason}." for part in bad if shown and part.reason),
        hint="ask again in a moment; ghcm ps and ghcm logs show more.",
        parts=told,
    )
    return JSONResponse(document.model_dump(), 503, {"Retry-After": "1"}, MEDIA_TYPE)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found at one look: the parts below the programs, the processes of the daemon and how its units stand."""

    parts: list[Part]
    processes: list[Document]
    units: Mapping[str, Any]


@dataclass(eq=False, slots=True)
class Readiness:
    """Looks at all parts side by side, once a second at most; no part may take longer than two."""

    state: StateDirectory
    connections: Connections
    room: int = ROOM
    _look: asyncio.Task[Seen] | None = None
    _ended: float = 0.0
    _told: Document = field(default_factory=Document)
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(3, "ghcm-ready"))
    _brokers: Brokers = field(init=False)

    def __post_init__(self) -> None:
        self._brokers = Brokers(self.connections.kafka, _PATIENCE_S)

    def close(self) -> None:
        """Look no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._brokers.close()

    async def seen(self) -> Seen:
        """How everything is at this moment."""
        now = asyncio.get_running_loop().time()
        if self._look is None or (self._look.done() and now > self._ended + _FRESH_S):
            self._look = asyncio.create_task(self._looked())
        return await asyncio.shield(self._look)

    async def parts(self, programs: Iterable[KnownProgram]) -> list[Part]:
        """The parts that calls of these programs need, then those that only their streams do."""
        seen = await self.seen()
        processes = {str(each["name"]): each for each in seen.processes}
        found = seen.parts + list(_engines(programs, processes))
        batches = any(unit.unit.engines == ("spark",) for known in programs for unit in known.units.values())
        if batches or "spark" in processes:
            found.append(_process("spark", processes.get("spark"), needed=batches))
        return sorted(found, key=lambda part: not part.needed)

    async def _looked(self) -> Seen:
        kafka = self.connections.kafka
        looks: dict[str, Awaitable[None]] = {
            "daemon": self._ask_daemon(),
            "redis": self._ask_redis(),
            "store": self._beside(lambda: _write(self.state)),
            "disk": self._beside(lambda: _keep(self.state, self.room)),
        }
        if kafka.bootstrap:
            looks["kafka"] = self._beside(self._brokers.ask)
        self._told = {}
        parts = list(await asyncio.gather(*(_tried(name, look) for name, look in looks.items())))
        self._ended = asyncio.get_running_loop().time()
        processes = cast("list[Document]", self._told.get("processes", []))
        if "pid" in self._told:
            processes.append({"name": "daemon", "pid": self._told["pid"], "health": "ok", "reason": "", "restarts": 0})
        return Seen(parts, processes, cast("Mapping[str, Any]", self._told.get("units", {})))

    async def _ask_daemon(self) -> None:
        reader, writer = await asyncio.open_unix_connection(str(self.state.control), limit=LONGEST_LINE)
        with closing(writer):
            writer.write(encode({"op": "status", "units": True}))
            self._told = decode(await reader.readline())

    async def _ask_redis(self) -> None:
        """Have it take a record, as each call has to: for a stream that is not there, so that nothing is written."""
        client: Any = self.connections.async_redis()
        await client.xadd("ghcm:ready", {"at": ""}, nomkstream=True)

    async def _beside(self, look: Callable[[], None]) -> None:
        """A look that may block, in threads that nothing else needs."""
        await asyncio.get_running_loop().run_in_executor(self._threads, look)


async def _tried(name: str, look: Awaitable[None]) -> Part:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await look
    except TimeoutError:
        return Part(name=name, state="silent", reason=f"it does not answer within {_PATIENCE_S:.0f} s")
    except OSError as error:
        return Part(name=name, state="failed", reason=error.strerror or "it cannot be reached")
    except sqlite3.Error as error:
        return Part(name=name, state="failed", reason=str(error))
    except redis.RedisError as error:
        kind = "takes nothing that is written" if isinstance(error, redis.ResponseError) else "cannot be reached"
        kind = "refuses the password" if refuses(error) else kind
        return Part(name=name, state="failed", reason=f"it {kind}")
    except GhcmError:
        return Part(name=name, state="failed", reason="it cannot be reached")
    return Part(name=name, state="ok")


def _write(state: StateDirectory) -> None:
    """Have the lock of those who write the store, for a moment."""
    with closing(sqlite3.connect(f"{state.store.absolute().as_uri()}?mode=rw", _PATIENCE_S * 0.75, uri=True)) as store:
        store.isolation_level = None
        store.execute("BEGIN IMMEDIATE")
        store.execute("ROLLBACK")


def _keep(state: StateDirectory, room: int) -> None:
    """Write a little on the disk of the state. OSError where that cannot be, or where little room is left."""
    with tempfile.TemporaryFile(dir=state.path) as file:
        file.write(bytes(64 * 1024))
        file.flush()
    free = shutil.disk_usage(state.path).free
    if free < room:
        raise OSError(0, f"only {free // 1_000_000} MB are free")


def _engines(programs: Iterable[KnownProgram], processes: Mapping[str, Document]) -> Iterator[Part]:
    """The engines of these programs: needed where they answer calls."""
    for known in programs:
        answers = any("native" in unit.unit.engines for unit in known.units.values())
        process = processes.get(known.job.id)
        if answers or process is not None:
            yield _process(f"engine {known.program.name}", process, needed=answers)


def _process(name: str, process: Document | None, *, needed: bool) -> Part:
    if process is None:
        return Part(name=name, state="starting", needed=needed)
    return Part(name=name, state=str(process["health"]), reason=str(process["reason"]), needed=needed)


async def answer_beats() -> None:
    """Answer each line of standard input with a beat on standard output: in the loop that serves, so that whatever
    holds that up is noticed.
    """
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.readline():
        print('{"event":"beat"}', flush=True)
