"""What one daemon has for itself: its state directory, the folders that its jobs append to, so that rows of two writers
do not mix unless that is meant, and its programs, where several daemons share one Redis.

The kernel gives a lock on a file back when its owner ends, however it ends; a lease in Redis ends by itself. Writers of
replaced and keyed sinks need no lock: what they write stands for itself. A folder in a store is locked on this machine
alone.
"""

import asyncio
import fcntl
import json
import logging
import os
import secrets
import shutil
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from ghcm.errors import GhcmError
from ghcm.fence import Fence, Lease, awake, fence_key, note_lease, owner_key, taken_over
from ghcm.places import Place, Remote, make_private, place, write_private
from ghcm.places import beside as lock_folder
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import Program
from ghcm.spg.ops import To
from ghcm.spg.sinks import SINKS

log = logging.getLogger("ghcm.daemon")


class _Taken(Exception):
    """Somebody else has a lock; what he has written into it."""


def _locked(path: Path, owner: str) -> int:
    """The lock on a file, which is made and names its owner; OSError where that cannot be made. _Taken if another has
    it, GhcmError if it cannot be had.
    """
    with ExitStack() as unless_had:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        unless_had.callback(os.close, file)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise _Taken(os.pread(file, 4096, 0).decode(errors="replace")) from None
            _write(file, owner)
        except OSError as error:
            hint = "free some room on that disk, or take a folder where files can be locked."
            raise GhcmError(f'"{path}" cannot be locked: {error.strerror}', code="GHCM-730", hint=hint) from error
        unless_had.pop_all()
    return file


def _write(file: int, owner: str) -> None:
    """Name the owner of a lock; who reads meanwhile finds one."""
    os.ftruncate(file, os.pwrite(file, owner.encode(), 0))


_ENDING = "ending"
_LOOK_S = 0.1
_PREDECESSOR_S = 60.0
"""How long a daemon that is ending is waited for: its processes have their patience, and are killed then."""


class Lock:
    """The ownership of a state directory. `claimed`: what whoever started this process has of `claim`."""

    def __init__(self, state: StateDirectory, claimed: int | None = None) -> None:
        self._file = claim(state) if claimed is None else claimed
        self._note("")

    def ending(self) -> None:
        """Let who comes next know that this process is about to end, and is worth waiting for."""
        self._note(_ENDING)

    def release(self) -> None:
        """Give the directory back."""
        os.close(self._file)

    def _note(self, what: str) -> None:
        _write(self._file, f"{os.getpid()} {what}\n")


def claim(state: StateDirectory, patience: float = _PREDECESSOR_S) -> int:
    """The lock on a state directory, as the descriptor of a file. A daemon that is ending is waited for, so many
    seconds; GhcmError where that takes longer, or another owns the directory.
    """
    make_private(state.path)
    retrying = Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, _Taken) and _ENDING in str(error)),
        stop=stop_after_delay(patience),
        wait=wait_fixed(_LOOK_S),
        reraise=True,
    )
    try:
        return retrying(_locked, state.lock, f"{os.getpid()}\n")
    except _Taken as taken:
        process = str(taken).partition(" ")[0].strip() or "unknown"
        raise GhcmError(
            f'another daemon (process {process}) owns the state directory "{state.path}"',
            code="GHCM-752",
            hint="use the one that runs, end it, or give this one a directory of its own with --state.",
        ) from None


def claim_free(state: StateDirectory) -> int | None:
    """The lock on a state directory, as `claim` has it; None while anybody else has it."""
    make_private(state.path)
    try:
        return _locked(state.lock, f"{os.getpid()}\n")
    except _Taken:
        return None


def await_end(state: StateDirectory, process: int) -> None:
    """Return when this process owns the state directory no more, however long that takes."""
    while _owner(state) == process:
        time.sleep(_LOOK_S)  # locks tell nobody, and another may take it at once


def _owner(state: StateDirectory) -> int | None:
    """The process that has the lock of a state directory; None where nobody has."""
    with suppress(FileNotFoundError), state.lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(file.read().partition(" ")[0].strip() or 0)
    return None


_APPENDING = ".appending"
"""The name of the lock in a folder; files whose names begin with a point are no data."""


class AppendLocks:
    """The folders that the jobs of one daemon append to. `state` is its state directory."""

    def __init__(self, state: Path) -> None:
        self._state = state.absolute()
        self._held: dict[str, dict[Place, int]] = {}

    def take(self, job: str, program: Program, base: Path, *, beside: bool = False) -> list[Place]:
        """Have the job be the only one that appends to its folders; those that it did not have before. GhcmError, and
        nothing is taken, if another that lives appends to one of them, unless it is to write `beside`.
        """
        held, taken = self._held.setdefault(job, {}), list[Place]()
        for sink, folder in _folders(program, base):
            if folder in held:
                continue
            try:
                lock = self._lock(sink, folder, job, program.name)
            except GhcmError:
                if not beside:
                    self.drop(job, taken)
                    raise
                continue
            if lock is not None:
                held[folder] = lock
                taken.append(folder)
        return taken

    def drop(self, job: str, folders: list[Place] | None = None) -> None:
        """Let others append to these folders of a job, or to all of them."""
        held = self._held.get(job, {})
        for folder in list(held) if folders is None else folders:
            os.close(held.pop(folder))
        if not held:
            self._held.pop(job, None)

    def _lock(self, sink: str, folder: Place, job: str, program: str) -> int | None:
        """The lock, held; None where the folder cannot be used, as its writer will say. GhcmError if another has it, or
        it cannot be had.
        """
        owner = {"process": os.getpid(), "program": program, "job": job, "state": str(self._state)}
        try:
            here = lock_folder(folder) if isinstance(folder, Remote) else folder
            here.mkdir(parents=True, exist_ok=True)
            return _locked(here / _APPENDING, json.dumps(owner))
        except OSError:
            return None
        except _Taken as taken:
            raise _appended(sink, folder, str(taken)) from None


def _folders(program: Program, base: Path) -> Iterator[tuple[str, Place]]:
    """The append sinks that units of the program write, with their folders."""
    written = {task.op.sink for unit in program.units for task in unit.tasks if isinstance(task.op, To)}
    for sink in program.sinks:
        if sink.name in written and sink.mode is Mode.APPEND and SINKS[sink.connector.word].locked:
            folder = place(base, sink.connector.address[1])
            yield sink.name, Path(os.path.realpath(folder)) if isinstance(folder, Path) else folder


def _appended(sink: str, folder: Place, said: str) -> GhcmError:
    owner: dict[str, Any] = {}
    with suppress(ValueError):  # it has only now taken the lock
        owner = cast("dict[str, Any]", json.loads(said))
    job, state = owner.get("job", "?"), owner.get("state", "?")
    return GhcmError(
        f'sink "{sink}" is being appended to by program "{owner.get("program", "?")}"',
        code="GHCM-757",
        detail=f'Its job "{job}" (process {owner.get("process", "?")}) writes to "{folder}"; rows of both would mix.',
        hint=f"end it first: ghcm stop {job} --state {state}; or write to another folder, as with -C; or, if both are "
        "meant to append, say --beside.",
    )


_MARGIN = 1 / 6
"""The share of a lease at its end in which nothing begins to be written, so that what has begun has time to end."""

_TAKE = """
-- ARGV: owner, milliseconds, '' or 'renew'; returns who else owns it or, at a renewal, has owned it since; or the token
local found, last = redis.call('GET', KEYS[1]), redis.call('HGET', KEYS[2], 'owner')
if found and found ~= ARGV[1] then return found end
if ARGV[3] == 'renew' and last and last ~= ARGV[1] then return last end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if last ~= ARGV[1] then
  local now = redis.call('TIME')
  local token = tonumber(redis.call('HGET', KEYS[2], 'token') or '0') + 1
  token = math.max(token, now[1] * 1000 + math.floor(now[2] / 1000))
  redis.call('HSET', KEYS[2], 'owner', ARGV[1], 'token', string.format('%.0f', token))
end
return tonumber(redis.call('HGET', KEYS[2], 'token'))
"""
"""A token is never less than the time, so that it also grows where Redis has lost the one before."""

_DROP = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""


class Leases:
    """The programs of a daemon, held against others by keys that expire. `owner` tells this daemon from others and is
    the same after a restart. Calls travel through topics that bear the name of their program, so two daemons with the
    same program would take each other's. Without a `url` there are none: nobody else can reach the Redis. Each is noted
    in `folder`, where the processes of this daemon look before they write. `seconds`: how long the lease of a daemon
    that is gone keeps others out.
    """

    def __init__(self, url: str | None, owner: str, folder: Path, *, seconds: float) -> None:
        self._url = url or ""
        self._owner = owner
        self._folder = folder
        self._seconds = seconds
        self._client = _client(url) if url else None
        shutil.rmtree(folder, ignore_errors=True)  # the clock that they go by may have begun anew

    async def take(self, program: str) -> int:
        """Lease a program; the token, which grows when it comes from another daemon, 0 where there are no leases.
        GhcmError if another daemon has it, or the server cannot be reached.
        """
        token, other = await self._lease(program, "")
        if other:
            raise self._taken(program, other)
        return token

    async def renew(self, program: str) -> None:
        """Go on with a lease. GhcmError if another daemon has, or has had, the program since."""
        _, other = await self._lease(program, "renew")
        if other:
            raise taken_over(program, other)

    async def _lease(self, program: str, renewing: str) -> tuple[int, str]:
        """The token, or who has the program."""
        asked = awake()
        found = await self._run(_TAKE, program, str(int(self._seconds * 1000)), renewing)
        if isinstance(found, bytes):
            return 0, found.decode()
        token = cast("int", found or 0)
        if token:
            self._note(program, Lease(self._owner, token, asked + self._seconds * (1 - _MARGIN)))
        return token, ""

    def _note(self, program: str, lease: Lease) -> None:
        try:
            make_private(self._folder)
            note_lease(Fence(program, self._folder).file, lease)
        except OSError as error:
            hint = "free some room there; until then nothing is written for it."
            message = f'the lease on program "{program}" cannot be noted in "{self._folder}": {error.strerror}'
            raise GhcmError(message, code="GHCM-731", hint=hint) from error

    async def drop(self, program: str) -> None:
        """Give a program up."""
        Fence(program, self._folder).file.unlink(missing_ok=True)
        await self._run(_DROP, program)

    async def keep(self, programs: Callable[[], Iterable[str]], lost: Callable[[str, GhcmError], None]) -> None:
        """Renew these leases until cancelled; `lost` is told the program and why, where another daemon has one."""
        while self._client is not None:
            # All at once: where Redis hangs for a while, none waits for the others, and so runs out.
            await asyncio.gather(*(self._keep(program, lost) for program in set(programs())))
            await asyncio.sleep(self._seconds / 3)

    async def _keep(self, program: str, lost: Callable[[str, GhcmError], None]) -> None:
        try:
            await self.renew(program)
        except GhcmError as error:
            if error.code == "GHCM-729":
                lost(program, error)
            else:
                log.warning('the lease on "%s" could not be renewed: %s', program, error.message)

    async def close(self) -> None:
        """Give the connection back."""
        if self._client is not None:
            await self._client.aclose()

    async def _run(self, script: str, program: str, *arguments: str) -> object:
        if self._client is None:
            return None
        evaluated = cast(
            "Awaitable[object]",
            self._client.eval(script, 2, owner_key(program), fence_key(program), self._owner, *arguments),
        )
        import redis

        from ghcm.runtime.pubsub.redis_connection import failed

        try:
            return await evaluated
        except redis.RedisError as error:
            raise failed(self._url, error) from error

    def _taken(self, program: str, owner: str) -> GhcmError:
        _, _, who = owner.partition(" ")
        return GhcmError(
            f'another daemon on this Redis runs program "{program}"',
            code="GHCM-729",
            detail=f"It is {who}. Two would take each other's calls.",
            hint="stop the program there, or use another database of that Redis (redis://host:port/1). The claim of a "
            f"daemon that has died ends within {self._seconds:.0f} seconds.",
        )


def _client(url: str) -> Any:
    from ghcm.runtime.pubsub.redis_connection import open_async_client  # large, and few daemons share a Redis

    return open_async_client(url)


def owner_of(state: Path) -> str:
    """The name of the daemon of this state directory: a word that no other has, and where it is for people."""
    file = state / "owner"
    try:
        word = file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        word = secrets.token_hex(16)
        write_private(file, f"{word}\n".encode("ascii"))
    return f'{word} the one with the state "{state.absolute()}" on {socket.gethostname()}'
