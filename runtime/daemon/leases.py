"""Which daemon runs a program, where several share one Redis: a lease per program that its owner renews.

Calls of a program travel through topics that bear its name, so two daemons with the same program would take each
other's calls. A private Redis has one owner and needs no leases.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import cast

import redis

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.redis_connection import failed, open_async_client

log = logging.getLogger("ghcm.daemon")

LEASE_SECONDS = 30.0
"""How long the lease of a daemon that is gone keeps others out."""

_TAKE = """
-- ARGV: owner, milliseconds; returns who else owns it, or nothing
local found = redis.call('GET', KEYS[1])
if found and found ~= ARGV[1] then return found end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
"""

_DROP = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""


class Leases:
    """The programs of a daemon, held against others by keys that expire. `owner` tells this daemon from others and is
    the same after a restart. Without a `url` there are none: nobody else can reach the Redis.
    """

    def __init__(self, url: str | None, owner: str, *, seconds: float = LEASE_SECONDS) -> None:
        self._url = url or ""
        self._owner = owner
        self._seconds = seconds
        self._client = open_async_client(url) if url else None

    async def take(self, program: str) -> None:
        """Lease a program. GhcmError if another daemon has it, or the server cannot be reached."""
        found = await self._run(_TAKE, program, str(int(self._seconds * 1000)))
        if found:
            raise self._taken(program, cast("bytes", found).decode())

    async def drop(self, program: str) -> None:
        """Give a program up."""
        await self._run(_DROP, program)

    async def keep(self, programs: Callable[[], Iterable[str]], lost: Callable[[str, str], None]) -> None:
        """Renew these leases until cancelled; `lost` is told the program and why, where another daemon has one."""
        while self._client is not None:
            for program in set(programs()):
                try:
                    await self.take(program)
                except GhcmError as error:
                    if error.code == "GHCM-729":
                        lost(program, f"{error.message}. {error.detail}")
                    else:
                        log.warning('the lease on "%s" could not be renewed: %s', program, error.message)
            await asyncio.sleep(self._seconds / 3)

    async def close(self) -> None:
        """Give the connection back."""
        if self._client is not None:
            await self._client.aclose()

    async def _run(self, script: str, program: str, *arguments: str) -> object:
        if self._client is None:
            return None
        evaluated = cast(
            "Awaitable[object]", self._client.eval(script, 1, f"ghcm:owner:{program}", self._owner, *arguments)
        )
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


def owner_of(state: Path) -> str:
    """The name of the daemon of this state directory: a word that no other has, and where it is for people."""
    file = state / "owner"
    try:
        word = file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        word = secrets.token_hex(16)
        file.write_text(f"{word}\n", encoding="ascii")
    return f'{word} the one with the state "{state.absolute()}" on {socket.gethostname()}'
